//! Every dependency must offer a licence that goes with ours (MIT OR Apache-2.0).

use std::path::Path;

use anyhow::{Result, bail};
use serde::Deserialize;
use spdx::{Expression, ParseMode};

use crate::output_of;

const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    // Gives up all rights; asks for nothing.
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Zlib",
];

/// The part of `cargo metadata` that matters here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
}

/// Checks the licence of every package in the lock file, those for other systems included.
pub fn run(root: &Path) -> Result<()> {
    let metadata = output_of(root, "cargo", &["metadata", "--format-version", "1", "--locked"])?;
    let Metadata { packages } = serde_json::from_slice(&metadata)?;
    let refused: Vec<String> =
        packages.iter().filter_map(|package| Some(complaint(package, &refusal(package)?))).collect();
    if refused.is_empty() {
        println!("licences: {} packages, all allowed", packages.len());
        return Ok(());
    }
    bail!("licences: expected one of {}\n{}", ALLOWED.join(", "), refused.join("\n"))
}

fn complaint(package: &Package, why: &str) -> String {
    format!("  {} {}: {why}", package.name, package.version)
}

/// Why a package may not be used; `None` if it may.
fn refusal(package: &Package) -> Option<String> {
    let Some(licence) = &package.license else { return Some("names no licence".to_owned()) };
    match allows(licence) {
        Ok(true) => None,
        Ok(false) => Some(format!("{licence:?} is not allowed")),
        Err(error) => Some(format!("{licence:?} is not an SPDX expression: {}", error.reason)),
    }
}

/// True if the expression can be met with allowed licences alone, none with an exception.
fn allows(licence: &str) -> Result<bool, spdx::ParseError> {
    let expression = Expression::parse_mode(licence, ParseMode::LAX)?;
    Ok(expression.evaluate(|wanted| {
        wanted.addition.is_none() && wanted.license.id().is_some_and(|id| ALLOWED.contains(&id.name))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_allowed_alternative_is_enough_and_every_part_counts() {
        let allowed =
            ["MIT", "MIT OR Apache-2.0", "MIT/Apache-2.0", "GPL-3.0-only OR ISC", "Zlib AND (MIT OR Unlicense)"];
        let refused = ["GPL-3.0-or-later", "MIT AND MPL-2.0", "Apache-2.0 WITH LLVM-exception", "LicenseRef-own"];
        assert!(allowed.iter().all(|licence| allows(licence).unwrap()));
        assert!(!refused.iter().any(|licence| allows(licence).unwrap()));
    }

    #[test]
    fn a_package_must_name_a_licence_that_can_be_read() {
        let package = |license: Option<&str>| Package {
            name: "p".to_owned(),
            version: "1".to_owned(),
            license: license.map(str::to_owned),
        };
        assert_eq!(refusal(&package(None)).unwrap(), "names no licence");
        assert!(refusal(&package(Some("do what you like"))).unwrap().contains("not an SPDX expression"));
        assert!(refusal(&package(Some("MIT"))).is_none());
    }
}
