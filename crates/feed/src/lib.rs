//! Events of the kernel's page cache for chosen files: pages touched, folios added and removed.
//!
//! Idea: the kernel's tracepoints of the page cache report every read (hit or miss), every first touch of a mapped
//! page, and added and removed folios; if a kernel has none for touches, programs are attached to the functions that
//! perform them. A [`Feed`] delivers the events of watched files. No data of a file passes through it. Nothing stays in
//! the kernel when it is dropped, nor, with BPF, when its process is killed; state that a killed process left in
//! tracefs is removed by the next one that opens a feed there.
//!
//! ```
//! use std::time::Duration;
//! use hotset_feed::{Event, Feed, FileId, How, Scripted};
//!
//! let own = FileId::of(&std::fs::File::open("/proc/self/exe")?)?;
//! let touched = Event::Touched { file: own, first: 0, pages: 16, how: How::Read, process: 1 };
//! // A real feed: `open(Kind::Stamps, &FeedOptions::default())?`; this one needs no rights.
//! let mut feed = Scripted::new([vec![(1_000, touched)]]);
//! feed.watch(own, 1 << 20)?;
//!
//! let mut pages = 0;
//! feed.poll(Duration::from_millis(100), &mut |_nanoseconds, event| match event {
//!     Event::Touched { pages: more, .. } => pages += more,
//!     Event::Added { .. } | Event::Removed { .. } => {}
//!     Event::Lost(events) => panic!("{events} events were lost: the resident pages must be read again"),
//! })?;
//! assert_eq!(pages, 16);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Offsets are pages of the machine (4 KiB on most), files have the kernel's names ([`FileId`]).
//!
//! Rights: root, or CAP_BPF, CAP_PERFMON and CAP_DAC_READ_SEARCH (the kernel's list of events belongs to root); for
//! tracefs root.
//!
//! Cost (`examples/read_cost.rs`, Linux 6.18, two idle processors, medians of nine rounds): a read of 4 KiB that is
//! resident took 0.67 µs of processor time, 0.84 while a feed is open for another file, 0.91 by stamps, 0.94 by the
//! ring and 0.99 by tracefs; 0.70 while reads are not reported. A feed of uninterrupted reads of 4 KiB took 1.1 % of a
//! processor by stamps, 2.1 % by the ring and 75 % by tracefs; without events less than 0.02 %.

#[cfg(feature = "bpf")]
mod bpf;
pub mod calls;
mod clock;
mod error;
mod file;
mod page_cache;
mod scripted;

use std::fmt;
use std::time::Duration;

pub use clock::now;
pub use error::{Error, Result};
pub use file::FileId;
pub use page_cache::{Offer, Offers, available, open};
pub use scripted::Scripted;

/// The reason of refusals in a build without the feature `bpf`.
#[cfg(not(feature = "bpf"))]
const ABSENT: &str = "this build has no BPF: build hotset with the feature `bpf`";

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
    /// So many events were lost: the resident pages must be read again.
    Lost(u64),
}

impl Event {
    /// The file of the event.
    pub fn file(&self) -> Option<FileId> {
        match *self {
            Event::Touched { file, .. } | Event::Added { file, .. } | Event::Removed { file, .. } => Some(file),
            Event::Lost(_) => None,
        }
    }
}

/// Events of the page cache, of watched files only.
pub trait Feed: Send {
    /// Watches this file from now on; `size` in bytes. Touches behind that size are not reported (a read may request
    /// more than there is), but added folios are: the receiver then watches the file again with its new size.
    ///
    /// # Errors
    ///
    /// The kernel holds no more files.
    fn watch(&mut self, file: FileId, size: u64) -> Result<()>;

    /// Watches every file of this device from now on, whether it is watched separately or not. Files that are not
    /// watched separately are reported one touch at a time, and past their ends (a read may request more than there
    /// is). This is for devices whose files cannot be named in advance.
    ///
    /// # Errors
    ///
    /// As of [`watch`](Feed::watch).
    fn watch_device(&mut self, device: u64) -> Result<()>;

    /// Tells nothing more of this file; if its device is watched, no more than of others there.
    fn unwatch(&mut self, file: FileId);

    /// Waits at most `timeout` for events and delivers them in order, each with its time in nanoseconds of
    /// `CLOCK_MONOTONIC`; returns their number. It collects events that are close together, so it can be called in a
    /// loop: without events it costs nothing.
    ///
    /// # Errors
    ///
    /// The kernel side is broken; the feed must be opened again.
    fn poll(&mut self, timeout: Duration, each: &mut dyn FnMut(u64, Event)) -> Result<usize>;

    /// Whether reads are reported, which is so at first. While they are not, a read of a resident page costs as much as
    /// without a feed.
    ///
    /// # Errors
    ///
    /// The kernel refuses.
    fn reading(&mut self, wanted: bool) -> Result<()>;
}

/// How a feed is to be.
#[derive(Clone, Copy, Debug)]
pub struct FeedOptions {
    /// Bytes of the buffer between the kernel and this process; a power of two of at least a page.
    pub buffer: usize,
    /// Blocks that may have a stamp each; touches of files that find no room among them come one by one.
    pub stamps: u64,
    /// Pages of a block that has one stamp, a power of two. 1 tells each page.
    pub pages_per_stamp: u32,
    /// Files that may be watched at a time.
    pub files: u32,
}

impl Default for FeedOptions {
    /// 32 MiB of buffer, stamps for 16 GiB of pages (32 MiB).
    fn default() -> FeedOptions {
        FeedOptions { buffer: 32 << 20, stamps: 4 << 20, pages_per_stamp: 1, files: 1 << 18 }
    }
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
