//! Rules of CONTRIBUTING.md that a program can see.

mod arrows;
mod code;
mod crates;
mod links;
mod names;
mod policies;
mod seam;
mod settings;
mod text;
mod words;

use std::path::Path;

use anyhow::{Result, bail};

use xtask::source_files;

/// A broken rule.
#[derive(Debug, PartialEq)]
struct Finding {
    path: String,
    /// From 1; 0 means the whole file.
    line: usize,
    /// The fault and the expectation.
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, message: message.into() }
    }
}

/// Checks all files under version control, and those that are new and not ignored. With `ratchet` the list of allowed
/// wordings is lowered first.
pub fn run(root: &Path, ratchet: bool) -> Result<()> {
    let files = source_files(root)?;
    if ratchet {
        words::lower(root, &files)?;
    }
    let places = text::machine_paths(root);
    let mut findings = policies::check(&files);
    findings.extend(links::check(&files));
    findings.extend(names::check(&files)?);
    findings.extend(seam::check(&files));
    findings.extend(crates::check(&files)?);
    findings.extend(arrows::check(&files)?);
    findings.extend(words::check(root, &files)?);
    for file in &files {
        findings.extend(text::check(file, &places));
        if file.is_rust() {
            findings.extend(code::check(&file.path, file.text())?);
            findings.extend(settings::check(&file.path, file.text()));
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
