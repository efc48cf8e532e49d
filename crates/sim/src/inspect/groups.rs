//! Counts by application, by kind and by file.

use std::cmp::Reverse;

use hashbrown::HashMap;
use hotset_core::request::{Kind, Op, Request};
use hotset_trace::{FileInfo, Tables};
use serde::Serialize;

use super::RANKED;

/// The first of many, by references.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranked<T> {
    /// How many there are in all.
    pub total: u64,
    /// The [`RANKED`] most referenced, the first first.
    pub top: Vec<T>,
}

/// An application.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct App {
    /// Its name.
    pub name: String,
    /// Its requests, failed ones left out.
    pub requests: u64,
    /// Blocks it references.
    pub references: u64,
    /// Bytes it reads or maps.
    pub bytes_read: u64,
    /// Bytes it writes.
    pub bytes_written: u64,
}

/// A kind of thing that requests touch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Class {
    /// The kind (`inode`, `directory`, `datafile`…), or the trace's own word for it (`texture`).
    pub name: String,
    /// Requests, failed ones left out.
    pub requests: u64,
    /// Blocks referenced.
    pub references: u64,
    /// Bytes read or mapped.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct File {
    /// Its path or name.
    pub path: String,
    /// What it is.
    pub kind: &'static str,
    /// Its size in bytes; absent if not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Blocks of it referenced.
    pub references: u64,
    /// The same as a share of all references, 0 to 1.
    pub share: f64,
    /// Distinct blocks of it; absent when blocks were too many for the memory allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinct_blocks: Option<u64>,
    /// Requests that read or map it.
    pub read_requests: u64,
    /// Requests that write to it.
    pub write_requests: u64,
}

/// Consecutive references to one file.
pub(super) struct Share {
    pub file: u32,
    pub kind: u8,
    pub references: u64,
}

/// What is touched in a file: its kind, or the trace's own word for it.
pub(super) fn kind_name(tables: &Tables, file: u32, kind: Kind) -> &str {
    let label = tables.files.get(file as usize).map_or("", |info| &info.label);
    // A word for a file's data does not describe its inode.
    if label.is_empty() || kind == Kind::Inode { kind.name() } else { label }
}

#[derive(Default)]
pub(super) struct Groups {
    apps: HashMap<u32, Count>,
    files: HashMap<u32, FileCount>,
    kinds: HashMap<(u32, u8), Count>,
}

#[derive(Clone, Copy, Default)]
struct Count {
    requests: u64,
    references: u64,
    read: u64,
    written: u64,
}

#[derive(Clone, Copy, Default)]
struct FileCount {
    references: u64,
    distinct: u64,
    reads: u64,
    writes: u64,
}

impl Count {
    fn note(&mut self, request: &Request, continued: bool, references: u64) {
        let bytes = u64::from(request.length);
        self.requests += u64::from(!continued);
        self.references += references;
        match request.op() {
            Op::Read | Op::Map => self.read = self.read.saturating_add(bytes),
            Op::Write => self.written = self.written.saturating_add(bytes),
            _ => {}
        }
    }

    fn add(&mut self, other: &Count) {
        self.requests += other.requests;
        self.references += other.references;
        self.read = self.read.saturating_add(other.read);
        self.written = self.written.saturating_add(other.written);
    }
}

impl Groups {
    /// Counts a request that did not fail.
    pub fn note(&mut self, request: &Request, continued: bool, references: u64) {
        self.apps.entry(request.app).or_default().note(request, continued, references);
        self.kinds.entry((request.file, request.kind)).or_default().note(request, continued, references);
        let file = self.files.entry(request.file).or_default();
        file.references += references;
        match request.op() {
            Op::Read | Op::Map => file.reads += u64::from(!continued),
            Op::Write => file.writes += u64::from(!continued),
            _ => {}
        }
    }

    /// So many blocks of `file` were seen for the first time.
    pub fn note_new_blocks(&mut self, file: u32, blocks: u64) {
        if blocks > 0 {
            self.files.entry(file).or_default().distinct += blocks;
        }
    }

    /// By kind, or by the trace's own word for a file's kind; nothing if no kind is known.
    pub fn kinds(&self, tables: &Tables) -> Vec<Class> {
        let mut by_name: HashMap<&str, Count> = HashMap::new();
        for (&(file, kind), count) in &self.kinds {
            let name = kind_name(tables, file, Kind::from_number(kind).unwrap_or_default());
            by_name.entry(name).or_default().add(count);
        }
        if by_name.keys().all(|&name| name == Kind::Unknown.name()) {
            return Vec::new();
        }
        let mut classes: Vec<Class> = by_name
            .into_iter()
            .map(|(name, count)| Class {
                name: name.to_owned(),
                requests: count.requests,
                references: count.references,
                bytes_read: count.read,
                bytes_written: count.written,
            })
            .collect();
        classes.sort_by(|left, right| {
            let rank = |class: &Class| (Reverse(class.references), Reverse(class.requests));
            rank(left).cmp(&rank(right)).then_with(|| left.name.cmp(&right.name))
        });
        classes
    }

    /// The applications that make most references, or requests where nobody references blocks.
    pub fn apps(&self, tables: &Tables) -> Option<Ranked<App>> {
        if tables.apps.iter().all(String::is_empty) {
            return None;
        }
        let mut apps: Vec<(&u32, &Count)> = self.apps.iter().collect();
        apps.sort_unstable_by_key(|&(&app, count)| (Reverse(count.references), Reverse(count.requests), app));
        let top = apps.iter().take(RANKED).map(|&(&app, count)| App {
            name: tables.apps.get(app as usize).cloned().unwrap_or_else(|| format!("app {app}")),
            requests: count.requests,
            references: count.references,
            bytes_read: count.read,
            bytes_written: count.written,
        });
        Some(Ranked { total: apps.len() as u64, top: top.collect() })
    }

    /// The files whose blocks are referenced most.
    pub fn files(&self, tables: &Tables, references: u64, numbered: bool) -> Option<Ranked<File>> {
        if tables.files.iter().all(|file| file.path.is_empty()) {
            return None;
        }
        let mut files: Vec<(&u32, &FileCount)> = self.files.iter().collect();
        files.sort_unstable_by_key(|&(&file, count)| (Reverse(count.references), file));
        let referenced = files.iter().filter(|(_, count)| count.references > 0);
        let top = referenced.take(RANKED).map(|&(&file, count)| {
            let unknown = FileInfo::default();
            let info = tables.files.get(file as usize).unwrap_or(&unknown);
            File {
                path: if info.path.is_empty() { format!("file {file}") } else { info.path.clone() },
                kind: info.kind.name(),
                size_bytes: info.size,
                references: count.references,
                share: count.references as f64 / references as f64,
                distinct_blocks: numbered.then_some(count.distinct),
                read_requests: count.reads,
                write_requests: count.writes,
            }
        });
        Some(Ranked { total: files.len() as u64, top: top.collect() })
    }
}
