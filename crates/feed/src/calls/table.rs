//! The system calls that are recorded, and what of each is looked at.

/// What of a call the kernel's side looks at: places of arguments, as `struct look` of `bpf/calls.bpf.c` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Descriptors of the file that is read or worked on, and of the one that is written.
    pub file: [Option<u8>; 2],
    /// Addresses of names.
    pub name: [Option<u8>; 2],
    /// Descriptors of the directories that the names are taken from; the working directory where there is none.
    pub base: [Option<u8>; 2],
    /// Addresses of numbers that are looked at before the call changes them.
    pub value: [Option<u8>; 2],
    /// Address of what comes back.
    pub answer: Option<u8>,
    /// It returns a descriptor of a file that may be new to the process.
    pub opens: bool,
    /// It is recorded when it begins: its result may belong to another thread before it has ended.
    pub at_begin: bool,
    /// Its third argument lists requests, which are recorded in its place.
    pub submits: bool,
}

const NOTHING: Look = Look {
    file: [None; 2],
    name: [None; 2],
    base: [None; 2],
    value: [None; 2],
    answer: None,
    opens: false,
    at_begin: false,
    submits: false,
};

const fn file(place: u8) -> Look {
    Look { file: [Some(place), None], ..NOTHING }
}

const fn name(place: u8) -> Look {
    Look { name: [Some(place), None], ..NOTHING }
}

const fn name_at(base: u8, place: u8) -> Look {
    Look { base: [Some(base), None], ..name(place) }
}

const fn names(first: u8, second: u8) -> Look {
    Look { name: [Some(first), Some(second)], ..NOTHING }
}

const NAMES_AT: Look = Look { name: [Some(1), Some(3)], base: [Some(0), Some(2)], ..NOTHING };

const fn answers(look: Look, place: u8) -> Look {
    Look { answer: Some(place), ..look }
}

const fn opens(look: Look) -> Look {
    Look { opens: true, ..look }
}

const COPY: Look = Look { file: [Some(0), Some(2)], value: [Some(1), Some(3)], ..NOTHING };
const SEND: Look = Look { file: [Some(1), Some(0)], value: [Some(2), None], ..NOTHING };

