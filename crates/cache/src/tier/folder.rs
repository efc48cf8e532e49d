//! The directory of a tier: two files, which no other user may use or read.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use hotset_core::spec::Value;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, SeekFrom, Stat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::os::sync::Arc;
use crate::os::system;
use crate::source::{Source, Stamp};
use crate::tier::{TierError, record};

/// The files of a tier, which are this process's until it is dropped.
pub(super) struct Folder {
    pub data: Arc<dyn Source>,
    pub index: Arc<dyn Source>,
    /// The process that holds this lock owns the tier.
    pub lock: OwnedFd,
}

impl Folder {
    /// Opens the files in `path`, which is created if it is missing, with these sizes in bytes, for which space is
    /// reserved. Existing files are not changed before they are known to be a tier's.
    pub fn open(path: &Path, [data, index]: [u64; 2]) -> Result<Folder, TierError> {
        let lock = own(path)?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Err(TierError::InUse),
            locked => locked.map_err(|error| TierError::Folder(error.into()))?,
        }
        let there = |name| Ok::<_, TierError>(file(&lock, name, OFlags::empty())?.filter(has_data));
        match (there("index")?, there("blocks")?) {
            (Some(index), _) => record::check(&index)?,
            (None, Some(_)) => return Err(TierError::Blocks),
            (None, None) => {}
        }
        let made = |name| file(&lock, name, OFlags::CREATE)?.ok_or(TierError::NoFile(name));
        let (data, index) = ((made("blocks")?, data), (made("index")?, index));
        for (file, _) in [&data, &index] {
            // Others may have been given a right to it meanwhile.
            rustix::fs::fchmod(file, OWNERS).map_err(|error| TierError::Folder(error.into()))?;
        }
        make_room([&data, &index])?;
        let shared = |file: File| -> Arc<dyn Source> { Arc::new(OnDisk(file)) };
        Ok(Folder { data: shared(data.0), index: shared(index.0), lock })
    }
}

/// The rights of the files: their owner's alone.
const OWNERS: Mode = Mode::RUSR.union(Mode::WUSR);

/// The directory, which belongs to this user alone.
fn own(path: &Path) -> Result<OwnedFd, TierError> {
    match rustix::fs::mkdir(path, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(TierError::Folder(error.into())),
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
        Errno::NOTDIR | Errno::LOOP => TierError::NoDirectory,
        error => TierError::Folder(error.into()),
    })?;
    let about = rustix::fs::fstat(&folder).map_err(|error| TierError::Folder(error.into()))?;
    match is_own(&about) {
        true if about.st_mode & 0o077 == 0 => Ok(folder),
        true => Err(TierError::Open),
        false => Err(TierError::Others),
    }
}

fn is_own(about: &Stat) -> bool {
    about.st_uid == geteuid().as_raw()
}

/// A file in it; none if it is missing and was not to be made.
fn file(folder: &OwnedFd, name: &'static str, more: OFlags) -> Result<Option<File>, TierError> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | more;
    let failed = |error: Errno| match error {
        Errno::LOOP | Errno::ISDIR | Errno::NXIO => TierError::NoFile(name),
        error => TierError::File { name, source: error.into() },
    };
    let file = match rustix::fs::openat(folder, name, flags, OWNERS) {
        Err(Errno::NOENT) => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    let about = rustix::fs::fstat(&file).map_err(failed)?;
    let is_file = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile && about.st_nlink == 1;
    if is_file && is_own(&about) { Ok(Some(file.into())) } else { Err(TierError::NoFile(name)) }
}

/// True if it was ever written: a file that was only reserved has no data to lose.
fn has_data(file: &File) -> bool {
    file.metadata().map_or(true, |about| about.len() > 0)
        && !matches!(rustix::fs::seek(file, SeekFrom::Data(0)), Err(Errno::NXIO))
}

/// Gives the files the sizes that they are to have, with room on the disk for all of that.
fn make_room(files: [&(File, u64); 2]) -> Result<(), TierError> {
    const SECTOR: u64 = 512;
    let failed = |error: Errno| TierError::Room(error.into());
    let mut wanted = 0;
    for (file, bytes) in files {
        let about = rustix::fs::fstat(file).map_err(failed)?;
        if about.st_size as u64 > *bytes {
            rustix::fs::ftruncate(file, *bytes).map_err(failed)?;
        }
        wanted += bytes.saturating_sub(about.st_blocks as u64 * SECTOR);
    }
    let space = rustix::fs::fstatvfs(&files[0].0).map_err(failed)?;
    let free = space.f_bavail * space.f_frsize;
    if wanted > free {
        return Err(TierError::NoRoom { wanted: Value::Size(wanted), free: Value::Size(free) });
    }
    for (file, bytes) in files {
        system::reserve(file, *bytes).map_err(TierError::Room)?;
    }
    Ok(())
}

/// A file that the system's page cache need not keep: its data is read into memory of the cache.
struct OnDisk(File);

impl OnDisk {
    fn let_go(&self, offset: u64, bytes: usize) {
        // The page cache would take memory from others.
        system::let_go(&self.0, offset, bytes);
    }
}

impl Source for OnDisk {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = FileExt::read_at(&self.0, buffer, offset)?;
        self.let_go(offset, read);
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(&self.0, bytes, offset)
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        self.0.set_len(size)
    }

    fn stamp(&self) -> io::Result<Stamp> {
        self.0.stamp()
    }

    fn sync(&self, _data_only: bool) -> io::Result<()> {
        self.0.sync_data()?;
        self.let_go(0, 0);
        Ok(())
    }
}

/// A number that cannot be guessed.
pub(super) fn draw() -> io::Result<u64> {
    use std::io::Read;

    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}
