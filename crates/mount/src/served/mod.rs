//! The seam between the kernel's requests and what is served: a directory, or objects of a store.
//!
//! Requests name files by the numbers that a look-up gave them, and what is open by its handle.

pub(crate) mod apps;
pub(crate) mod credentials;
pub(crate) mod handles;
pub(crate) mod listing;

use std::ffi::OsStr;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hotset_cache::workers::FailureDomain;
use hotset_cache::{FileCache, Upcoming};
use rustix::fs::{OFlags, RenameFlags, Stat, StatVfs, Timestamps};
use rustix::io::Errno;

use crate::Mode;
use crate::served::credentials::Caller;
use crate::served::handles::Data;
use crate::served::listing::Listed;

/// The number of the root.
pub(crate) const ROOT: u64 = 1;

/// The longest validity that FUSE can express.
pub(crate) const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);

/// The result of a look-up or of a creation.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub number: u64,
    pub stat: Stat,
    /// The time for which the kernel may keep the name's file.
    pub named: Duration,
    /// For how long it may believe the attributes.
    pub left: Duration,
}

/// How an open compares the file with the version last seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Taken from the cache: the source was not asked.
    Known,
    /// It is as it was.
    Same,
    /// It is not, or may not be.
    Other,
}

/// The kernel's permitted use of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// Keep nothing of it.
    Passing,
    /// Keep it, and drop what it has.
    New,
    /// Keep what it has.
    Known,
}

/// How long the kernel may use an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Validity {
    pub names: Duration,
    pub attributes: Duration,
    /// Of names that do not exist.
    pub nothing: Duration,
}

/// A change of attributes; `None` leaves one unchanged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub size: Option<u64>,
    pub times: Option<Timestamps>,
}

impl Attributes {
    pub fn is_empty(&self) -> bool {
        matches!(self, Attributes { mode: None, uid: None, gid: None, size: None, times: None })
    }
}

/// The requested mode of a new file, its kind included, and the caller's mask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewMode {
    pub mode: u32,
    pub umask: u32,
}

/// The work left when a handle is closed; it may wait for the source.
pub(crate) type Closing = Box<dyn FnOnce() + Send>;

/// A served file system. Each call may wait for the source, unless it says otherwise.
pub(crate) trait Served: Send + Sync {
    /// The cache, as long as it is fit for use. Never blocks.
    fn cache(&self) -> Option<&Arc<FileCache>>;
    /// Never blocks.
    fn mode(&self) -> Mode;
    /// The time for which the kernel may use an answer given now. Never blocks.
    fn validity(&self) -> Validity;
    /// True if metadata may be cached. Never blocks.
    fn believes(&self) -> bool;
    /// Refuses all opens from now on. Never blocks.
    fn stop(&self);
    /// True if nothing is open. Never blocks.
    fn is_idle(&self) -> bool;
    /// Failure domain of this inode. Never blocks.
    fn part(&self, number: u64) -> FailureDomain;
    /// Failure domain of a name in a directory. Never blocks.
    fn part_of(&self, parent: u64, name: &OsStr) -> FailureDomain;
    /// The data of an open file. Never blocks.
    fn data(&self, handle: u64) -> io::Result<Arc<Data>>;

    fn look_up(&self, parent: u64, name: &OsStr, caller: Caller) -> io::Result<Found>;
    /// The kernel forgets the file `times` times.
    fn forget(&self, number: u64, times: u64);
    /// The attributes, and for how long the kernel may believe them.
    fn stat(&self, number: u64) -> io::Result<(Stat, Duration)>;
    /// Opens a file; gives its handle.
    fn open(&self, number: u64, flags: u32, caller: Caller) -> io::Result<(u64, Seen)>;
    /// A file was opened to be read. Returns the files of the announced order that should be prefetched now.
    /// Never blocks.
    fn started(&self, handle: u64) -> Vec<Upcoming> {
        match (self.cache(), self.data(handle)) {
            (Some(cache), Ok(data)) if data.is_cached => {
                cache.started(data.number, self.open_files(), || self.path(handle))
            }
            _ => Vec::new(),
        }
    }
    /// The number of open files. Never blocks.
    fn open_files(&self) -> usize;
    /// The path of an open file in the source, as the cache names files. Never blocks.
    fn path(&self, handle: u64) -> String;
    /// Prefetches a file of the announced order. False if the limits do not allow it.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, or is not a regular file.
    fn prefetch(&self, upcoming: &Upcoming) -> io::Result<bool>;
    /// Closes the handle. Never blocks.
    fn release(self: Arc<Self>, handle: u64) -> Closing;
    /// Opens a directory; gives its handle.
    fn open_directory(&self, number: u64, caller: Caller) -> io::Result<(u64, Listing)>;
    /// Shows `take` the entries of a directory from a place on, until it takes one no more.
    fn list(
        &self,
        number: u64,
        handle: u64,
        place: u64,
        caller: Caller,
        take: &mut dyn FnMut(&Listed) -> bool,
    ) -> io::Result<()>;
    /// Closes the handle. Never blocks.
    fn release_directory(&self, handle: u64) -> Closing;
    fn space(&self, number: u64) -> io::Result<StatVfs>;