/// A call by its name and its number here.
pub type Entry = (&'static str, i64, Look);

/// All of them.
pub const CALLS: &[Entry] = &[
    ("read", libc::SYS_read, file(0)),
    ("pread64", libc::SYS_pread64, file(0)),
    ("readv", libc::SYS_readv, file(0)),
    ("preadv", libc::SYS_preadv, file(0)),
    ("preadv2", libc::SYS_preadv2, file(0)),
    ("write", libc::SYS_write, file(0)),
    ("pwrite64", libc::SYS_pwrite64, file(0)),
    ("writev", libc::SYS_writev, file(0)),
    ("pwritev", libc::SYS_pwritev, file(0)),
    ("pwritev2", libc::SYS_pwritev2, file(0)),
    ("sendfile", libc::SYS_sendfile, SEND),
    ("copy_file_range", libc::SYS_copy_file_range, COPY),
    ("splice", libc::SYS_splice, COPY),
    ("mmap", libc::SYS_mmap, file(4)),
    ("lseek", libc::SYS_lseek, file(0)),
    ("close", libc::SYS_close, Look { at_begin: true, ..NOTHING }),
    ("close_range", libc::SYS_close_range, NOTHING),
    ("dup", libc::SYS_dup, file(0)),
    ("dup3", libc::SYS_dup3, file(0)),
    ("fcntl", libc::SYS_fcntl, file(0)),
    ("fstat", libc::SYS_fstat, answers(file(0), 1)),
    ("fchdir", libc::SYS_fchdir, file(0)),
    ("getdents64", libc::SYS_getdents64, file(0)),
    ("ftruncate", libc::SYS_ftruncate, file(0)),
    ("fallocate", libc::SYS_fallocate, file(0)),
    ("fsync", libc::SYS_fsync, file(0)),
    ("fdatasync", libc::SYS_fdatasync, file(0)),
    ("sync_file_range", libc::SYS_sync_file_range, file(0)),
    ("fgetxattr", libc::SYS_fgetxattr, file(0)),
    ("flistxattr", libc::SYS_flistxattr, file(0)),
    ("openat", libc::SYS_openat, opens(name_at(0, 1))),
    ("openat2", libc::SYS_openat2, opens(Look { value: [Some(2), None], ..name_at(0, 1) })),
    ("newfstatat", libc::SYS_newfstatat, answers(name_at(0, 1), 2)),
    ("statx", libc::SYS_statx, answers(name_at(0, 1), 4)),
    ("faccessat", libc::SYS_faccessat, name_at(0, 1)),
    ("faccessat2", libc::SYS_faccessat2, name_at(0, 1)),
    ("readlinkat", libc::SYS_readlinkat, name_at(0, 1)),
    ("getxattr", libc::SYS_getxattr, name(0)),
    ("lgetxattr", libc::SYS_lgetxattr, name(0)),
    ("listxattr", libc::SYS_listxattr, name(0)),
    ("llistxattr", libc::SYS_llistxattr, name(0)),
    ("unlinkat", libc::SYS_unlinkat, name_at(0, 1)),
    ("renameat2", libc::SYS_renameat2, NAMES_AT),
    ("linkat", libc::SYS_linkat, NAMES_AT),
    ("symlinkat", libc::SYS_symlinkat, Look { base: [None, Some(1)], ..names(0, 2) }),
    ("mkdirat", libc::SYS_mkdirat, name_at(0, 1)),
    ("truncate", libc::SYS_truncate, name(0)),
    ("chdir", libc::SYS_chdir, name(0)),
    ("execve", libc::SYS_execve, name(0)),
    ("execveat", libc::SYS_execveat, name_at(0, 1)),
    ("unshare", libc::SYS_unshare, NOTHING),
    ("io_uring_setup", libc::SYS_io_uring_setup, NOTHING),
    ("io_submit", libc::SYS_io_submit, Look { submits: true, ..NOTHING }),
];

/// Those that newer architectures do without.
#[cfg(target_arch = "x86_64")]
pub const OLD_CALLS: &[Entry] = &[
    ("dup2", libc::SYS_dup2, file(0)),
    ("getdents", libc::SYS_getdents, file(0)),
    ("open", libc::SYS_open, opens(name(0))),
    ("creat", libc::SYS_creat, opens(name(0))),
    ("stat", libc::SYS_stat, answers(name(0), 1)),
    ("lstat", libc::SYS_lstat, answers(name(0), 1)),
    ("access", libc::SYS_access, name(0)),
    ("readlink", libc::SYS_readlink, name(0)),
    ("unlink", libc::SYS_unlink, name(0)),
    ("rmdir", libc::SYS_rmdir, name(0)),
    ("rename", libc::SYS_rename, names(0, 1)),
    ("renameat", libc::SYS_renameat, NAMES_AT),
    ("link", libc::SYS_link, names(0, 1)),
    ("symlink", libc::SYS_symlink, names(0, 1)),
    ("mkdir", libc::SYS_mkdir, name(0)),
];
#[cfg(not(target_arch = "x86_64"))]
pub const OLD_CALLS: &[Entry] = &[("renameat", libc::SYS_renameat, NAMES_AT)];

/// The call with this number.
pub fn entry(number: u32) -> Option<&'static Entry> {
    CALLS.iter().chain(OLD_CALLS).find(|(_, known, _)| *known == i64::from(number))
}

impl Look {
    /// As `struct look` lays it out.
    pub fn bytes(&self) -> [u8; 16] {
        let place = |place: Option<u8>| place.unwrap_or(255);
        let pair = |pair: [Option<u8>; 2]| pair.map(place);
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&[1, u8::from(self.at_begin), u8::from(self.opens), u8::from(self.submits)]);
        for (at, places) in [(4, self.file), (6, self.name), (8, self.base), (10, self.value)] {
            bytes[at..at + 2].copy_from_slice(&pair(places));
        }
        bytes[12] = place(self.answer);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_a_number_of_its_own_within_the_table() {
        let mut numbers: Vec<i64> = CALLS.iter().chain(OLD_CALLS).map(|(_, number, _)| *number).collect();
        numbers.sort_unstable();
        let count = numbers.len();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
        assert!(numbers.iter().all(|number| (0..1024).contains(number)));
        assert_eq!(entry(libc::SYS_openat as u32).map(|entry| entry.0), Some("openat"));
    }

    #[test]
    fn places_lie_as_the_kernels_side_reads_them() {
        let none = 255;
        assert_eq!(opens(name_at(0, 1)).bytes(), [1, 0, 1, 0, none, none, 1, none, 0, none, none, none, none, 0, 0, 0]);
        assert_eq!(COPY.bytes()[4..12], [0, 2, none, none, none, none, 1, 3]);
    }
}
