//! Results and traces in directories, told apart from everything else by what they begin with.
//!
//! Only what was found here can be asked for later, by the name that it was found under: no name leads anywhere else.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use hotset_trace::Format;
use hotset_trace::formats::{self, Confidence};
use hotset_trace::input::Input;
use serde::Serialize;

use crate::report;

/// Files that are looked at.
const MOST_FILES: usize = 20_000;

/// Directories within directories.
const DEEPEST: usize = 16;

/// Files that can be shown or replayed.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Results,
    Report,
    Trace,
}

/// Bytes below which only a file of a certain format is a trace: files of process ids are numbers, too.
const FEW: u64 = 256;

/// A file that was found.
#[derive(Clone, Serialize)]
pub(super) struct Item {
    pub name: String,
    pub kind: Kind,
    /// The format of a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    bytes: u64,
    /// Seconds since 1970 of the last change.
    changed: u64,
    #[serde(skip)]
    pub path: PathBuf,
}

/// The files found.
#[derive(Clone, Default, Serialize)]
pub(super) struct Found {
    pub items: Vec<Item>,
    /// There were more files than are looked at.
    is_cut: bool,
}

/// Looks into files and directories, and remembers what it has seen in each file.
pub(super) struct Library {
    roots: Vec<PathBuf>,
    formats: Vec<Format>,
    /// The kind of a file when it had so many bytes and was changed at this time, in nanoseconds since 1970.
    seen: BTreeMap<PathBuf, ((u64, u64), Option<Item>)>,
}

impl Library {
    pub fn new(roots: Vec<PathBuf>, formats: Vec<Format>) -> Library {
        Library { roots, formats, seen: BTreeMap::new() }
    }

    /// All current files, by name. Unreadable files are left out, and so are those behind links and in hidden
    /// directories.
    pub fn look(&mut self) -> Found {
        let (mut files, mut is_cut) = (Vec::new(), false);
        let mut waiting: Vec<(PathBuf, usize)> = self.roots.iter().map(|root| (root.clone(), 0)).collect();
        while let Some((path, depth)) = waiting.pop() {
            if depth == 0 && path.is_file() {
                files.push(path);
                continue;
            }
            for (entry, kind) in entries(&path) {
                is_cut |= files.len() == MOST_FILES || (kind.is_dir() && depth == DEEPEST);
                match kind {
                    _ if is_cut => {}
                    kind if kind.is_dir() => waiting.push((entry.path(), depth + 1)),
                    kind if kind.is_file() => files.push(entry.path()),
                    _ => {}
                }
            }
        }
        files.sort();
        files.dedup();
        let items = files.iter().filter_map(|path| self.item(path)).collect();
        self.seen.retain(|path, _| files.binary_search(path).is_ok());
        Found { items, is_cut }
    }

    fn item(&mut self, path: &Path) -> Option<Item> {
        let about = fs::metadata(path).ok()?;
        let changed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let stamp = (about.len(), changed.as_nanos() as u64);
        if let Some((_, item)) = self.seen.get(path).filter(|(then, _)| *then == stamp) {
            return item.clone();
        }
        let item = recognised(path, about.len(), &self.formats).map(|(kind, format)| Item {
            name: self.name(path),
            kind,
            format,
            bytes: about.len(),
            changed: changed.as_secs(),
            path: path.to_owned(),
        });
        self.seen.insert(path.to_owned(), (stamp, item.clone()));
        item
    }

    /// The path below the directory, if there is but one.
    fn name(&self, path: &Path) -> String {
        let short = match self.roots.as_slice() {
            [root] => path.strip_prefix(root).ok().filter(|rest| !rest.as_os_str().is_empty()),
            _ => None,
        };
        short.unwrap_or(path).display().to_string()
    }
}

/// The content of a directory without hidden names.
fn entries(path: &Path) -> impl Iterator<Item = (DirEntry, fs::FileType)> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let shown = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    shown.filter_map(|entry| entry.file_type().ok().map(|kind| (entry, kind)))
}

/// The kind of a file, by its first bytes.
fn recognised(path: &Path, bytes: u64, formats: &[Format]) -> Option<(Kind, Option<&'static str>)> {
    if report::is_report(path) {
        return Some((Kind::Report, None));
    }
    let mut input = Input::open(path).ok()?;
    if hotset_results::begin(&mut input).unwrap_or(false) {
        return Some((Kind::Results, None));
    }
    let (format, confidence) = formats::recognise(&mut input, formats).ok()??;
    let least = if bytes < FEW { Confidence::Sure } else { Confidence::Likely };
    (confidence >= least).then_some((Kind::Trace, Some(format.name)))
}
