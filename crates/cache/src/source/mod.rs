//! What lies behind the cache: the bytes of open files.

pub(crate) mod files;

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::os::system;

/// Distinguishes versions of a file in a store: a time, a generation, an etag. Two versions are only compared for
/// equality.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version(u128);

impl From<u64> for Version {
    /// A generation: the number of a change.
    fn from(generation: u64) -> Version {
        Version(generation.into())
    }
}

impl From<&str> for Version {
    /// An etag, a checksum, or whatever a store calls it; kept as 128 bits of a hash.
    fn from(tag: &str) -> Version {
        let half = |which: u8| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u8(which);
            hasher.write(tag.as_bytes());
            u128::from(hasher.finish())
        };
        Version(half(0) << 64 | half(1))
    }
}

/// What tells whether a file was changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// Another one after each change of the bytes.
    pub data: Version,
    /// Another one after each change of whatever is known of the file, its bytes included. The same as `data` where a
    /// store has but one.
    pub all: Version,
    /// The file was changed so lately that it may change again and have the same versions.
    pub is_fresh: bool,
    /// The file's identity in the store, where it has one.
    pub file: Option<Identity>,
}

/// Which file of a store it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The same file for every reader at any time.
    Lasting(Version),
    /// The same file as long as this process runs.
    Passing(Version),
    /// An inode, of a stamp that is one [of times](Stamp::of_times). It lasts if that of its device do.
    Inode {
        /// As devices are numbered now.
        device: u64,
        /// Its number there.
        inode: u64,
    },
}

/// Which version of which file of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileVersion {
    pub file: u128,
    /// A later process can recognise it.
    pub lasts: bool,
    pub size: u64,
    pub data: u128,
    pub all: u128,
}

impl Stamp {
    /// The stamp of a store that has one version for all, and another one after every change.
    pub fn new(size: u64, version: Version) -> Stamp {
        Stamp { size, data: version, all: version, is_fresh: false, file: None }
    }

    /// The stamp of a file by the times at which its data, and data or inode, were changed last, in nanoseconds since
    /// 1970.
    pub fn of_times(size: u64, modified: i128, changed: i128) -> Stamp {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_fresh = changed > now.as_nanos() as i128 - COARSEST.as_nanos() as i128;
        Stamp { size, data: Version(modified as u128), all: Version(changed as u128), is_fresh, file: None }
    }

    /// The same stamp, of this file.
    pub fn of_file(self, file: Identity) -> Stamp {
        Stamp { file: Some(file), ..self }
    }

    /// Which version it is, if nothing else can have the same one. Inodes of `lasting` are the same files for ever.
    pub(crate) fn version(&self, lasting: Option<u64>) -> Option<FileVersion> {
        let (file, lasts) = match self.file.filter(|_| !self.is_fresh)? {
            Identity::Lasting(file) => (file.0, true),
            Identity::Passing(file) => (file.0, false),
            Identity::Inode { device, inode } if lasting == Some(device) && !self.is_in_whole_seconds() => {
                (u128::from(inode), true)
            }
            Identity::Inode { device, inode } => (u128::from(device) << 64 | u128::from(inode), false),
        };
        Some(FileVersion { file, lasts, size: self.size, data: self.data.0, all: self.all.0 })
    }

    /// Times of inodes that the kernel sets have fractions of a second, if the file system has these. Programs that
    /// make images of file systems give all files the same second, in each image that they make.
    fn is_in_whole_seconds(&self) -> bool {
        self.all.0.is_multiple_of(1_000_000_000)
    }

    /// True if the bytes are those that they were at the other stamp.
    fn has_data_of(&self, other: &Stamp) -> bool {
        (self.size, self.data) == (other.size, other.data)
    }

    /// True if nothing was changed since the other stamp, as far as stamps tell.
    pub fn is_same(&self, other: &Stamp) -> bool {
        self.has_data_of(other) && self.all == other.all
    }

    /// True if nothing was changed since the one before: they are the same, and that one was not taken so soon after a
    /// change that there may have been another one with the same times.
    pub fn is_still(&self, before: &Stamp) -> bool {
        self.is_same(before) && !before.is_fresh
    }

    /// The valid stamp of a file that had this stamp, or had it right before its inode was changed here, and has `now`
    /// after it; `None` if its bytes were changed, too, which another process did.
    pub fn after_own_change(&self, now: Stamp) -> Option<Stamp> {
        self.has_data_of(&now).then_some(now)
    }
}

/// The time that file systems with the coarsest times (FAT) do not divide further.
const COARSEST: Duration = Duration::from_secs(2);

/// An open file of the backing store. Every call may block, fail, and be made from several threads at once.
pub trait Source: Send + Sync {
    /// Reads bytes from `offset` on, perhaps fewer than fit; 0 only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Reads of the file that together take about as long as one: a few, or many where it is far away.
    fn reads_at_once(&self) -> usize {
        1
    }
    /// Writes bytes from `offset` on, perhaps fewer than given.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Appends bytes at the present end, perhaps fewer than given; returns their offset and number. Concurrent appends,
    /// also to the source itself, lose nothing, if the source supports that.
    fn append(&self, bytes: &[u8]) -> io::Result<(u64, usize)> {
        let end = self.stamp()?.size;
        Ok((end, self.write_at(bytes, end)?))
    }
    /// Cuts or extends the file.
    fn set_len(&self, size: u64) -> io::Result<()>;
    /// What tells whether it was changed.
    fn stamp(&self) -> io::Result<Stamp>;
    /// Makes all written data durable, the size too, before it returns; unless `data_only` also the other attributes
    /// (times, owner, mode). An implementation must not weaken this: callers rely on it.
    fn sync(&self, data_only: bool) -> io::Result<()>;
}

impl Source for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<(u64, usize)> {
        system::append(self, bytes)
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        File::set_len(self, size)
    }

    fn stamp(&self) -> io::Result<Stamp> {
        let about = self.metadata()?;
        let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let modified = nanos(about.mtime(), about.mtime_nsec());
        let stamp = Stamp::of_times(about.len(), modified, nanos(about.ctime(), about.ctime_nsec()));
        Ok(stamp.of_file(Identity::Inode { device: about.dev(), inode: about.ino() }))
    }

    fn sync(&self, data_only: bool) -> io::Result<()> {
        if data_only { self.sync_data() } else { self.sync_all() }
    }
}

/// Reads until `buffer` is full or the file ends; gives the bytes read.
pub fn read_full(source: &dyn Source, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match source.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Writes until all is written or writing fails; gives the bytes written, or the error if there were none.
pub fn write_full(source: &dyn Source, bytes: &[u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match source.write_at(&bytes[done..], offset + done as u64) {
            Ok(0) if done == 0 => return Err(io::ErrorKind::WriteZero.into()),
            Ok(0) => break,
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if done == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(done)
}
