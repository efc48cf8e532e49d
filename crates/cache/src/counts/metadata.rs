//! Counts of requests that move no data. A host that serves files through the cache keeps names and attributes itself,
//! and counts here, so that they are shown with the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// A request that moves no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A name in a directory.
    Names,
    /// Attributes, extended ones included.
    Attributes,
    /// A file that is opened.
    Opens,
    /// A directory that is opened to be listed.
    Listings,
}

/// Requests about one thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Answers {
    /// Answered by what was known.
    pub known: u64,
    /// Asked of the source.
    pub asked: u64,
}

/// Counts of requests that move no data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// Names in directories.
    pub names: Answers,
    /// Attributes.
    pub attributes: Answers,
    /// Files that were opened.
    pub opens: Answers,
    /// Directories that were opened to be listed.
    pub listings: Answers,
    /// Files whose attributes are kept now.
    pub kept: u64,
    /// Files and directories that are kept open now, including those that no process has open.
    pub kept_open: u64,
    /// Times that a file was recognised by path, size and times, since the source had given it another inode number.
    pub renumbered: u64,
}

/// Where they are counted.
#[derive(Debug, Default)]
pub struct MetadataCounts {
    answers: [[AtomicU64; 2]; 4],
    /// Files whose attributes are kept.
    pub kept: Gauge,
    /// The files kept open.
    pub kept_open: Gauge,
    renumbered: AtomicU64,
}

impl MetadataCounts {
    /// Counts a request, which the source was asked for unless what it wants was `known`.
    pub fn count(&self, about: About, known: bool) {
        self.answers[about as usize][usize::from(known)].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a file that was recognised though it has another inode number.
    pub fn count_renumbered(&self) {
        self.renumbered.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts so far.
    pub fn get(&self) -> Metadata {
        let answers = |about: About| {
            let [asked, known] = &self.answers[about as usize];
            Answers { known: known.load(Ordering::Relaxed), asked: asked.load(Ordering::Relaxed) }
        };
        Metadata {
            names: answers(About::Names),
            attributes: answers(About::Attributes),
            opens: answers(About::Opens),
            listings: answers(About::Listings),
            kept: self.kept.get(),
            kept_open: self.kept_open.get(),
            renumbered: self.renumbered.load(Ordering::Relaxed),
        }
    }
}

/// How many of something there are now.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Arc<AtomicU64>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Kept(Gauge);

impl Gauge {
    /// There is one more.
    pub fn keep(&self) -> Kept {
        self.0.fetch_add(1, Ordering::Relaxed);
        Kept(self.clone())
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
