//! What the kernel's page cache does with chosen files, as events: pages touched, folios added and removed.
//!
//! Idea: the kernel's tracepoints of the page cache tell every read (hit or miss), every first touch of a mapped page,
//! and what comes and goes. A [`Feed`] hands on those of watched files. No byte of a file passes through it, and
//! nothing stays in the kernel when it is dropped or its process killed.
//!
//! Offsets are pages of the machine (4 KiB on most), files are named as the kernel names them ([`FileId`]).

mod bpf;
mod clock;
mod error;
mod file;
mod kernel;
mod layout;
mod offer;
mod room;
mod scripted;
mod words;

use std::fmt;
use std::time::Duration;

pub use error::{Error, Result};
pub use file::FileId;
pub use offer::{Offer, Offers, Options, available, open};
pub use scripted::Scripted;

/// How pages were touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// By a read, hit or miss.
    Read,
    /// The page was missing from its process's mapping, and was asked for.
    Fault,
    /// The kernel mapped what it held around a fault, 16 pages at a time: one of these pages was asked for, the
    /// others may never be, and those that were not resident were left out.
    Around,
}

/// What happened in the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Pages were asked for.
    Touched {
        /// The file.
        file: FileId,
        /// Its first page.
        first: u64,
        /// How many.
        pages: u32,
        /// By a read or through a mapping.
        how: How,
        /// The process; 0 where it is not told (reads by stamps).
        process: u32,
    },
    /// A folio entered the page cache.
    Added {
        /// The file.
        file: FileId,
        /// Its first page.
        first: u64,
        /// How many: a power of two.
        pages: u32,
    },
    /// A folio left the page cache.
    Removed {
        /// The file.
        file: FileId,
        /// Its first page.
        first: u64,
        /// How many: a power of two.
        pages: u32,
    },
    /// So many events could not be told: what is resident has to be asked anew.
    Lost(u64),
}

impl Event {
    /// The file that it speaks of.
    pub fn file(&self) -> Option<FileId> {
        match *self {
            Event::Touched { file, .. } | Event::Added { file, .. } | Event::Removed { file, .. } => Some(file),
            Event::Lost(_) => None,
        }
    }
}

/// Events of the page cache, of watched files only.
pub trait Feed: Send {
    /// Tells of this file from now on; `size` in bytes. Touches behind that size are not told (a read may ask for more
    /// than there is), folios that are added there are: whoever hears of them watches the file again with its new size.
    ///
    /// # Errors
    ///
    /// The kernel holds no more files.
    fn watch(&mut self, file: FileId, size: u64) -> Result<()>;

    /// Tells nothing more of this file.
    fn unwatch(&mut self, file: FileId);

    /// Waits at most `timeout` for events and hands them on in order, each with its time in nanoseconds of
    /// `CLOCK_MONOTONIC`; returns how many. It gathers what comes close together, so that its caller may call it
    /// without end: one who waits for nothing costs nothing.
    ///
    /// # Errors
    ///
    /// The kernel's side is broken; the feed has to be opened anew.
    fn poll(&mut self, timeout: Duration, each: &mut dyn FnMut(u64, Event)) -> Result<usize>;

    /// Whether reads are to be told, which they are at first. While nobody wants them, a read of a resident page
    /// costs what it costs without a feed.
    ///
    /// # Errors
    ///
    /// The kernel refuses.
    fn reading(&mut self, wanted: bool) -> Result<()>;
}

/// Kinds of feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// BPF. Reads set a time per block; several of one block between two polls count once, with the last one's time.
    Stamps,
    /// BPF. An event each, in order.
    Ring,
    /// Trace events without BPF: dearer for every read on the machine, and more is lost under load.
    Tracefs,
}

impl Kind {
    /// All, best first.
    pub const ALL: [Kind; 3] = [Kind::Stamps, Kind::Ring, Kind::Tracefs];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Stamps => "stamps",
            Kind::Ring => "ring",
            Kind::Tracefs => "tracefs",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}
