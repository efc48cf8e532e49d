//! The cache's state of files besides their blocks.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut, Range};

use hotset_core::classify::FileFacts;
use hotset_core::request::Kind;

use crate::os::sync::{Arc, Mutex, Weak};
use crate::source::{Source, Stamp};

/// Number of a file known to the cache.
pub type FileNumber = u32;

/// One file, under one number for as long as its contents go on.
#[derive(Debug)]
pub(crate) struct File {
    /// Its path when it was first met; it does not change when the file is renamed, so that its class does not.
    pub path: String,
    pub kind: Kind,
    /// The file's stamp after it was last checked, or written here.
    pub stamp: Option<Stamp>,
    /// It is being written here, or was since its last open. A concurrent write by another process does not show in
    /// `stamp`: there is one time of the last change, and it is that of the write here.
    pub in_doubt: bool,
    /// A prefetch has found another version than the last open: the next open must not take it for the same.
    pub changed_unseen: bool,
    /// Through which it was read last, as long as that is open.
    pub source: Option<Weak<dyn Source>>,
    /// Where it ends once all is written that waits; 0 if nothing does.
    pub end: u64,
    /// Writers that are at work here.
    pub writers: u32,
    /// Held during a change of the file: writes reach the cache in the order of the source.
    pub gate: Arc<Mutex<()>>,
}

impl File {
    pub fn new(path: String, kind: Kind) -> File {
        File {
            path,
            kind,
            stamp: None,
            in_doubt: false,
            changed_unseen: false,
            source: None,
            end: 0,
            writers: 0,
            gate: Arc::default(),
        }
    }

    /// Its size, as far as it is known.
    pub fn size(&self) -> u64 {
        self.stamp.map_or(0, |stamp| stamp.size).max(self.end)
    }

    /// True if bytes in `range` are behind what the source takes for its end, but not behind the end.
    pub fn has_grown(&self, range: &Range<u64>) -> bool {
        self.stamp.is_none_or(|stamp| range.end > stamp.size && self.end > stamp.size)
    }

    /// Takes note of the source through which it is read now.
    pub fn read_through(&mut self, source: &Arc<dyn Source>) {
        // While it is known its place is not another one's.
        let is_known = self.source.as_ref().is_some_and(|known| std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(source)));
        if !is_known {
            self.source = Some(Arc::downgrade(source));
        }
    }

    /// What classes go by.
    pub fn facts<'a>(&'a self, app: &'a str) -> FileFacts<'a> {
        FileFacts { path: &self.path, size: None, kind: self.kind, app }
    }
}

/// Files by number. A number that is free is given out again as late as may be.
#[derive(Debug, Default)]
pub(crate) struct Files {
    known: Vec<File>,
    free: VecDeque<FileNumber>,
}

impl Files {
    /// Gives a file a number.
    pub fn add(&mut self, path: &str, kind: Kind) -> FileNumber {
        let file = File::new(path.to_owned(), kind);
        match self.free.pop_front() {
            Some(number) => {
                self[number as usize] = file;
                number
            }
            None => {
                self.known.push(file);
                (self.known.len() - 1) as FileNumber
            }
        }
    }

    /// The number, which is a file's now, is free.
    pub fn forget(&mut self, number: FileNumber) {
        self[number as usize] = File::new(String::new(), Kind::Other);
        self.free.push_back(number);
    }

    /// All files; a free number has one without a path.
    pub fn all(&self) -> &[File] {
        &self.known
    }

    /// Numbers that are files'.
    pub fn len(&self) -> usize {
        self.known.len() - self.free.len()
    }
}

impl Index<usize> for Files {
    type Output = File;

    fn index(&self, number: usize) -> &File {
        &self.known[number]
    }
}

impl IndexMut<usize> for Files {
    fn index_mut(&mut self, number: usize) -> &mut File {
        &mut self.known[number]
    }
}
