//! Hosts know no policy and no parameter of one by its name: a policy declares the facts that they need. A report may
//! name the one that it compares with, in a constant.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, FieldValue, ItemConst, ItemMod, Lit, LitStr, Member};
use xtask::SourceFile;

use super::Finding;
use super::code::is_cfg_test;

const POLICIES: [&str; 2] = ["crates/core/src/policies/", "crates/core/src/schemes/"];
const HOSTS: [&str; 6] = [
    "crates/sim/src/",
    "crates/cache/src/",
    "crates/mount/src/",
    "crates/steer/src/",
    "crates/serve/src/",
    "crates/cli/src/",
];

/// Every name of a policy in a host's code outside of tests, and every parameter of one that it asks for.
pub fn check(files: &[SourceFile]) -> Result<Vec<Finding>> {
    let Declared { names, keys } = declared(files)?;
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && is_in(&file.path, &HOSTS)) {
        if file.path.ends_with("/tests.rs") {
            continue;
        }
        let parsed = syn::parse_file(file.text()).with_context(|| format!("{} is not Rust", file.path))?;
        let mut walk = Words::default();
        walk.visit_file(&parsed);
        let named = walk.words.iter().filter(|(_, word)| names.contains(word)).map(|named| ("the policy", named));
        let asked = walk.asked.iter().filter(|(_, key)| keys.contains(key)).map(|asked| ("the parameter", asked));
        findings.extend(named.chain(asked).map(|(what, (line, name))| {
            let message =
                format!("a host names {what} {name}: expected what it must know as a requirement of its entry");
            Finding::new(&file.path, *line, message)
        }));
    }
    Ok(findings)
}

/// The names that policies and their parameters have.
fn declared(files: &[SourceFile]) -> Result<Declared> {
    let mut declared = Declared::default();
    for file in files.iter().filter(|file| file.is_rust() && is_in(&file.path, &POLICIES)) {
        let parsed = syn::parse_file(file.text()).with_context(|| format!("{} is not Rust", file.path))?;
        declared.visit_file(&parsed);
    }
    Ok(declared)
}

fn is_in(path: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// The texts of fields that are called `name`, and of those called `key`.
#[derive(Default)]
struct Declared {
    names: BTreeSet<String>,
    keys: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Declared {
    fn visit_field_value(&mut self, field: &'ast FieldValue) {
        if let (Member::Named(name), Some(text)) = (&field.member, text_of(&field.expr)) {
            if name == "name" {
                self.names.insert(text.value());
            } else if name == "key" {
                self.keys.insert(text.value());
            }
        }
        visit::visit_field_value(self, field);
    }
}

fn text_of(expression: &Expr) -> Option<&LitStr> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The texts in code outside of tests and constants, with their lines.
#[derive(Default)]
struct Words {
    words: Vec<(usize, String)>,
    /// The names that are asked of a value called `args`.
    asked: Vec<(usize, String)>,
}

impl<'ast> Visit<'ast> for Words {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !item.attrs.iter().any(is_cfg_test) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_const(&mut self, _item: &'ast ItemConst) {}

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        self.words.push((text.span().start().line, text.value()));
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let is_args = match &*call.receiver {
            Expr::Path(path) => path.path.is_ident("args"),
            Expr::Field(field) => matches!(&field.member, Member::Named(name) if name == "args"),
            Expr::MethodCall(inner) => inner.method == "args",
            _ => false,
        };
        if let (true, Some(text)) = (is_args, call.args.first().and_then(text_of)) {
            self.asked.push((text.span().start().line, text.value()));
        }
        visit::visit_expr_method_call(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), bytes: text.as_bytes().to_vec() };
        let policy = file(
            "crates/core/src/policies/lru.rs",
            "const INFO: Info = Info { name: \"lru\", params: &[Param { key: \"k\" }] };",
        );
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
    fn parameters_that_hosts_ask_for_are_found() {
        let text = "fn f(args: &Args) {\n    args.count(\"k\");\n    g().args().real(\"k\");\n    h(\"k\");\n    args.is(\"l\");\n}\n";
        assert_eq!(lines_found("crates/steer/src/session.rs", text), [2, 3]);
    }

    #[test]
    fn reports_may_compare_and_tests_may_name() {
        assert_eq!(lines_found("crates/sim/src/rows.rs", "const USUAL: &str = \"lru\";"), [0; 0]);
        let text = "#[cfg(test)]\nmod tests {\n    const A: &str = \"lru\";\n    fn f() { g(\"lru\") }\n}\n";
        assert_eq!(lines_found("crates/sim/src/rows.rs", text), [0; 0]);
    }
}
