//! Rules for files of any kind: size, length, width of comments, marks of unfinished work, paths of this machine.

use std::path::Path;

use xtask::SourceFile;

use super::Finding;

const BYTES_LIMIT: usize = 2 << 20;
const LINES_LIMIT: usize = 600;
/// A smaller file of Rust joins what it belongs to, except those below.
const LINES_LEAST: usize = 40;
const COMMENT_WIDTH: usize = 120;

/// Files that are small by their nature: the face of a folder, a stand-in for a missing feature.
const FACES: [&str; 4] = ["mod.rs", "lib.rs", "main.rs", "absent.rs"];

/// Folders with one file for each item of a list, whatever its size.
const LISTS: [&str; 7] = [
    "crates/cli/src/command/",
    "crates/core/src/allocate/",
    "crates/core/src/policies/",
    "crates/python/src/",
    "crates/testkit/src/",
    "crates/trace/src/generate/",
    "xtask/reference/src/",
];

/// Other small files, each used by several others that have nothing else in common.
const SHARED: [&str; 9] = [
    "crates/cache/src/decide/prices.rs",
    "crates/cli/src/output/shell.rs",
    "crates/core/src/words.rs",
    "crates/feed/src/clock.rs",
    "crates/feed/src/error.rs",
    "crates/sim/src/inspect/told.rs",
    "crates/store/src/http/limits.rs",
    "crates/store/src/meant.rs",
    "crates/trace/src/tables.rs",
];

/// What marks work as unfinished; in pieces, for this file is checked as well.
const MARKS: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// Folders that lie at the same place on every machine, and so may be named.
const COMMON: [&str; 9] = ["/", "/home", "/opt", "/root", "/srv", "/tmp", "/usr/src", "/var/tmp", "/mnt"];

/// The folders of this machine that no file may name, each with a slash behind it.
pub fn machine_paths(root: &Path) -> Vec<String> {
    let home = std::env::var("HOME").ok();
    let folders = [root.to_str(), root.parent().and_then(Path::to_str), home.as_deref()];
    let own = folders.into_iter().flatten().filter(|folder| !folder.is_empty() && !COMMON.contains(folder));
    own.map(|folder| format!("{folder}/")).collect()
}

pub fn check(file: &SourceFile, machine_paths: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |line: usize, message: String| findings.push(Finding::new(&file.path, line, message));
    if file.bytes.len() > BYTES_LIMIT {
        find(0, format!("{} KiB: expected at most {} KiB", file.bytes.len() >> 10, BYTES_LIMIT >> 10));
    }
    let lines = file.text().lines().count();
    if file.is_rust() && lines > LINES_LIMIT {
        find(0, format!("{lines} lines: expected at most {LINES_LIMIT}; a file has one subject"));
    }
    if file.is_rust() && lines < LINES_LEAST && !may_be_small(&file.path) {
        find(0, format!("{lines} lines: expected at least {LINES_LEAST}, or a place in the lists of small files"));
    }
    for (line, text) in file.text().lines().enumerate() {
        if is_code(&file.path) && MARKS.iter().any(|mark| text.contains(mark)) {
            find(line + 1, "a mark of unfinished work: finish it, or write an issue".to_owned());
        }
        let width = text.chars().count();
        if file.is_rust() && text.trim_start().starts_with("//") && width > COMMENT_WIDTH {
            find(line + 1, format!("a comment of {width} characters: expected at most {COMMENT_WIDTH} a line"));
        }
        if machine_paths.iter().any(|path| text.contains(path.as_str())) {
            find(line + 1, "a path of this machine: expected one that every clone has".to_owned());
        }
    }
    findings
}

fn is_code(path: &str) -> bool {
    let endings = [".rs", ".toml", ".py", ".ts", ".sh", ".c", "Makefile", ".ci/run"];
    endings.iter().any(|ending| path.ends_with(ending))
}

/// True outside of the sources of crates and tools, and for the small files that the lists above allow.
fn may_be_small(path: &str) -> bool {
    let is_source = path.contains("/src/") && path.ends_with(".rs");
    let name = path.rsplit('/').next().unwrap_or(path);
    !is_source || FACES.contains(&name) || SHARED.contains(&path) || LISTS.iter().any(|list| path.starts_with(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        let file = SourceFile { path: path.to_owned(), bytes: text.as_bytes().to_vec() };
        check(&file, &["/mine/".to_owned()]).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn size_length_marks_and_paths_are_seen() {
        let mark = format!("// {}: later", MARKS[0]);
        assert_eq!(lines_found("a.rs", &format!("fn a() {{}}\n{mark}\n")), [2]);
        assert_eq!(lines_found("a.md", &mark), [0; 0]);
        assert_eq!(lines_found("a.md", "see /mine/notes\nand /mine"), [1]);
        assert_eq!(lines_found("a.rs", &"\n".repeat(LINES_LIMIT)), [0; 0]);
        assert_eq!(lines_found("a.rs", &"\n".repeat(LINES_LIMIT + 1)), [0]);
        let source = |lines: usize| "\n".repeat(lines);
        assert_eq!(lines_found("crates/sim/src/a.rs", &source(LINES_LEAST - 1)), [0]);
        assert_eq!(lines_found("crates/sim/src/a.rs", &source(LINES_LEAST)), [0; 0]);
        assert_eq!(lines_found("crates/sim/src/a/mod.rs", &source(1)), [0; 0]);
        assert_eq!(lines_found("crates/core/src/policies/a.rs", &source(1)), [0; 0]);
        let comment = |width: usize| format!("    // {}\n", "ä".repeat(width - 7));
        assert_eq!(lines_found("a.rs", &comment(COMMENT_WIDTH)), [0; 0]);
        assert_eq!(lines_found("a.rs", &comment(COMMENT_WIDTH + 1)), [1]);
        assert_eq!(lines_found("a.md", &comment(COMMENT_WIDTH + 1)), [0; 0]);
        assert_eq!(lines_found("a.bin", &"x".repeat(BYTES_LIMIT + 1)), [0]);
    }

    #[test]
    fn folders_that_every_machine_has_are_no_secret() {
        let places = machine_paths(Path::new("/tmp/clone"));
        assert!(places.contains(&"/tmp/clone/".to_owned()));
        assert!(!places.contains(&"/tmp/".to_owned()));
    }
}
