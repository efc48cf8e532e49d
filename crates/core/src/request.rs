//! One request of a trace, in the form that all crates use.

use bytemuck::{Pod, Zeroable};

/// The operation of a request. The letter is the one used by the `csv` format and by `Display`.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `R`: bytes `offset..offset + length` are read.
    Read = 0,
    /// `W`: bytes `offset..offset + length` are written.
    Write = 1,
    /// `M`: the file range is mapped; counted as a read of the range and marked as a mapping.
    Map = 2,
    /// `O`: the file is opened.
    Open = 3,
    /// `X`: the file is executed.
    Exec = 4,
    /// `S`: the file's inode is read (`stat`, `access`, `readlink`).
    Stat = 5,
    /// `D`: directory entries are read (`getdents`); `length` is the bytes returned.
    List = 6,
    /// `U`: the file is unlinked; its blocks are dead once it is not open any more.
    Unlink = 7,
    /// `N`: the file is renamed; its identity and its blocks stay.
    Rename = 8,
    /// `T`: the file is truncated or extended to `offset` bytes; blocks behind it are dead.
    Truncate = 9,
    /// `F`: the file is flushed (`fsync`, `fdatasync`, `sync_file_range`).
    Sync = 10,
}

impl Op {
    /// Every operation, in the order of its number.
    pub const ALL: [Op; 11] = [
        Op::Read,
        Op::Write,
        Op::Map,
        Op::Open,
        Op::Exec,
        Op::Stat,
        Op::List,
        Op::Unlink,
        Op::Rename,
        Op::Truncate,
        Op::Sync,
    ];

    const LETTERS: &'static [u8; 11] = b"RWMOXSDUNTF";

    /// Returns the operation's letter.
    pub fn letter(self) -> char {
        Self::LETTERS[self as usize] as char
    }

    /// Returns the operation with this letter, in upper or lower case.
    pub fn from_letter(letter: u8) -> Option<Op> {
        let upper = letter.to_ascii_uppercase();
        Self::LETTERS.iter().position(|&known| known == upper).map(|index| Self::ALL[index])
    }

    /// Returns the operation's name in tables and filters.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 11] =
            ["read", "write", "map", "open", "exec", "stat", "list", "unlink", "rename", "truncate", "sync"];
        NAMES[self as usize]
    }

    /// Returns the operation with this number, as stored in `Request::op`.
    pub fn from_number(number: u8) -> Option<Op> {
        Self::ALL.get(number as usize).copied()
    }

    /// True for the operations that move file data and so reference blocks: read, write, map.
    pub fn is_data(self) -> bool {
        matches!(self, Op::Read | Op::Write | Op::Map)
    }
}

/// What kind of object a request touches (attribute caches, WRL report section 2).
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The kind of the object is unknown.
    #[default]
    Unknown = 0,
    /// The inode of a file: what `stat` and `open` read.
    Inode = 1,
    /// A directory's entries.
    Directory = 2,
    /// The data of an ordinary file.
    Datafile = 3,
    /// The data of a program or library, executed or mapped executable.
    Executable = 4,
    /// Devices, pipes and other objects without blocks worth caching.
    Other = 5,
}

impl Kind {
    /// Every kind, in the order of its number.
    pub const ALL: [Kind; 6] =
        [Kind::Unknown, Kind::Inode, Kind::Directory, Kind::Datafile, Kind::Executable, Kind::Other];

    /// Returns the kind's name in traces and tables.
    pub fn name(self) -> &'static str {
        ["unknown", "inode", "directory", "datafile", "executable", "other"][self as usize]
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the kind with this number.
    pub fn from_number(number: u8) -> Option<Kind> {
        Self::ALL.get(number as usize).copied()
    }
}

/// The call failed and transferred nothing.
pub const FLAG_FAILED: u16 = 1;
/// The range was mapped executable (`PROT_EXEC`).
pub const FLAG_EXECUTABLE: u16 = 2;
/// The request continues the previous one, which was too long for one record.
pub const FLAG_CONTINUED: u16 = 4;
/// The request goes through the cache but is not counted: it warms the cache, or the user excluded it. A filter sets
/// this flag while a trace is read; traces never contain it.
pub const FLAG_UNCOUNTED: u16 = 8;
/// The request is not a mapping of a range, but a program's first touch of a page of a mapped file, reported by a
/// page fault.
pub const FLAG_TOUCHED: u16 = 16;
/// The recorded machine's page cache had all of the range. With [`FLAG_AROUND`]: it had the touched page.
pub const FLAG_CACHED: u16 = 32;
/// The recorded machine's page cache did not have all of the range, so that storage was read. If neither this flag
/// nor [`FLAG_CACHED`] is set, it is unknown.
pub const FLAG_FETCHED: u16 = 64;
/// The pages around a touched page that the kernel mapped with it, if they were in its page cache. It is unknown
/// whether the program reads them. With [`FLAG_TOUCHED`], the touched page is one of them, but not identified.
pub const FLAG_AROUND: u16 = 128;
/// An unlink because the object's time to live has ended, not by a program. Set while a trace is read; traces never
/// contain it.
pub const FLAG_EXPIRED: u16 = 256;

/// One request: 32 bytes, plain data, copied freely.
///
/// `op` and `kind` hold the numbers of [`Op`] and [`Kind`] so that the record stays plain data;
/// readers guarantee that both are valid.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Request {
    /// Nanoseconds on the trace's own clock; 0 throughout when the trace has no times.
    pub time: u64,
    /// First byte touched; the object's id when the trace is addressed by object.
    pub offset: u64,
    /// Bytes touched, or the object's size (0 = unknown).
    pub length: u32,
    /// Index into the trace's file table; 0 if the trace has no files.
    pub file: u32,
    /// Index into the trace's application table; 0 if the trace has none.
    pub app: u32,
    /// Number of an [`Op`].
    pub op: u8,
    /// Number of a [`Kind`].
    pub kind: u8,
    /// Bits `FLAG_*`.
    pub flags: u16,
}

const _: () = assert!(size_of::<Request>() == 32);

impl Request {
    /// The operation.
    pub fn op(&self) -> Op {
        Op::ALL[self.op as usize]
    }

    /// The kind of object.
    pub fn kind(&self) -> Kind {
        Kind::ALL[self.kind as usize]
    }

    /// False if the request goes through the cache without being counted.
    pub fn is_counted(&self) -> bool {
        self.flags & FLAG_UNCOUNTED == 0
    }

    /// True if the recorded machine's page cache had all of the range, false if storage was read; `None` if unknown.
    pub fn was_cached(&self) -> Option<bool> {
        match self.flags & (FLAG_CACHED | FLAG_FETCHED) {
            FLAG_CACHED => Some(true),
            0 => None,
            _ => Some(false),
        }
    }

    /// True if the call failed and transferred nothing.
    pub fn failed(&self) -> bool {
        self.flags & FLAG_FAILED != 0
    }
}
