//! Names in Rust: predicates return `bool`, and public types of a crate have different names.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{
    GenericArgument, Ident, ItemEnum, ItemStruct, ItemTrait, ItemType, ItemUnion, PathArguments, ReturnType, Signature,
    Type, Visibility,
};
use xtask::SourceFile;

use super::super::Finding;

/// At most this many crates may use one name for a public type.
const CRATES_LIMIT: usize = 2;
/// The place of names that too many crates share.
const WORKSPACE: &str = "crates";

/// The findings of all Rust files. Those about a whole crate have the crate's folder as their path.
pub fn find(files: &[SourceFile]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut types: BTreeMap<&str, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let parsed = syn::parse_file(file.text()).with_context(|| format!("{} is not Rust", file.path))?;
        let mut walk = Walk { path: &file.path, types: Vec::new(), findings: Vec::new() };
        walk.visit_file(&parsed);
        findings.extend(walk.findings);
        // It repeats the names of the types that it replaces where a feature is off.
        let is_absent = file.path.ends_with("/absent.rs");
        if let Some(folder) = library(&file.path).filter(|_| !is_absent) {
            for (name, line) in walk.types {
                let place = format!("{}:{line}", file.path);
                types.entry(folder).or_default().entry(name).or_default().push(place);
            }
        }
    }
    findings.extend(doubles(&types));
    Ok(findings)
}

/// The folder of the crate whose library or command this file is part of.
fn library(path: &str) -> Option<&str> {
    let end = path.strip_prefix("crates/").and_then(|_| path.find("/src/"))?;
    Some(&path[..end])
}

fn doubles(types: &BTreeMap<&str, BTreeMap<String, Vec<String>>>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut crates: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (folder, names) in types {
        for (name, places) in names {
            crates.entry(name).or_default().insert(folder);
            let extra = places.iter().skip(1);
            let message = |place| format!("a second public type {name} ({place}): expected one in a crate");
            findings.extend(extra.map(|place| Finding::new(folder, 0, message(place))));
        }
    }
    for (name, folders) in crates {
        for folder in folders.iter().skip(CRATES_LIMIT) {
            let message = format!("a public type {name} in {folder} too: expected it in {CRATES_LIMIT} crates at most");
            findings.push(Finding::new(WORKSPACE, 0, message));
        }
    }
    findings
}

struct Walk<'a> {
    path: &'a str,
    types: Vec<(String, usize)>,
    findings: Vec<Finding>,
}

impl Walk<'_> {
    fn named(&mut self, visibility: &Visibility, name: &Ident) {
        if matches!(visibility, Visibility::Public(_)) {
            self.types.push((name.to_string(), name.span().start().line));
        }
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.named(&item.vis, &item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.named(&item.vis, &item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_union(&mut self, item: &'ast ItemUnion) {
        self.named(&item.vis, &item.ident);
        visit::visit_item_union(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.named(&item.vis, &item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast ItemType) {
        self.named(&item.vis, &item.ident);
        visit::visit_item_type(self, item);
    }

    fn visit_signature(&mut self, signature: &'ast Signature) {
        let name = signature.ident.to_string();
        let is_predicate = name.starts_with("is_") || name.starts_with("has_");
        if is_predicate && !returns_bool(&signature.output) {
            let line = signature.ident.span().start().line;
            self.findings.push(Finding::new(self.path, line, format!("{name} does not return bool: rename it")));
        }
        visit::visit_signature(self, signature);
    }
}

/// True for `bool`, and for a `Result` of it.
fn returns_bool(output: &ReturnType) -> bool {
    let ReturnType::Type(_, of) = output else { return false };
    let Type::Path(path) = &**of else { return false };
    let Some(last) = path.path.segments.last() else { return false };
    match &last.arguments {
        PathArguments::AngleBracketed(inner) if last.ident == "Result" => {
            matches!(inner.args.first(), Some(GenericArgument::Type(Type::Path(of))) if of.path.is_ident("bool"))
        }
        _ => path.path.is_ident("bool"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let file = |&(path, text): &(&str, &str)| SourceFile { path: path.to_owned(), bytes: text.as_bytes().to_vec() };
        let files: Vec<SourceFile> = files.iter().map(file).collect();
        find(&files).unwrap().into_iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
    }

    #[test]
    fn predicates_return_bool() {
        let text = "fn is_a(&self) -> bool { true }\nfn has_b() -> Option<u8> { None }\nfn island() {}\nfn is_c() -> io::Result<bool> { Ok(true) }\n";
        assert_eq!(found(&[("crates/a/src/x.rs", &format!("impl A {{\n{text}}}"))]), ["crates/a/src/x.rs:3"]);
        assert_eq!(found(&[("crates/a/src/x.rs", "fn is_set(&mut self) {}")]), ["crates/a/src/x.rs:1"]);
    }

    #[test]
    fn public_types_of_a_crate_differ() {
        let a = ("crates/a/src/x.rs", "pub struct Run;\npub(crate) enum Other {}\nmod m { pub struct Part; }");
        assert_eq!(found(&[a, ("crates/a/src/y.rs", "pub enum Run {}\npub enum Other {}")]), ["crates/a:0"]);
        assert_eq!(found(&[a, ("crates/a/tests/y.rs", "pub enum Run {}")]), [""; 0]);
    }

    #[test]
    fn two_crates_may_share_a_name_and_three_may_not() {
        let of = |name| (name, "pub struct Run;");
        let two = [of("crates/a/src/x.rs"), of("crates/b/src/x.rs")];
        assert_eq!(found(&two), [""; 0]);
        assert_eq!(found(&[two[0], two[1], of("crates/c/src/x.rs")]), ["crates:0"]);
    }
}
