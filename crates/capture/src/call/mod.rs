//! System calls as the model of processes and files takes them, whichever recorder saw them.
//!
//! A recorder is a front end: `strace` reads the text of a log, `kernel` a record of the BPF programs. Both implement
//! [`Arguments`]. [`Call::new`] knows which argument of which call means what.

mod arguments;

use std::borrow::Cow;
use std::ops::Range;

use hotset_core::request::Op;

pub(crate) use arguments::{Arguments, Flag};

/// A call that has returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call<'a> {
    /// The thread that made it.
    pub thread: u32,
    /// Nanoseconds since the recording began.
    pub time: u64,
    /// The name of the system call.
    pub name: &'a [u8],
    /// The requested action.
    pub action: Action<'a>,
    /// How it ended.
    pub result: Outcome,
    /// The kernel's facts about the files that it worked on; empty in a log.
    pub facts: [Facts; 2],
}

/// The action that a call requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action<'a> {
    /// Data moves between a file and the memory of the process.
    Transfer(Transfer<'a>),
    /// Data moves from the first file to the second inside the kernel.
    Copy([Transfer<'a>; 2]),
    /// A range of a file is mapped.
    Map { file: Handle<'a>, offset: u64, length: u64, is_executable: bool },
    /// Entries of a directory are read.
    List(Handle<'a>),
    /// A name is opened; `shown` is the opened file, if the recorder shows it.
    Open { at: Location<'a>, flags: OpenFlags, shown: Option<Shown<'a>> },
    /// A descriptor is closed.
    Close(Handle<'a>),
    /// The descriptors of this range are closed, or only marked to be closed by `execve`.
    CloseRange { first: u64, last: u64, unshares: bool, only_marks: bool },
    /// A descriptor is copied to the one that the call returns.
    Duplicate { file: Handle<'a>, close_on_exec: bool },
    /// A descriptor is marked to be closed by `execve`, or unmarked.
    CloseOnExec { file: Handle<'a>, on: bool },
    /// The descriptor's writes go to the end of the file, or no longer.
    Append { file: Handle<'a>, on: bool },
    /// The descriptor's position changes, to the end of the file if `to_end`.
    Seek { file: Handle<'a>, position: Option<u64>, to_end: bool },
    /// A range of a file is flushed.
    Sync { file: Handle<'a>, offset: u64, length: u64 },
    /// The file behind a descriptor gets this size.
    Resize { file: Handle<'a>, size: u64 },
    /// Space is allocated up to this end; the file may grow.
    Allocate { file: Handle<'a>, end: u64, may_grow: bool },
    /// The file of this name gets this size.
    Truncate { at: Location<'a>, size: u64 },
    /// The inode of a name is looked at.
    Look { at: Location<'a>, answer: Option<FileKind> },
    /// The inode behind a descriptor is looked at.
    LookAt { file: Handle<'a>, answer: Option<FileKind> },
    /// A name is removed.
    Unlink(Location<'a>),
    /// A name changes, or two names are exchanged.
    Rename { from: Location<'a>, to: Location<'a>, exchanges: bool },
    /// A file gets another name.
    Link { from: Location<'a>, to: Location<'a> },
    /// A symbolic link is made.
    LinkSymbolically { target: Text<'a>, at: Location<'a> },
    /// A directory is made.
    MakeDirectory(Location<'a>),
    /// The working directory changes to this name.
    ChangeDirectory(Location<'a>),
    /// The working directory changes to this descriptor's.
    ChangeDirectoryTo(Handle<'a>),
    /// The working directory is returned.
    ReturnDirectory(Text<'a>),
    /// A program begins.
    Execute(Location<'a>),
    /// The process stops sharing its descriptors or its working directory.
    Unshare { files: bool, directory: bool },
    /// A process or thread is made.
    Fork(Sharing),
    /// Nothing that the model follows, although the call works on files.
    Nothing,
    /// A call without a counterpart in a trace.
    Other,
}

/// One end of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transfer<'a> {
    /// A read or a write.
    pub op: Op,
    /// The descriptor.
    pub file: Handle<'a>,
    /// Where in the file; `None` for the descriptor's own position, which then moves on.
    pub position: Option<u64>,
    /// Requested bytes, if known: if fewer are read, the file ends there.
    pub asked: Option<u64>,
    /// This write goes to the file's end (`RWF_APPEND`).
    pub append: bool,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It returned this.
    Returned(u64),
    /// It failed because a name on the path does not exist (`ENOENT`).
    Missing,
    /// It failed otherwise.
    Failed,
    /// It did not return: the process ended, or the call is going to be restarted.
    None,
}

/// The file behind a descriptor, as the recorder shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown<'a> {
    /// A path or a class such as `pipe:[123]`.
    pub path: Cow<'a, [u8]>,
    /// True if the path has been unlinked.
    pub deleted: bool,
}

/// A descriptor argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Handle<'a> {
    /// The descriptor; `None` for `AT_FDCWD`.
    pub number: Option<i32>,
    /// The file behind it, if the recorder shows it.
    pub shown: Option<Shown<'a>>,
}

/// A string argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Text<'a> {
    /// The whole text.
    Whole(Cow<'a, [u8]>),
    /// The beginning of the text; the recorder cut it.
    Cut(Cow<'a, [u8]>),
    /// `NULL`.
    Null,
    /// An address that the recorder could not read.
    Unreadable,
}

/// A name argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location<'a> {
    /// The directory that the name is relative to; `None` for the working directory.
    pub base: Option<Handle<'a>>,
    /// The name.
    pub path: Text<'a>,
}

/// The flags of an open that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenFlags {
    /// `O_CREAT`.
    pub create: bool,
    /// `O_EXCL`.
    pub exclusive: bool,
    /// `O_TRUNC`.
    pub truncate: bool,
    /// `O_APPEND`.
    pub append: bool,
    /// `O_DIRECTORY`, alone.
    pub directory: bool,
    /// `O_CLOEXEC`.
    pub close_on_exec: bool,
    /// `O_TMPFILE`: a file without a name.
    pub unnamed: bool,
}

/// The kind of a file, as `stat` and similar calls return it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A regular file, with its size if it was read.
    Regular { size: Option<u64> },
    /// A directory.
    Directory,
    /// A block device.
    BlockDevice,
    /// A symbolic link.
    Link,
    /// A character device, a FIFO or a socket.
    Special,
}

/// The state that a new process or thread shares with its parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// The descriptors (`CLONE_FILES`).
    pub files: bool,
    /// The working directory (`CLONE_FS`).
    pub directory: bool,
    /// The process: it is a thread (`CLONE_THREAD`).
    pub process: bool,
}

/// The kernel's facts about a file that a call worked on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Where the call has read or written.
    pub at: Option<u64>,
    /// The file's size when it ended.
    pub size: Option<u64>,
    /// Another process moved the descriptor's position at the same time.
    pub is_shared: bool,
    /// The bytes that the page cache lacked of what was read, if that is known; empty if it had all.
    pub lacked: Option<Range<u64>>,
}

impl Call<'_> {
    /// The return value of a successful call.
    pub(crate) fn returned(&self) -> Option<u64> {
        self.result.returned()
    }
}

impl Outcome {
    /// The return value of a successful call.
    pub(crate) fn returned(self) -> Option<u64> {
        match self {
            Outcome::Returned(value) => Some(value),
            _ => None,
        }
    }
}

impl Sharing {
    /// A thread shares everything.
    pub(crate) const THREAD: Sharing = Sharing { files: true, directory: true, process: true };
}
