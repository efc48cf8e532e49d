//! Every dependency must offer a licence that goes with ours (MIT OR Apache-2.0), and come from where `deny.toml` says.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use spdx::{Expression, ParseMode};

use xtask::output_of;

/// The part of `deny.toml` that is checked here.
#[derive(Deserialize)]
struct Rules {
    licenses: Licences,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licences {
    /// SPDX identifiers.
    allow: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    /// Addresses of indexes.
    allow_registry: Vec<String>,
}

/// The part of `cargo metadata` that matters here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize, PartialEq)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// `registry+ADDRESS` or `git+ADDRESS`; none for what lies in this tree.
    source: Option<String>,
}

/// The manifests whose lock files are checked: the workspace, and what is built apart.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "crates/python/Cargo.toml"];

/// Checks every package in the lock files, those for other systems included.
pub fn run(root: &Path) -> Result<()> {
    let rules = fs::read_to_string(root.join("deny.toml")).context("cannot read deny.toml")?;
    let rules: Rules = toml::from_str(&rules).context("deny.toml")?;
    let mut packages: Vec<Package> = Vec::new();
    for manifest in MANIFESTS {
        let arguments = ["metadata", "--format-version", "1", "--locked", "--manifest-path", manifest];
        let metadata = output_of(root, "cargo", &arguments)?;
        packages.extend(serde_json::from_slice::<Metadata>(&metadata)?.packages);
    }
    packages.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    packages.dedup_by(|one, other| one == other);
    let refused: Vec<String> = packages
        .iter()
        .filter_map(|package| {
            let why = rules.refusal(package)?;
            Some(format!("  {} {}: {why}", package.name, package.version))
        })
        .collect();
    if refused.is_empty() {
        println!("licences: {} packages, their licences and origins all allowed", packages.len());
        return Ok(());
    }
    bail!("licences: deny.toml does not allow\n{}", refused.join("\n"))
}

impl Rules {
    /// Why a package may not be used; `None` if it may.
    fn refusal(&self, package: &Package) -> Option<String> {
        let known = |source: &str| {
            source.strip_prefix("registry+").is_some_and(|index| self.sources.allow_registry.iter().any(|a| a == index))
        };
        if let Some(source) = package.source.as_deref().filter(|source| !known(source)) {
            return Some(format!("it comes from {source}"));
        }
        let Some(licence) = &package.license else { return Some("names no licence".to_owned()) };
        match self.allows(licence) {
            Ok(true) => None,
            Ok(false) => Some(format!("{licence:?} is not allowed")),
            Err(error) => Some(format!("{licence:?} is not an SPDX expression: {}", error.reason)),
        }
    }

    /// True if the expression can be met with allowed licences alone, and with no other exceptions than those beside
    /// them.
    fn allows(&self, licence: &str) -> Result<bool, spdx::ParseError> {
        let expression = Expression::parse_mode(licence, ParseMode::LAX)?;
        Ok(expression.evaluate(|wanted| {
            let written = wanted.to_string();
            self.licenses.allow.contains(&written)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        toml::from_str(include_str!("../../deny.toml")).unwrap()
    }

    fn package(license: Option<&str>, source: Option<&str>) -> Package {
        let [license, source] = [license, source].map(|text| text.map(str::to_owned));
        Package { name: "p".to_owned(), version: "1".to_owned(), license, source }
    }

    #[test]
    fn one_allowed_alternative_is_enough_and_every_part_counts() {
        let allowed =
            ["MIT", "MIT OR Apache-2.0", "MIT/Apache-2.0", "GPL-3.0-only OR ISC", "Zlib AND (MIT OR Unlicense)"];
        let refused = [
            "GPL-3.0-or-later",
            "MIT AND MPL-2.0",
            "MIT WITH LLVM-exception",
            "Apache-2.0 WITH Swift-exception",
            "LicenseRef-own",
        ];
        assert!(allowed.iter().all(|licence| rules().allows(licence).unwrap()));
        assert!(!refused.iter().any(|licence| rules().allows(licence).unwrap()));
    }

    #[test]
    fn a_package_must_name_a_licence_that_can_be_read() {
        let refusal = |licence| rules().refusal(&package(licence, None));
        assert_eq!(refusal(None).unwrap(), "names no licence");
        assert!(refusal(Some("do what you like")).unwrap().contains("not an SPDX expression"));
        assert!(refusal(Some("MIT")).is_none());
    }

    #[test]
    fn a_package_must_come_from_the_registry_or_lie_in_the_tree() {
        let refusal = |source| rules().refusal(&package(Some("MIT"), source));
        assert!(refusal(None).is_none());
        assert!(refusal(Some("registry+https://github.com/rust-lang/crates.io-index")).is_none());
        let git = "git+https://example.org/p?branch=main#0123";
        assert_eq!(refusal(Some(git)).unwrap(), format!("it comes from {git}"));
        assert!(refusal(Some("registry+https://example.org/index")).is_some());
    }
}
