//! Hosts know no policy by its name: what they must know of one it declares. A report may name the one that it compares
//! with, in a constant.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{FieldValue, ItemConst, ItemMod, LitStr, Member};
use xtask::SourceFile;

use super::Finding;
use super::code::is_cfg_test;

const POLICIES: [&str; 2] = ["crates/core/src/policies/", "crates/core/src/schemes/"];
const HOSTS: [&str; 4] = ["crates/sim/src/", "crates/cache/src/", "crates/mount/src/", "crates/cli/src/"];

/// Every name of a policy in the code of a host that is no test.
pub fn check(files: &[SourceFile]) -> Result<Vec<Finding>> {
    let names = policies(files)?;
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && is_in(&file.path, &HOSTS)) {
        if file.path.ends_with("/tests.rs") {
            continue;
        }
        let parsed = syn::parse_file(file.text()).with_context(|| format!("{} is no Rust", file.path))?;
        let mut walk = Words::default();
        walk.visit_file(&parsed);
        let named = walk.found.into_iter().filter(|(_, word)| names.contains(word));
        findings.extend(named.map(|(line, name)| {
            let message =
                format!("a host names the policy {name}: expected what it must know as a requirement of its entry");
            Finding::new(&file.path, line, message)
        }));
    }
    Ok(findings)
}

/// The names that policies have.
fn policies(files: &[SourceFile]) -> Result<BTreeSet<String>> {
    let mut names = Names::default();
    for file in files.iter().filter(|file| file.is_rust() && is_in(&file.path, &POLICIES)) {
        let parsed = syn::parse_file(file.text()).with_context(|| format!("{} is no Rust", file.path))?;
        names.visit_file(&parsed);
    }
    Ok(names.0)
}

fn is_in(path: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// The texts of fields that are called `name`.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_field_value(&mut self, field: &'ast FieldValue) {
        let is_name = matches!(&field.member, Member::Named(name) if name == "name");
        if let (true, syn::Expr::Lit(literal)) = (is_name, &field.expr)
            && let syn::Lit::Str(text) = &literal.lit
        {
            self.0.insert(text.value());
        }
        visit::visit_field_value(self, field);
    }
}

/// The texts in code that is no test and no constant, with their lines.
#[derive(Default)]
struct Words {
    found: Vec<(usize, String)>,
}

impl<'ast> Visit<'ast> for Words {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !item.attrs.iter().any(is_cfg_test) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_const(&mut self, _item: &'ast ItemConst) {}

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        self.found.push((text.span().start().line, text.value()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), bytes: text.as_bytes().to_vec() };
        let policy =
            file("crates/core/src/policies/lru.rs", "const INFO: Info = Info { name: \"lru\", family: \"recency\" };");
        let found = check(&[policy, file(path, text)]).unwrap();
        found.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn names_of_policies_are_found_in_hosts() {
        let text = "fn f(name: &str) -> bool {\n    name == \"lru\" || name == \"recency\"\n}\n";
        assert_eq!(lines_found("crates/cli/src/curve.rs", text), [2]);
        assert_eq!(lines_found("crates/testkit/src/models/mod.rs", text), [0; 0]);
    }

    #[test]
    fn reports_may_compare_and_tests_may_name() {
        assert_eq!(lines_found("crates/sim/src/rows.rs", "const USUAL: &str = \"lru\";"), [0; 0]);
        let text = "#[cfg(test)]\nmod tests {\n    const A: &str = \"lru\";\n    fn f() { g(\"lru\") }\n}\n";
        assert_eq!(lines_found("crates/sim/src/rows.rs", text), [0; 0]);
    }
}
