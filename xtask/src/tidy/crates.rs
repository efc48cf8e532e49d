//! Arrows between crates: what each may be built from, so that a cache can be had without a mount.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use xtask::SourceFile;

use super::Finding;

/// The crates of ours that each crate may depend on; tests may use any.
const CRATES: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("trace", &["core"]),
    ("capture", &["core", "trace", "feed"]),
    ("results", &["core", "trace"]),
    ("sim", &["core", "trace", "results"]),
    ("cache", &["core", "trace"]),
    ("hotset", &["core", "trace"]),
    ("c", &["hotset"]),
    ("sqlite", &["core"]),
    ("store", &[]),
    ("mount", &["core", "cache", "hotset", "store"]),
    ("feed", &[]),
    ("pager", &["core"]),
    ("preload", &["pager"]),
    ("steer", &["core", "feed"]),
    ("experiment", &["core", "trace", "sim", "results"]),
    ("serve", &["core", "trace", "sim", "results", "cache", "store", "mount", "feed", "steer"]),
    ("python", &["core", "trace", "capture", "sim", "results", "cache", "hotset", "experiment"]),
    ("testkit", &["core", "trace"]),
    (
        "cli",
        &[
            "core",
            "trace",
            "capture",
            "sim",
            "results",
            "cache",
            "store",
            "mount",
            "feed",
            "pager",
            "preload",
            "steer",
            "experiment",
            "serve",
        ],
    ),
];

/// What only one crate may depend on.
const KEPT: &[(&str, &str)] = &[("fuser", "mount"), ("object_store", "store"), ("hyper", "serve")];

/// The part of a manifest that matters here.
#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    dependencies: BTreeMap<String, toml::Value>,
}

/// Every dependency against the arrows.
pub fn check(files: &[SourceFile]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for file in files {
        let Some(name) = file.path.strip_prefix("crates/").and_then(|path| path.strip_suffix("/Cargo.toml")) else {
            continue;
        };
        let manifest: Manifest =
            toml::from_str(file.text()).with_context(|| format!("{} is not a manifest", file.path))?;
        let Some((_, below)) = CRATES.iter().find(|(known, _)| *known == name) else {
            let unknown = "no arrows are known for this crate: expected it in the check of crates";
            findings.push(Finding::new(&file.path, 0, unknown));
            continue;
        };
        for used in manifest.dependencies.keys() {
            let ours = used.strip_prefix("hotset-").or((used == "hotset").then_some("hotset"));
            let is_above = ours.is_some_and(|used| !below.contains(&used));
            let keeper = KEPT.iter().find(|(kept, keeper)| kept == used && *keeper != name);
            if is_above || keeper.is_some() {
                let message =
                    format!("{name} depends on {used}: expected arrows between crates as ARCHITECTURE.md has them");
                findings.push(Finding::new(&file.path, 0, message));
            }
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, dependencies: &str) -> usize {
        let text = format!("[dependencies]\n{dependencies}\n[dev-dependencies]\nhotset-sim.workspace = true\n");
        let file = SourceFile { path: format!("crates/{name}/Cargo.toml"), bytes: text.into_bytes() };
        check(&[file]).unwrap().len()
    }

    #[test]
    fn a_cache_is_built_without_a_mount() {
        assert_eq!(found("cache", "hotset-core.workspace = true\nserde.workspace = true"), 0);
        assert_eq!(found("cache", "fuser.workspace = true\nhotset-mount.workspace = true"), 2);
        assert_eq!(found("mount", "fuser.workspace = true\nhotset-cache.workspace = true"), 0);
        assert_eq!(found("hotset", "hotset-core.workspace = true\nhotset-cache.workspace = true"), 1);
        assert_eq!(found("mount", "hotset.workspace = true"), 0);
        assert_eq!(found("cache", "hotset.workspace = true"), 1);
        assert_eq!(found("attic", ""), 1);
    }

    #[test]
    fn python_is_built_without_mounts_and_bpf_and_the_command_without_a_server() {
        assert_eq!(found("python", "hotset-experiment = {}\nhotset-sim = {}"), 0);
        assert_eq!(found("python", "hotset-serve = {}\nhotset-mount = {}"), 2);
        assert_eq!(found("experiment", "hotset-serve.workspace = true\nhotset-cache.workspace = true"), 2);
        assert_eq!(found("cli", "hyper.workspace = true\nhotset-serve.workspace = true"), 1);
    }
}
