//! Rules for documents: links lead somewhere, documents that are named exist, and the summary of the site has every
//! page once.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use xtask::SourceFile;

use super::Finding;

const PAGES: &str = "docs/";
const SUMMARY: &str = "docs/SUMMARY.md";

pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    let paths: HashSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut findings = Vec::new();
    for file in files {
        for (line, text) in file.text().lines().enumerate() {
            let mut find = |message: String| findings.push(Finding::new(&file.path, line + 1, message));
            if is_document(&file.path) {
                for target in links(text) {
                    if !leads(&paths, &file.path, target) {
                        find(format!("a link to {target}, which is not there"));
                    }
                }
            }
            for page in named_pages(text).filter(|page| !paths.contains(page)) {
                find(format!("{page} is not there"));
            }
        }
    }
    findings.extend(files.iter().find(|file| file.path == SUMMARY).into_iter().flat_map(|file| summary(&paths, file)));
    findings
}

fn is_document(path: &str) -> bool {
    path.ends_with(".md")
}

/// Targets of links within the tree.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    targets.filter(|target| !target.contains(':') && !target.starts_with('#'))
}

/// True if a link from `page` leads to a file of the tree, or to a folder with one.
fn leads(paths: &HashSet<&str>, page: &str, target: &str) -> bool {
    let target = target.split('#').next().unwrap_or_default();
    let place = resolved(page, target);
    let folder = format!("{place}/");
    paths.contains(place.as_str()) || paths.iter().any(|path| path.starts_with(&folder))
}

/// A path below the root, from a link in `page`.
fn resolved(page: &str, target: &str) -> String {
    let mut place = Path::new(page).parent().map(Path::to_path_buf).unwrap_or_default();
    for component in Path::new(target).components() {
        match component {
            Component::ParentDir => drop(place.pop()),
            Component::Normal(name) => place.push(name),
            _ => {}
        }
    }
    let place: PathBuf = place;
    place.to_string_lossy().into_owned()
}

/// Documents that are named by their whole path, in code and in text.
fn named_pages(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(PAGES).filter_map(|(at, _)| {
        let before = &text[..at];
        let is_inside = before.ends_with("](")
            || before.chars().next_back().is_some_and(|sign| sign.is_alphanumeric() || "/_-".contains(sign));
        let name = &text[at..];
        let end = name.find(|sign: char| !sign.is_ascii_alphanumeric() && !"/_-.".contains(sign)).unwrap_or(name.len());
        let name = name[..end].trim_end_matches('.');
        (!is_inside && is_document(name)).then_some(name)
    })
}

fn summary(paths: &HashSet<&str>, file: &SourceFile) -> Vec<Finding> {
    let linked: Vec<String> = file.text().lines().flat_map(links).map(|target| resolved(SUMMARY, target)).collect();
    let pages = paths.iter().filter(|path| path.starts_with(PAGES) && is_document(path) && **path != SUMMARY);
    let wrong = pages.filter_map(|page| match linked.iter().filter(|other| other == page).count() {
        0 => Some(format!("{page} is missing")),
        1 => None,
        _ => Some(format!("{page} stands here more than once")),
    });
    let mut wrong: Vec<String> = wrong.collect();
    wrong.sort();
    wrong.into_iter().map(|message| Finding::new(SUMMARY, 0, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `@` is the folder of documents: this file is checked as well.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let named = |text: &str| text.replace("@/", PAGES);
        let file = |&(path, text): &(&str, &str)| SourceFile { path: named(path), bytes: named(text).into_bytes() };
        let files: Vec<SourceFile> = files.iter().map(file).collect();
        let told = |finding: Finding| format!("{}: {}", finding.path, finding.message).replace(PAGES, "@/");
        check(&files).into_iter().map(told).collect()
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let pages = [("@/a/b.md", ""), ("@/SUMMARY.md", "[b](a/b.md)"), ("code/x.rs", "")];
        let page = |text| [&pages[..], &[("README.md", text)]].concat();
        assert_eq!(found(&page("[b](@/a/b.md#part) [x](https://example.org) [code](code) [here](#part)")), [""; 0]);
        assert_eq!(found(&page("[b](@/b.md)")), ["README.md: a link to @/b.md, which is not there"]);
        assert_eq!(found(&page("see `@/a/b.md`, `@/c.md`.")), ["README.md: @/c.md is not there"]);
        assert_eq!(found(&page("other/@/c.md and @/a/b.md.")), [""; 0]);
    }

    #[test]
    fn the_summary_has_each_page_once() {
        let pages = [("@/a.md", ""), ("@/b/c.md", "[a](../a.md)")];
        let with = |summary| [&pages[..], &[("@/SUMMARY.md", summary)]].concat();
        assert_eq!(found(&with("[a](a.md)\n[c](b/c.md)")), [""; 0]);
        assert_eq!(found(&with("[a](a.md)")), ["@/SUMMARY.md: @/b/c.md is missing"]);
        assert_eq!(
            found(&with("[a](a.md) [a](a.md) [c](b/c.md)")),
            ["@/SUMMARY.md: @/a.md stands here more than once"]
        );
    }
}
