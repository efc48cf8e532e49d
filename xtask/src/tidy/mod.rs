//! Rules of CONTRIBUTING.md that a program can see.

mod code;
mod policies;
mod text;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::output_of;

/// A file under version control.
pub struct Tracked {
    /// Its path below the root, with `/`.
    pub path: String,
    bytes: Vec<u8>,
}

impl Tracked {
    /// Its content, empty if it is no text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }

    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// A broken rule.
#[derive(Debug, PartialEq)]
struct Finding {
    path: String,
    /// From 1; 0 means the whole file.
    line: usize,
    /// What is wrong and what was expected.
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, message: message.into() }
    }
}

/// Checks all files under version control.
pub fn run(root: &Path) -> Result<()> {
    let files = tracked(root)?;
    let places = text::machine_paths(root);
    let mut findings = policies::check(&files);
    for file in &files {
        findings.extend(text::check(file, &places));
        if file.is_rust() {
            findings.extend(code::check(&file.path, file.text())?);
        }
    }
    if findings.is_empty() {
        println!("tidy: {} files", files.len());
        return Ok(());
    }
    let lines: Vec<String> =
        findings.iter().map(|Finding { path, line, message }| format!("  {path}:{line}: {message}")).collect();
    bail!("tidy: {} findings\n{}", findings.len(), lines.join("\n"))
}

/// All files under version control that are there.
pub fn tracked(root: &Path) -> Result<Vec<Tracked>> {
    let listing = output_of(root, "git", &["ls-files", "-z"])?;
    let listing = String::from_utf8(listing).context("a tracked file's name is not UTF-8")?;
    let names = listing.split_terminator('\0').filter(|name| root.join(name).is_file());
    let read = |name: &str| fs::read(root.join(name)).with_context(|| format!("cannot read {name}"));
    names.map(|name| Ok(Tracked { path: name.to_owned(), bytes: read(name)? })).collect()
}
