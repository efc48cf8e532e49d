//! A policy is one file with a full header, one registry line and one reference model.

use xtask::SourceFile;

use super::Finding;

const FOLDER: &str = "crates/core/src/policies/";
const REGISTRY: &str = "crates/core/src/registry/mod.rs";
const MODELS: &str = "crates/testkit/src/models/";

/// How the paragraphs begin that the header of every policy's file has.
const SECTIONS: [&str; 6] = ["Idea", "Paper", "Provenance", "Deviations", "Cost", "When not to use it"];

pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    let registry = files.iter().find(|file| file.path == REGISTRY).map_or("", SourceFile::text);
    let policies = files.iter().filter_map(|file| Some((file, policy_name(&file.path)?)));
    policies.flat_map(|(file, name)| check_policy(file, name, registry, files)).collect()
}

/// `lru` for `crates/core/src/policies/lru.rs`.
fn policy_name(path: &str) -> Option<&str> {
    let name = path.strip_prefix(FOLDER)?.strip_suffix(".rs")?;
    (name != "mod" && !name.contains('/')).then_some(name)
}

fn check_policy(file: &SourceFile, name: &str, registry: &str, files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |message: String| findings.push(Finding::new(&file.path, 0, message));
    let line = format!("{name}::");
    if !registry.lines().any(|text| text.trim_start().starts_with(&line)) {
        find(format!("not in the registry: expected a line {name}::Policy in {REGISTRY}"));
    }
    let model = format!("{MODELS}{name}.rs");
    if !files.iter().any(|file| file.path == model) {
        find(format!("no reference model: expected {model}"));
    }
    let header: Vec<&str> = file.text().lines().map_while(|line| line.strip_prefix("//!")).collect();
    let missing = |section: &&&str| !header.iter().any(|line| line.trim_start().starts_with(**section));
    for section in SECTIONS.iter().filter(missing) {
        find(format!("the header has no paragraph that begins with \"{section}\""));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn a_whole_policy_passes_and_each_missing_part_is_found() {
        let header: String = SECTIONS.iter().map(|section| format!("//! {section}: x\n")).collect();
        let policy = || file("crates/core/src/policies/lru.rs", &header);
        let registry = || file(REGISTRY, "policies! {\n    lru::Lru,\n}\n");
        let model = || file("crates/testkit/src/models/lru.rs", "");
        assert_eq!(check(&[policy(), registry(), model()]), []);
        assert_eq!(check(&[policy(), model()]).len(), 1);
        assert_eq!(check(&[policy(), registry()]).len(), 1);
        let bare = file("crates/core/src/policies/lru.rs", "// Idea: x\n");
        assert_eq!(check(&[bare, registry(), model()]).len(), SECTIONS.len());
    }
}
