//! Attributes in file systems that tests and examples serve.

use std::time::UNIX_EPOCH;

use fuser::{FileAttr, FileType, INodeNo};

/// A file or directory of root's that every user may read and execute, and that was never changed.
pub fn attributes(inode: u64, kind: FileType, size: u64) -> FileAttr {
    FileAttr {
        ino: INodeNo(inode),
        size,
        blocks: size.div_ceil(512),
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind,
        perm: 0o755,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}