    fn read_link(&self, _number: u64) -> io::Result<Vec<u8>> {
        Err(Errno::INVAL.into())
    }

    /// Where data or a hole begins. The kernel takes it as it is answered here for all data, and asks no more.
    fn seek(&self, _handle: u64, _offset: u64, _is_hole: bool) -> io::Result<u64> {
        Err(Errno::NOSYS.into())
    }

    /// An extended attribute. The kernel takes it as it is answered here for none at all, and asks no more.
    fn xattr(&self, _number: u64, _name: &OsStr, _caller: Caller) -> io::Result<Vec<u8>> {
        Err(Errno::NOSYS.into())
    }

    fn xattrs(&self, _number: u64, _caller: Caller) -> io::Result<Vec<u8>> {
        Err(Errno::NOSYS.into())
    }

    fn set_xattr(&self, number: u64, name: &OsStr, value: &[u8], flags: u32, caller: Caller) -> io::Result<()>;

    fn remove_xattr(&self, number: u64, name: &OsStr, caller: Caller) -> io::Result<()>;

    /// Changes attributes, a size through what is `open`, if the kernel names a handle. Tells for how long the kernel
    /// may believe them.
    fn set_attributes(
        &self,
        number: u64,
        change: &Attributes,
        open: Option<u64>,
        caller: Caller,
    ) -> io::Result<(Stat, Duration)>;

    fn make_node(&self, parent: u64, name: &OsStr, mode: NewMode, device: u32, caller: Caller) -> io::Result<Found>;

    fn make_directory(&self, parent: u64, name: &OsStr, mode: NewMode, caller: Caller) -> io::Result<Found>;

    fn make_link(&self, parent: u64, name: &OsStr, target: &Path, caller: Caller) -> io::Result<Found>;

    fn link(&self, number: u64, parent: u64, name: &OsStr, caller: Caller) -> io::Result<Found>;

    fn unlink(&self, parent: u64, name: &OsStr, caller: Caller) -> io::Result<()>;

    fn remove_directory(&self, parent: u64, name: &OsStr, caller: Caller) -> io::Result<()>;

    fn rename(&self, from: (u64, &OsStr), to: (u64, &OsStr), flags: RenameFlags, caller: Caller) -> io::Result<()>;

    /// Makes and opens a file; gives its handle.
    fn create(
        &self,
        parent: u64,
        name: &OsStr,
        mode: NewMode,
        flags: u32,
        caller: Caller,
    ) -> io::Result<(Found, u64, Seen)>;

    /// Before a write by a user without the right to keep them: has the file lose the bits that let others run it with
    /// its owner's rights. True if it has any.
    fn drop_privileges(&self, _handle: u64) -> io::Result<bool> {
        Ok(false)
    }

    /// Writes; gives how many bytes, and where they begin if that is not at `offset`.
    fn write(
        &self,
        handle: u64,
        offset: u64,
        data: &[u8],
        flags: OFlags,
        may_wait: bool,
    ) -> io::Result<(usize, Option<u64>)>;

    fn allocate(&self, handle: u64, offset: u64, length: u64, mode: u32) -> io::Result<()>;

    fn flush(&self, handle: u64, caller: Caller) -> io::Result<()>;

    fn sync(&self, handle: u64, data_only: bool) -> io::Result<()>;

    fn sync_directory(&self, _handle: u64) -> io::Result<()> {
        Ok(())
    }

    /// True if an open with `O_TRUNC` cuts the file itself; else the kernel asks for that afterwards. Never blocks.
    fn cuts_at_open(&self) -> bool {
        false
    }

    /// Called after unmounting: closed files are completed, and open ones are given up.
    ///
    /// # Errors
    ///
    /// Something could not be completed in time; the sentence names it.
    fn end(&self) -> io::Result<()> {
        Ok(())
    }
}

impl dyn Served {
    /// Serves one request. A panic ends the use of the cache and that request, which is answered with an error, as it
    /// has no other answer; a read is answered by the source.
    pub fn contain(&self, serve: impl FnOnce(&dyn Served)) {
        match self.cache() {
            Some(cache) => drop(cache.contain(|| serve(self))),
            None => drop(catch_unwind(AssertUnwindSafe(|| serve(self)))),
        }
    }
}
