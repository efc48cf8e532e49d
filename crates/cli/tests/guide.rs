//! The commands of the guide run as they are written, and give the output that is written there.
//!
//! A block of `console` has commands, each in a line that begins with `$ `, run by a shell at the root of the
//! repository. Its output has the lines behind it in this order; the guide may leave lines out between them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A command, and what a page shows of its output.
#[derive(Debug, Default, PartialEq)]
struct Shown {
    line: usize,
    command: String,
    output: Vec<String>,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The commands of a page.
fn commands(page: &str) -> Vec<Shown> {
    let mut commands: Vec<Shown> = Vec::new();
    let mut is_console = false;
    for (number, line) in page.lines().enumerate() {
        if line.starts_with("```") {
            is_console = line == "```console";
        } else if is_console && let Some(command) = line.strip_prefix("$ ") {
            commands.push(Shown { line: number + 1, command: command.to_owned(), output: Vec::new() });
        } else if is_console {
            let shown = commands.last_mut().unwrap_or_else(|| panic!("line {}: output of no command", number + 1));
            shown.output.push(line.trim_end().to_owned());
        }
    }
    commands
}

fn run(command: &str) -> Output {
    let folder = Path::new(env!("CARGO_BIN_EXE_hotset")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    Command::new("sh").args(["-c", command]).env("PATH", path).current_dir(repository()).output().unwrap()
}

/// The first line that is shown and does not come, if any.
fn missing<'a>(shown: &'a [String], output: &str) -> Option<&'a str> {
    let mut lines = output.lines().map(str::trim_end);
    shown.iter().find(|wanted| !lines.any(|line| line == wanted.as_str())).map(String::as_str)
}

fn pages() -> Vec<PathBuf> {
    let listing = fs::read_dir(repository().join("docs/guide")).unwrap();
    let mut pages: Vec<PathBuf> = listing.map(|entry| entry.unwrap().path()).collect();
    pages.push(repository().join("README.md"));
    pages.sort();
    pages
}

#[test]
fn what_the_guide_shows_is_what_happens() {
    let mut count = 0;
    for page in pages() {
        for Shown { line, command, output } in commands(&fs::read_to_string(&page).unwrap()) {
            let place = format!("{}:{line}: `{command}`", page.display());
            let ran = run(&command);
            let told = String::from_utf8_lossy(&ran.stdout);
            assert!(ran.status.success(), "{place} fails: {}", String::from_utf8_lossy(&ran.stderr));
            if let Some(wanted) = missing(&output, &told) {
                panic!("{place} does not tell, or not at this place: {wanted}\nIt tells:\n{told}");
            }
            count += 1;
        }
    }
    assert!(count >= 4, "{count} commands: are they in blocks of `console`?");
}

#[test]
fn what_is_not_told_or_in_another_order_is_missed() {
    let page = "text\n```console\n$ one | two\na\nb\n$ three\n```\n```\n$ not this\n```\n";
    let found = commands(page);
    let told: Vec<(usize, &str, usize)> =
        found.iter().map(|shown| (shown.line, shown.command.as_str(), shown.output.len())).collect();
    assert_eq!(told, [(3, "one | two", 2), (6, "three", 0)]);
    assert_eq!(missing(&found[0].output, "x\na\ny\nb  \n"), None);
    assert_eq!(missing(&found[0].output, "b\na\n"), Some("b"));
    assert_eq!(missing(&found[0].output, ""), Some("a"));
}
