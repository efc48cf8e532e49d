//! Counts by application, by kind and by file.

use std::cmp::Reverse;

use hashbrown::HashMap;
use hotset_core::request::{FLAG_EXECUTABLE, FLAG_TOUCHED, Kind, Op, Request};
use hotset_trace::{Addressing, FileInfo, Meta, Tables};
use serde::Serialize;

use super::{By, RankedBy};
use crate::error::SimError;

/// The first of many, by references.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranked<T> {
    /// How many there are in all.
    pub total: u64,
    /// The most referenced, the first first.
    pub top: Vec<T>,
}

/// Requests that have something in common: their application, or the kind of what they touch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// What that is called: a kind as `inode`, `directory`, `datafile`…, or the trace's own word for it (`texture`).
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
    /// The kind.
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
    /// It was mapped.
    pub is_mapped: bool,
}

/// Mapped data files of which the trace does not hold all touches. Mapped programs and libraries are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unseen {
    /// Number of files.
    pub files: u64,
    /// Their mapped bytes, each counted once.
    pub bytes: u64,
    /// Bytes of their blocks among the references: first touches, or reads.
    pub referenced_bytes: u64,
    /// The file with most of these bytes.
    pub largest: String,
}

/// References to consecutive blocks of one file.
pub(super) struct Share {
    pub file: u32,
    pub kind: u8,
    /// The number in its file of the first block; an object's id is its only number.
    pub first: u64,
    pub references: u64,
}

/// Returns the kind of a file, or the label that the trace has for it.
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
    /// By id, if objects are counted.
    objects: Option<HashMap<u64, Count>>,
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
    /// It was mapped, and executable.
    is_mapped: bool,
    is_program: bool,
    /// End of the mappings without a reference.
    unseen: u64,
}

impl Count {
    fn note(&mut self, request: &Request, continued: bool, references: u64) {
        let bytes = u64::from(request.length);
        self.requests += u64::from(!continued);
        self.references += references;
        match request.op() {
            // Every table omits a mapping that is not a reference.
            Op::Map if references == 0 => {}
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
    /// Empty counts. Objects are counted separately only if `objects` is set.
    pub fn new(objects: bool) -> Groups {
        Groups { objects: objects.then(HashMap::new), ..Groups::default() }
    }

    /// Counts a request that did not fail.
    pub fn note(&mut self, request: &Request, continued: bool, references: u64) {
        self.apps.entry(request.app).or_default().note(request, continued, references);
        self.kinds.entry((request.file, request.kind)).or_default().note(request, continued, references);
        if let Some(objects) = &mut self.objects {
            objects.entry(request.offset).or_default().note(request, continued, references);
        }
        let file = self.files.entry(request.file).or_default();
        file.references += references;
        match request.op() {
            Op::Map if references == 0 => {}
            Op::Read | Op::Map => file.reads += u64::from(!continued),
            Op::Write => file.writes += u64::from(!continued),
            _ => {}
        }
        file.is_program |= request.flags & FLAG_EXECUTABLE != 0 || request.kind == Kind::Executable as u8;
        if request.op() == Op::Map {
            file.is_mapped = true;
            if request.flags & FLAG_TOUCHED == 0 && references == 0 {
                file.unseen = file.unseen.max(request.offset.saturating_add(request.length.into()));
            }
        }
    }

    /// Mapped data of which not every touch is a reference, if there is any. Blocks have `block_bytes`.
    pub fn unseen(&self, tables: &Tables, block_bytes: u64) -> Option<Unseen> {
        let files = || self.files.iter().filter(|(_, count)| !count.is_program && count.unseen > 0);
        let (&largest, _) = files().max_by_key(|&(&file, count)| (count.unseen, Reverse(file)))?;
        let path = tables.files.get(largest as usize).map_or("", |info| info.path.as_str());
        Some(Unseen {
            files: files().count() as u64,
            bytes: files().map(|(_, count)| count.unseen).fold(0, u64::saturating_add),
            referenced_bytes: files().map(|(_, count)| count.distinct * block_bytes).fold(0, u64::saturating_add),
            largest: if path.is_empty() { format!("file {largest}") } else { path.to_owned() },
        })
    }

    /// So many blocks of `file` were seen for the first time.
    pub fn note_new_blocks(&mut self, file: u32, blocks: u64) {
        if blocks > 0 {
            self.files.entry(file).or_default().distinct += blocks;
        }
    }

    /// By kind, or by the trace's own word for a file's kind; nothing if no kind is known.
    pub fn kinds(&self, tables: &Tables) -> Vec<Group> {
        let is_unknown = |name: &str| name == Kind::Unknown.name();
        let kinds = self.by_file(|file, kind| kind_name(tables, file, kind));
        if kinds.keys().all(|name| is_unknown(name)) { Vec::new() } else { first(kinds, usize::MAX).top }
    }

    /// Counts of files that have something in common.
    fn by_file<'a>(&self, name: impl Fn(u32, Kind) -> &'a str) -> HashMap<&'a str, Count> {
        let mut by_name: HashMap<&str, Count> = HashMap::new();
        for (&(file, kind), count) in &self.kinds {
            by_name.entry(name(file, Kind::from_number(kind).unwrap_or_default())).or_default().add(count);
        }
        by_name
    }

