//! Every `unsafe` of the tree and the reason why it is sound, read off the sources.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use xtask::source_files;

const HEAD: &str = "\
# Every `unsafe`

Read off the tokens of the sources, so none is left out, in macros neither. *Shipped* is what the command contains; *tests* are tests, examples and
benchmarks. A crate without a line has no `unsafe`. `SECURITY.md` says what is checked of them and how.
";

/// One `unsafe` of a source file.
#[derive(Debug, PartialEq)]
struct Place {
    /// The marked code: a block, an implementation, a function.
    kind: String,
    /// The comment above that begins with `SAFETY:`, without that word; empty if there is none.
    reason: String,
}

/// The page below its notice.
pub fn page(root: &Path) -> Result<String> {
    let mut rows = String::new();
    let mut counts = BTreeMap::<String, [usize; 2]>::new();
    for file in source_files(root)?.iter().filter(|file| file.is_rust()) {
        let places = places(file.text()).with_context(|| format!("{} is not Rust", file.path))?;
        counts.entry(room(&file.path)).or_default()[usize::from(!is_shipped(&file.path))] += places.len();
        for Place { kind, reason } in places {
            writeln!(rows, "| `{}` | {kind} | {reason} |", file.path)?;
        }
    }
    let mut page = format!("{HEAD}\n| crate | shipped | tests |\n| --- | --- | --- |\n");
    for (crate_, [shipped, tests]) in counts.into_iter().filter(|(_, counts)| *counts != [0, 0]) {
        writeln!(page, "| `{crate_}` | {shipped} | {tests} |")?;
    }
    write!(page, "\n| file | what | why it is sound |\n| --- | --- | --- |\n{rows}")?;
    Ok(page)
}

/// `crates/NAME`, or the first folder.
fn room(path: &str) -> String {
    path.split('/').take(if path.starts_with("crates/") { 2 } else { 1 }).collect::<Vec<_>>().join("/")
}

fn is_shipped(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/") && !path.starts_with("crates/testkit/")
}

fn places(text: &str) -> Result<Vec<Place>> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut found = Vec::new();
    let tokens: TokenStream = text.parse().map_err(|error| anyhow::anyhow!("{error}"))?;
    walk(tokens, &lines, &mut found);
    Ok(found)
}

fn walk(tokens: TokenStream, lines: &[&str], found: &mut Vec<Place>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => walk(group.stream(), lines, found),
            TokenTree::Ident(word) if word == "unsafe" => {
                let kind = match tokens.peek() {
                    Some(TokenTree::Ident(next)) => format!("`unsafe {next}`"),
                    _ => "block".to_owned(),
                };
                found.push(Place { kind, reason: reason(lines, word.span().start().line) });
            }
            _ => {}
        }
    }
}

/// The comment with `SAFETY:` above line `line` (from 1), with nothing but the rest of its statement between.
fn reason(lines: &[&str], line: usize) -> String {
    let above = &lines[..line - 1];
    let is_comment = |text: &&&str| text.starts_with("//");
    let gap = above.iter().rev().take_while(|text| !is_comment(text) && !text.ends_with([';', '{', '}'])).count();
    let end = above.len() - gap;
    let length = above[..end].iter().rev().take_while(is_comment).count();
    let comment: Vec<&str> = above[end - length..end].iter().map(|text| text.trim_start_matches('/').trim()).collect();
    comment.join(" ").split_once("SAFETY:").map(|(_, reason)| reason.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_functions_and_what_macros_hold_are_found_with_their_reasons() {
        let text = "fn f() {\n    g();\n    // SAFETY: no caller\n    // looks.\n    let x =\n        unsafe { g() };\n    assert!(unsafe { g() });\n}\n\
                    // SAFETY: as it does.\nunsafe impl A for B {\n    unsafe fn h() {}\n}\n";
        let found = places(text).unwrap();
        let place = |kind: &str, reason: &str| Place { kind: kind.to_owned(), reason: reason.to_owned() };
        assert_eq!(
            found,
            [
                place("block", "no caller looks."),
                place("block", ""),
                place("`unsafe impl`", "as it does."),
                place("`unsafe fn`", "")
            ]
        );
        assert!(places("const A: &str = \"unsafe\"; // unsafe").unwrap().is_empty());
    }
}
