//! A file system that serves a directory, or objects of a store, through the cache.
//!
//! Every call is passed on to the source; only reads and writes of data go through the cache. [`Tree`](tree::Tree) does
//! not depend on FUSE; `fuse/kernel.rs` translates the kernel's requests to calls of [`Served`](served::Served), and
//! nothing else uses that protocol; `fuse/session.rs` mounts and unmounts. [`Objects`](objects::Objects) serves a
//! directory of an object store.
//!
//! Modes. *strict*: the kernel keeps no data of files that are read and written, so every read reaches the cache,
//! counts are exact, and the policy alone decides which blocks stay. *fast*: the kernel's page cache sits in front; the
//! cache sees its misses. *steered*: the kernel's page cache is the only cache, and another program decides which pages
//! stay: it receives each [`Change`] of files and has pages dropped ([`Dropper`]). Mapped files go through the page
//! cache in all modes.
//!
//! A mount by root checks permissions twice: the kernel does so before it sends a request, against owner, mode and
//! access lists of the source's files, and the source does so again, since every call that creates, opens, changes or
//! removes something uses the caller's credentials (`served/credentials.rs`). Locks are the kernel's: they hold between
//! users of the mount, not against users of the source. [`Staleness`] bounds the age of names and attributes that were
//! changed behind the mount.

mod fuse;
mod objects;
mod served;
mod source;
mod tree;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

pub use fuse::dropping::Dropper;
pub use fuse::session::{Mounted, Stopper, mount, mount_objects};
pub use served::apps::AppBy;
pub use source::direct::PastCache;
pub use source::lasting::{FileSystemId, is_remote};
pub use source::table::{Device, device_at, mount_line, mountpoint};
pub use tree::writing::write_all;

use hotset_cache::source::Source;

/// So long the kernel may keep names and attributes unless asked otherwise.
pub const VALIDITY: Duration = Duration::from_secs(1);

/// The cache in front of this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nothing: every read reaches the cache.
    #[default]
    Strict,
    /// The kernel's page cache.
    Fast,
    /// The kernel's page cache, and nothing behind it: mounted without a cache, best with [`PastCache`].
    Steered,
}

/// An event for the program that decides which pages the kernel keeps of a mount's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A file is opened for the first time, before anything of it is read, or has another size.
    Is {
        /// Its inode in the mount.
        inode: u64,
        /// Where it is in the source; the first time only.
        path: Option<PathBuf>,
        /// Its size.
        bytes: u64,
    },
    /// The kernel has forgotten it, and every page of it.
    Gone {
        /// Its inode in the mount.
        inode: u64,
    },
}

/// How old may be what is known beside the data of files: names, names that do not exist, attributes with owner, mode
/// and access lists, listings, and whether a file that is opened is what it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Staleness {
    /// Names and attributes may be [`VALIDITY`] old; each open asks the source whether the file is what it was, and
    /// whatever else is asked is asked of the source.
    #[default]
    Open,
    /// Nothing is asked again for so long after it was asked. Without a cache the same as [`Open`](Staleness::Open).
    For(Duration),
    /// The source is asked each time.
    Revalidate,
}

/// How a directory is to be served.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The cache in front.
    pub mode: Mode,
    /// How applications are distinguished.
    pub app_by: AppBy,
    /// How old what is known may be.
    pub staleness: Staleness,
    /// The longest time for which written data may stay dirty in the cache before it goes to the source.
    pub write_back: Option<Duration>,
    /// Nothing may be changed.
    pub readonly: bool,
    /// Set-user-id programs run with their owner's rights. Only in a mount by root, and if the source's file system
    /// lets them.
    pub allow_suid: bool,
    /// Device files are devices. Likewise.
    pub allow_dev: bool,
    /// Other users may read objects of a store, too.
    pub allow_other: bool,
    /// So long unmounting waits for what is being sent to a store, from when it was [asked to end](Stopper::refuse).
    pub stop_timeout: Option<Duration>,
    /// Receives the files whose pages the kernel keeps, where another program decides about them.
    pub told: Option<Sender<Change>>,
}

/// Gives the bytes of files that have been opened: the seam for stores that are slow or fail on purpose.
pub trait Store: Send + Sync {
    /// The bytes of `file`.
    fn open(&self, file: Arc<File>) -> Arc<dyn Source>;
}

/// The files themselves.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Store for Plain {
    fn open(&self, file: Arc<File>) -> Arc<dyn Source> {
        file
    }
}