    /// Returns the applications with the most references, or the most requests if the trace has no references.
    pub fn apps(&self, tables: &Tables, top: usize) -> Option<Ranked<Group>> {
        let is_named = tables.apps.iter().any(|name| !name.is_empty());
        let name = |app: u32| tables.apps.get(app as usize).cloned().unwrap_or_else(|| format!("app {app}"));
        // Two applications may have one name.
        is_named.then(|| first(self.apps.iter().map(|(&app, count)| ((name(app), app), *count)), top))
    }

    /// What references most blocks by what was asked for. Fails where the trace does not tell that.
    pub fn ranked(&self, by: By, meta: &Meta, tables: &Tables, top: usize) -> Result<RankedBy, SimError> {
        let has_paths = tables.files.iter().any(|file| !file.path.is_empty());
        let path = |file: u32| tables.files.get(file as usize).map_or("", |info| info.path.as_str());
        let refused = |why| Err(SimError::NotRanked { by: by.name(), why });
        let groups = match by {
            By::File | By::Dir if !has_paths => return refused("the trace does not name files"),
            By::File => first(self.by_file(|file, _| path(file)), top),
            By::Dir => first(self.by_file(|file, _| directory(path(file))), top),
            By::App => match self.apps(tables, top) {
                Some(apps) => apps,
                None => return refused("the trace does not name applications"),
            },
            By::Class => first(self.by_file(|file, kind| kind_name(tables, file, kind)), top),
            By::Object if meta.addressing != Addressing::Objects => {
                return refused("the trace has offsets in files or on devices, not objects");
            }
            By::Object => first(self.objects.iter().flatten().map(|(&id, count)| (id, *count)), top),
        };
        Ok(RankedBy { by, groups })
    }

    /// The files whose blocks are referenced most.
    pub fn files(&self, tables: &Tables, references: u64, numbered: bool, top: usize) -> Option<Ranked<File>> {
        if tables.files.iter().all(|file| file.path.is_empty()) {
            return None;
        }
        let mut files: Vec<(&u32, &FileCount)> = self.files.iter().collect();
        files.sort_unstable_by_key(|&(&file, count)| (Reverse(count.references), file));
        let referenced = files.iter().filter(|(_, count)| count.references > 0);
        let top = referenced.take(top).map(|&(&file, count)| {
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
                is_mapped: count.is_mapped,
            }
        });
        Some(Ranked { total: files.len() as u64, top: top.collect() })
    }
}

/// The directory that a file is in.
fn directory(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((directory, _)) => directory,
        None => ".",
    }
}

/// A name to sort groups by, and to show them by.
trait Name: Ord {
    fn shown(self) -> String;
}

impl Name for &str {
    fn shown(self) -> String {
        self.to_owned()
    }
}

impl Name for u64 {
    fn shown(self) -> String {
        self.to_string()
    }
}

impl Name for (String, u32) {
    fn shown(self) -> String {
        self.0
    }
}

/// The first of some groups by references, requests and name.
fn first<N: Name>(groups: impl IntoIterator<Item = (N, Count)>, top: usize) -> Ranked<Group> {
    let mut groups: Vec<(N, Count)> = groups.into_iter().collect();
    groups.sort_unstable_by(|(left_name, left), (right_name, right)| {
        let rank = |count: &Count| (Reverse(count.references), Reverse(count.requests));
        rank(left).cmp(&rank(right)).then_with(|| left_name.cmp(right_name))
    });
    let total = groups.len() as u64;
    let group = |(name, count): (N, Count)| Group {
        name: name.shown(),
        requests: count.requests,
        references: count.references,
        bytes_read: count.read,
        bytes_written: count.written,
    };
    Ranked { total, top: groups.into_iter().take(top).map(group).collect() }
}
