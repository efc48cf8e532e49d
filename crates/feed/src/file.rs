//! Files as the kernel names them.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

/// Bits of a minor number in the kernel's encoding of a device.
const MINOR_BITS: u32 = 20;

/// A file as the kernel's events name it.
///
/// On file systems that give each subvolume or layer a separate device (btrfs, overlayfs) the events name another
/// device than `stat` does; a file that is watched by the numbers of `stat` then has no events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    /// The device of its file system, in the kernel's own encoding: the major number above 20 bits of the minor one.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
}

impl FileId {
    /// The file of this inode on a device as `stat` gives it.
    pub fn from_stat(st_dev: u64, st_ino: u64) -> FileId {
        let (major, minor) = (rustix::fs::major(st_dev), rustix::fs::minor(st_dev));
        FileId { device: u64::from(major) << MINOR_BITS | u64::from(minor), inode: st_ino }
    }

    /// An open file.
    ///
    /// # Errors
    ///
    /// Its attributes cannot be read.
    pub fn of(file: &File) -> io::Result<FileId> {
        let metadata = file.metadata()?;
        Ok(FileId::from_stat(metadata.dev(), metadata.ino()))
    }

    /// The device as `stat` gives it.
    pub fn st_dev(self) -> u64 {
        let (major, minor) = (self.device >> MINOR_BITS, self.device & ((1 << MINOR_BITS) - 1));
        rustix::fs::makedev(major as u32, minor as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_go_there_and_back() {
        let nvme = FileId::from_stat(0x1_0302, 12);
        assert_eq!(nvme, FileId { device: 259 << 20 | 2, inode: 12 });
        for (major, minor) in [(0, 45), (8, 1), (259, 2), (254, 0x7_ffff), (4095, 0xf_ffff)] {
            let st_dev = rustix::fs::makedev(major, minor);
            let id = FileId::from_stat(st_dev, 1);
            assert_eq!(id.device, u64::from(major) << 20 | u64::from(minor));
            assert_eq!(id.st_dev(), st_dev);
        }
    }

    #[test]
    fn an_open_file_has_an_id() {
        let file = tempfile::tempfile().unwrap();
        let id = FileId::of(&file).unwrap();
        assert_eq!((id.st_dev(), id.inode), (file.metadata().unwrap().dev(), file.metadata().unwrap().ino()));
    }
}
