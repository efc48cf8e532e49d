//! Rules for Rust code: short functions, no printing from libraries, no unfinished work.

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ImplItemFn, ItemFn, ItemMod, Macro, Signature, TraitItemFn};

use super::Finding;

const FUNCTION_LINES_LIMIT: usize = 70;
const PRINTING: [&str; 4] = ["print", "println", "eprint", "eprintln"];
const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];

pub fn check(path: &str, text: &str) -> Result<Vec<Finding>> {
    let file = syn::parse_file(text).with_context(|| format!("{path} is not Rust"))?;
    let mut walk = Walk { path, prints: may_print(path), findings: Vec::new() };
    walk.visit_file(&file);
    Ok(walk.findings)
}

/// Libraries return what they have to say; the command, the chores, tests, examples and benchmarks print.
fn may_print(path: &str) -> bool {
    let library = path.starts_with("crates/") && path.contains("/src/") && !path.starts_with("crates/cli/");
    !library || path.ends_with("/src/main.rs") || path.contains("/src/bin/") || path.ends_with("/tests.rs")
}

struct Walk<'a> {
    path: &'a str,
    prints: bool,
    findings: Vec<Finding>,
}

impl Walk<'_> {
    fn measure(&mut self, signature: &Signature, body: &Block) {
        let first = signature.fn_token.span.start().line;
        let lines = body.brace_token.span.close().end().line + 1 - first;
        if lines > FUNCTION_LINES_LIMIT {
            let message = format!("{} has {lines} lines: expected at most {FUNCTION_LINES_LIMIT}", signature.ident);
            self.findings.push(Finding::new(self.path, first, message));
        }
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.measure(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.measure(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.measure(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let before = self.prints;
        self.prints |= item.attrs.iter().any(is_cfg_test);
        visit::visit_item_mod(self, item);
        self.prints = before;
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let name = call.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let line = call.bang_token.span.start().line;
        let mut find = |message: String| self.findings.push(Finding::new(self.path, line, message));
        if UNFINISHED.contains(&name.as_str()) {
            find(format!("{name}! marks unfinished work: finish it, or write an issue"));
        }
        if PRINTING.contains(&name.as_str()) && !self.prints {
            find(format!("{name}! in a library: expected a value or an error returned to the caller"));
        }
    }
}

/// True for what is compiled for tests only.
pub(super) fn is_cfg_test(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|name| name == "test")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        check(path, text).unwrap().into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn long_functions_are_found_at_their_signature() {
        let of = |lines: usize| format!("/// Doc.\n#[inline]\nfn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2));
        assert_eq!(lines_found("a.rs", &of(FUNCTION_LINES_LIMIT)), [0; 0]);
        assert_eq!(lines_found("a.rs", &of(FUNCTION_LINES_LIMIT + 1)), [3]);
        assert_eq!(lines_found("a.rs", &format!("impl A {{ {} }}", of(FUNCTION_LINES_LIMIT + 1))), [3]);
    }

    #[test]
    fn libraries_do_not_print_and_tests_may() {
        let text = "fn f() {\n    println!(\"x\");\n}\n#[cfg(test)]\nmod tests {\n    fn g() {\n        eprintln!();\n    }\n}\n";
        assert_eq!(lines_found("crates/core/src/a.rs", text), [2]);
        assert_eq!(lines_found("crates/core/tests/a.rs", text), [0; 0]);
        assert_eq!(lines_found("crates/cli/src/a.rs", text), [0; 0]);
        assert_eq!(lines_found("crates/core/src/a.rs", "/// println!()\nconst A: &str = \"println!\";"), [0; 0]);
    }

    #[test]
    fn unfinished_work_is_found_everywhere() {
        let text = format!("fn f() {{\n    {}!(later)\n}}", UNFINISHED[0]);
        assert_eq!(lines_found("crates/cli/tests/a.rs", &text), [2]);
    }
}
