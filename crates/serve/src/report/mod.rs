//! Reports: one HTML page with its script, style and data, which opens from disk and makes no network request.
//!
//! The page is built from `dashboard/` and committed, so that a build needs no Node. The check of `cargo xtask
//! dashboard` builds it again and compares. The data is JSON in an element that a browser does not execute, with `<`,
//! `>` and `&` escaped, so that no name in a trace can end it. The same command gives the same page, byte for byte, so
//! the page does not contain the time of the run.

mod trace_file;

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hotset_results as results;
use hotset_results::SeriesRow;
use hotset_trace::Format;
use serde::{Deserialize, Serialize};

use trace_file::TraceFile;

/// The page, with [`MARK`] where the data goes.
const TEMPLATE: &str = include_str!("page.html");

/// The page of directories, with [`MARK`] likewise.
const LIVE: &str = include_str!("live.html");

/// The placeholder of the data, which occurs once.
const MARK: &str = "@HOTSET_REPORT@";

/// Version of the data's schema (`docs/guide/look-at-results.md`).
const VERSION: u32 = 1;

/// The content of a page made by `simulate`, `curve` or `experiment`.
#[derive(Serialize)]
pub struct Rows<'a, R: Serialize> {
    /// The rows, as JSON files have them.
    pub rows: &'a [R],
    /// What happened in one stretch of time after another, as JSON files have it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub series: &'a [SeriesRow],
    /// The options with which other commands read the trace as this one did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reading: Vec<String>,
}

/// The content of a page of results that were written before.
#[derive(Serialize)]
struct Results<'a> {
    /// The files that they were written to.
    results: Vec<TraceFile>,
    #[serde(flatten)]
    rows: &'a results::Results,
    /// The options with which commands read the traces as these rows did, where all did alike.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reading: Vec<String>,
}

/// The page of the rows that were read from `files`. `command` is the line that shows it, and `reading` the options
/// with which commands read the traces as these rows were.
///
/// # Errors
///
/// Those of [`page`].
pub fn of_results(
    command: &str,
    files: &[PathBuf],
    formats: &[Format],
    rows: &results::Results,
    reading: Vec<String>,
) -> serde_json::Result<String> {
    page(command, &[], formats, Results { results: files_of(files, formats), rows, reading })
}

#[derive(Serialize)]
struct Data<'a, C: Serialize> {
    version: u32,
    hotset: &'static str,
    command: &'a str,
    traces: Vec<TraceFile>,
    #[serde(flatten)]
    content: C,
}

/// The page of these contents, made from these traces in one of `formats`. `command` is the line that made it.
///
/// # Errors
///
/// The content is not JSON, because a key of a map is not text.
pub fn page(
    command: &str,
    traces: &[PathBuf],
    formats: &[Format],
    content: impl Serialize,
) -> serde_json::Result<String> {
    let traces = files_of(traces, formats);
    let data = Data { version: VERSION, hotset: env!("CARGO_PKG_VERSION"), command, traces, content };
    Ok(filled(TEMPLATE, &serde_json::to_string(&data)?))
}

/// The page of directories, which asks its server for all but what it begins with.
pub(crate) fn of_directories(begin: &impl Serialize) -> String {
    // Its first part has text for keys.
    filled(LIVE, &serde_json::to_string(begin).unwrap_or_default())
}

/// The largest page that is shown again, in bytes.
const LARGEST: u64 = 16 << 20;

/// The text before the data of a page.
const BEFORE: &str = r#"<script type="application/json" id="report">"#;

/// The fields that tell a report; the others are not kept in memory.
#[derive(Deserialize)]
struct Begin {
    version: u32,
    command: String,
}

/// The page of a report that was written before; `None` if the file is none of this version. Only its data is taken:
/// the script is our own.
pub fn again(path: &Path) -> Option<String> {
    data(path).map(|json| filled(TEMPLATE, &json))
}

/// True if the file is a report of this version.
pub fn is_report(path: &Path) -> bool {
    data(path).is_some()
}

/// The data of a report.
fn data(path: &Path) -> Option<String> {
    if path.extension().is_none_or(|ending| ending != "html") {
        return None;
    }
    // Another program may have put a pipe in place of the file, whose open would wait for a writer.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    let is_candidate = file.metadata().is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
    let mut html = String::new();
    is_candidate.then(|| file.take(LARGEST).read_to_string(&mut html).ok()).flatten()?;
    let (_, after) = html.split_once(BEFORE)?;
    let (json, _) = after.split_once("</script>")?;
    let begin: Begin = serde_json::from_str(json).ok()?;
    (begin.version == VERSION && !begin.command.is_empty()).then(|| json.to_owned())
}

fn files_of(paths: &[PathBuf], formats: &[Format]) -> Vec<TraceFile> {
    paths.iter().map(|path| TraceFile::of(path, formats)).collect()
}

/// The page with this JSON in it. Outside of strings JSON has none of the three characters, so escaping them changes no
/// value.
fn filled(template: &str, json: &str) -> String {
    let safe = json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    template.replacen(MARK, &safe, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_one_place_for_data_and_asks_the_network_for_nothing() {
        assert_eq!(TEMPLATE.matches(MARK).count(), 1);
        assert!(TEMPLATE.contains(&format!("<script type=\"application/json\" id=\"report\">{MARK}</script>")));
        assert!(TEMPLATE.contains("default-src 'none'"));
        let loads = ["src=\"", "@import", "url(http", "href=\"http", "fetch("];
        assert_eq!(loads.map(|load| TEMPLATE.contains(load)), [false; 5], "{loads:?}");
    }

    #[test]
    fn the_page_of_directories_asks_its_own_server_alone() {
        assert_eq!(LIVE.matches(MARK).count(), 1);
        assert!(LIVE.contains("default-src 'none'") && LIVE.contains("connect-src 'self'"));
        let loads = ["src=\"", "@import", "url(http", "href=\"http"];
        assert_eq!(loads.map(|load| LIVE.contains(load)), [false; 4], "{loads:?}");
    }

    #[test]
    fn of_a_page_that_is_shown_again_only_the_data_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let data = serde_json::json!({"version": VERSION, "command": "hotset </script>", "traces": []});
        let page = filled(TEMPLATE, &data.to_string());
        let (path, foreign) = (folder.path().join("a.html"), page.replace("<body", "<body onload=\"alert(1)\""));
        std::fs::write(&path, foreign).unwrap();
        assert_eq!(again(&path), Some(page.clone()));
        let other = page.replace("\"version\":1", "\"version\":99");
        for (name, text) in [("old.html", &*other), ("other.html", "<html></html>"), ("a.txt", &*page)] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            assert_eq!(again(&path), None, "{name}");
        }
    }

    #[test]
    fn no_text_ends_the_data_and_every_text_comes_back() {
        let hostile = ["</script><script>alert(1)</script>", "<!--", "&lt;", "\"'\\", "\u{202e}abc", "\u{2028}", MARK];
        let page = filled(TEMPLATE, &serde_json::to_string(&hostile).unwrap());
        let (_, after) = page.split_once("id=\"report\">").unwrap();
        let (data, _) = after.split_once("</script>").unwrap();
        assert_eq!(serde_json::from_str::<Vec<String>>(data).unwrap(), hostile);
        assert!(!data.contains(['<', '>', '&']));
    }
}
