//! What the cache knows of files besides their blocks.

use std::sync::{Arc, Mutex, Weak};

use hotset_core::classify::FileFacts;
use hotset_core::request::Kind;

use crate::source::{Source, Stamp};

/// One file, under one number for as long as its contents go on.
#[derive(Debug)]
pub(crate) struct File {
    /// Its path when it was first met; it does not change when the file is renamed, so that its class does not.
    pub path: String,
    pub kind: Kind,
    /// What it was like after it was looked at last, or written here.
    pub stamp: Option<Stamp>,
    /// Through which it was read last, as long as that is open.
    pub source: Option<Weak<dyn Source>>,
    /// Writers that are at work here.
    pub writers: u32,
    /// Held by whoever changes the file: what is written first is also first in the cache.
    pub gate: Arc<Mutex<()>>,
}

impl File {
    pub fn new(path: String, kind: Kind) -> File {
        File { path, kind, stamp: None, source: None, writers: 0, gate: Arc::default() }
    }

    /// Its size, as far as it is known.
    pub fn size(&self) -> u64 {
        self.stamp.map_or(0, |stamp| stamp.size)
    }

    /// What classes go by.
    pub fn facts<'a>(&'a self, app: &'a str) -> FileFacts<'a> {
        FileFacts { path: &self.path, size: None, kind: self.kind, app }
    }
}
