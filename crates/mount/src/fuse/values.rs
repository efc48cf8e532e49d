//! Values of the FUSE protocol: kinds of files, attributes, times, device numbers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, INodeNo, TimeOrNow};
use rustix::fs::{FileType, Stat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

/// Kinds of files in both languages.
const KINDS: [(FileType, fuser::FileType); 7] = [
    (FileType::RegularFile, fuser::FileType::RegularFile),
    (FileType::Directory, fuser::FileType::Directory),
    (FileType::Symlink, fuser::FileType::Symlink),
    (FileType::Fifo, fuser::FileType::NamedPipe),
    (FileType::Socket, fuser::FileType::Socket),
    (FileType::CharacterDevice, fuser::FileType::CharDevice),
    (FileType::BlockDevice, fuser::FileType::BlockDevice),
];

pub(crate) fn kind(kind: FileType) -> fuser::FileType {
    let known = KINDS.iter().find(|(known, _)| *known == kind);
    known.map_or(fuser::FileType::RegularFile, |&(_, kind)| kind)
}

pub(crate) fn attributes(number: u64, stat: &Stat) -> FileAttr {
    let device = stat.st_rdev;
    FileAttr {
        ino: INodeNo(number),
        size: stat.st_size as u64,
        blocks: stat.st_blocks as u64,
        atime: time(stat.st_atime, stat.st_atime_nsec),
        mtime: time(stat.st_mtime, stat.st_mtime_nsec),
        ctime: time(stat.st_ctime, stat.st_ctime_nsec),
        crtime: UNIX_EPOCH,
        kind: kind(FileType::from_raw_mode(stat.st_mode)),
        perm: (stat.st_mode & 0o7777) as u16,
        nlink: stat.st_nlink as u32,
        uid: stat.st_uid,
        gid: stat.st_gid,
        rdev: encoded_device(device),
        blksize: stat.st_blksize as u32,
        flags: 0,
    }
}

/// The attributes that represent a missing file.
pub(crate) fn no_attributes() -> FileAttr {
    FileAttr {
        ino: INodeNo(0),
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: fuser::FileType::RegularFile,
        perm: 0,
        nlink: 0,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 0,
        flags: 0,
    }
}

/// A time by its seconds, perhaps before 1970, and the nanoseconds behind them, whose type differs from system to
/// system.
fn time(seconds: i64, nanos: impl TryInto<u32>) -> SystemTime {
    let nanos = Duration::from_nanos(nanos.try_into().unwrap_or_default().into());
    match u64::try_from(seconds) {
        Ok(seconds) => UNIX_EPOCH + Duration::from_secs(seconds) + nanos,
        Err(_) => UNIX_EPOCH - Duration::from_secs(seconds.unsigned_abs()) + nanos,
    }
}

/// A device number as the kernel writes it into 32 bits.
fn encoded_device(device: u64) -> u32 {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

/// The device number out of those 32 bits.
pub(crate) fn decoded_device(device: u32) -> u32 {
    let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xf_ff00));
    rustix::fs::makedev(major, minor) as u32
}

pub(crate) fn timestamps(accessed: Option<TimeOrNow>, modified: Option<TimeOrNow>) -> Option<Timestamps> {
    let spec = |time: Option<TimeOrNow>| match time {
        None => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        Some(TimeOrNow::Now) => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        Some(TimeOrNow::SpecificTime(time)) => timespec(time),
    };
    (accessed.is_some() || modified.is_some())
        .then(|| Timestamps { last_access: spec(accessed), last_modification: spec(modified) })
}

fn timespec(time: SystemTime) -> Timespec {
    let (seconds, nanos) = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (after.as_secs() as i64, after.subsec_nanos()),
        // fuser 0.18 takes the nanoseconds of such a time off as well, instead of adding them: taken apart as it was
        // put together it is what was sent.
        Err(before) => (-(before.duration().as_secs() as i64), before.duration().subsec_nanos()),
    };
    Timespec { tv_sec: seconds, tv_nsec: nanos.into() }
}
