//! Whether the files of a directory are known again by a later mount, so that what was kept of them may be used then.
//!
//! A file is identified by its inode and the times of its last change. That identifies one file for ever only where an
//! inode's number is part of the file system, and where the kernel itself sets the time of the last change, which no
//! program can choose. Images that are made by a program (squashfs, erofs, ISO 9660) have the numbers and the times
//! that it gives them, in each image the same; FUSE, 9p and the file systems of Windows servers may number files as
//! they are looked up. A file system that is not known here is treated as one of these.

use std::io;
use std::path::Path;

use crate::source::table::{device_at, mount_line};

/// Where files are.
#[derive(Clone, Debug)]
pub struct FileSystemId {
    /// The device of their inodes, as it is numbered now.
    pub device: u64,
    /// Identifies the file system across mounts; `None` if its files cannot be recognised later.
    pub name: Option<String>,
}

/// File systems that give each of their own kind an id (statfs(2), `f_fsid`), by `f_type`.
const LASTING: [(u32, &str); 5] = [
    // An inode is a place in tables on the disk; the id is made from the UUID.
    (0xef53, "ext"),
    // The same; the id is the number of the disk. Times of two file systems on one disk are never the same.
    (0x5846_5342, "xfs"),
    // Numbers are given once; the id is made from UUID and subvolume. Another subvolume is another device.
    (0x9123_683e, "btrfs"),
    // The same, by file system of a pool.
    (0x2fc1_2fc1, "zfs"),
    // Nothing of it outlives its mount, and each has an id that is drawn (since Linux 5.13; before it has none).
    (0x0102_1994, "tmpfs"),
];

/// File systems whose files are on other machines, or are served by a program: each request takes a round trip.
const REMOTE: [u32; 10] = [
    NFS,
    0x6573_5546, // FUSE
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB 2 and later
    0x0102_1997, // 9P
    0x00c3_6400, // Ceph
    0x5346_414f, // AFS
    0x0bd0_0bd0, // Lustre
    0x6b41_4653, // the kernel's AFS
    0x1979_0112, // BeeGFS
];

/// True if each request to the file system of `directory` takes a round trip to another machine or to a program.
///
/// # Errors
///
/// The directory cannot be looked at.
pub fn is_remote(directory: &Path) -> io::Result<bool> {
    Ok(REMOTE.contains(&(rustix::fs::statfs(directory)?.f_type as u32)))
}

/// It has no id here: it is named by its server and directory. Inodes and times are those of the server's file system.
const NFS: u32 = 0x6969;

impl FileSystemId {
    /// The place of the files of a directory.
    ///
    /// # Errors
    ///
    /// The directory cannot be looked at.
    pub fn of(directory: &Path) -> io::Result<FileSystemId> {
        let device = rustix::fs::stat(directory)?.st_dev;
        // The kernel's numbers have 32 bits.
        let kind = rustix::fs::statfs(directory)?.f_type as u32;
        let id = rustix::fs::statvfs(directory)?.f_fsid;
        let known = LASTING.iter().find(|(known, _)| *known == kind).filter(|_| id != 0);
        let name = match known {
            Some((_, name)) => Some(format!("{name} {id:016x}")),
            None if kind == NFS => mount_line(device_at(directory)?)?.as_deref().and_then(server),
            None => None,
        };
        Ok(FileSystemId { device, name })
    }
}

/// The server named by a line of the table of mounts, behind the kind of file system.
fn server(line: &str) -> Option<String> {
    let (_, kind) = line.split_once(" - ")?;
    kind.split(' ').nth(1).map(|from| format!("nfs {from}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_server_are_named_by_it() {
        let line = "99 28 0:51 / /nas rw,relatime shared:3 - nfs4 nas.example.org:/pool/a\\040b rw,vers=4.2";
        assert_eq!(server(line).as_deref(), Some(r"nfs nas.example.org:/pool/a\040b"));
        assert_eq!(server("99 28 0:51 / /nas rw"), None);
    }

    #[test]
    fn a_file_system_of_the_kernel_is_not_remote() {
        assert!(!is_remote(Path::new("/proc")).unwrap());
        assert!(is_remote(Path::new("/no/such/directory")).is_err());
    }

    #[test]
    fn what_is_made_up_at_each_mount_is_not_known_again() {
        let place = FileSystemId::of(Path::new("/proc")).unwrap();
        assert_eq!((place.name, place.device), (None, rustix::fs::stat("/proc").unwrap().st_dev));
    }
}
