//! Shared by the chores: the files of the tree, and other programs' output.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A file under version control, or one that could be: new and not ignored.
pub struct SourceFile {
    /// Its path below the root, with `/`.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl SourceFile {
    /// Its content, empty if it is not text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }

    /// True if it is Rust.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// All files of the tree that are not ignored.
pub fn source_files(root: &Path) -> Result<Vec<SourceFile>> {
    let listing = output_of(root, "git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    let listing = String::from_utf8(listing).context("a file's name is not UTF-8")?;
    let mut names: Vec<&str> = listing.split_terminator('\0').filter(|name| root.join(name).is_file()).collect();
    names.sort_unstable();
    let read = |name: &str| fs::read(root.join(name)).with_context(|| format!("cannot read {name}"));
    names.into_iter().map(|name| Ok(SourceFile { path: name.to_owned(), bytes: read(name)? })).collect()
}

/// What `program` writes to its standard output when run at the root.
pub fn output_of(root: &Path, program: &str, args: &[&str]) -> Result<Vec<u8>> {
    let command = format!("{program} {}", args.join(" "));
    let output = Command::new(program).args(args).current_dir(root).output();
    let output = output.with_context(|| format!("cannot run `{command}`"))?;
    ensure!(output.status.success(), "`{command}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_files_are_seen_and_ignored_ones_are_not() {
        let root = std::env::temp_dir().join(format!("hotset-tidy-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        output_of(&root, "git", &["init", "--quiet"]).unwrap();
        fs::write(root.join(".gitignore"), "*.log\n").unwrap();
        fs::write(root.join("new.rs"), "fn f() {}\n").unwrap();
        fs::write(root.join("a.log"), "").unwrap();
        let paths: Vec<String> = source_files(&root).unwrap().into_iter().map(|file| file.path).collect();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(paths, [".gitignore", "new.rs"]);
    }
}
