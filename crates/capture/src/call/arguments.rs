//! The arguments of each system call: which place means what.

use hotset_core::request::Op;
use hotset_trace::runner::Malformed;

use super::{Action, Call, Facts, FileKind, Handle, Location, OpenFlags, Outcome, Shown, Text, Transfer};

/// A value that an argument can hold or be: its word in a log, and its bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag {
    /// The word.
    pub word: &'static str,
    /// The bits.
    pub bits: u64,
}

const fn flag(word: &'static str, bits: u64) -> Flag {
    Flag { word, bits }
}

/// The processors differ in this flag.
const DIRECTORY: u64 = if cfg!(target_arch = "x86_64") { 0o200_000 } else { 0o40_000 };

const O_CREAT: Flag = flag("O_CREAT", 0o100);
const O_EXCL: Flag = flag("O_EXCL", 0o200);
const O_TRUNC: Flag = flag("O_TRUNC", 0o1000);
const O_APPEND: Flag = flag("O_APPEND", 0o2000);
const O_DIRECTORY: Flag = flag("O_DIRECTORY", DIRECTORY);
const O_CLOEXEC: Flag = flag("O_CLOEXEC", 0o2_000_000);
const O_TMPFILE: Flag = flag("O_TMPFILE", 0o20_000_000 | DIRECTORY);
const RWF_APPEND: Flag = flag("RWF_APPEND", 0x10);
const PROT_EXEC: Flag = flag("PROT_EXEC", 4);
const MAP_ANONYMOUS: Flag = flag("MAP_ANONYMOUS", 0x20);
const SEEK_END: Flag = flag("SEEK_END", 2);
const F_DUPFD: Flag = flag("F_DUPFD", 0);
const F_DUPFD_CLOEXEC: Flag = flag("F_DUPFD_CLOEXEC", 1030);
const F_SETFD: Flag = flag("F_SETFD", 2);
const F_GETFL: Flag = flag("F_GETFL", 3);
const F_SETFL: Flag = flag("F_SETFL", 4);
const FD_CLOEXEC: Flag = flag("FD_CLOEXEC", 1);
const CLOSE_RANGE_UNSHARE: Flag = flag("CLOSE_RANGE_UNSHARE", 2);
const CLOSE_RANGE_CLOEXEC: Flag = flag("CLOSE_RANGE_CLOEXEC", 4);
const RENAME_EXCHANGE: Flag = flag("RENAME_EXCHANGE", 2);
const CLONE_FILES: Flag = flag("CLONE_FILES", 0x400);
const CLONE_FS: Flag = flag("CLONE_FS", 0x200);

/// The arguments and the result of a call, as a recorder has them; places count from 0.
///
/// Errors say what was found in place of the argument.
pub(crate) trait Arguments<'a> {
    /// A descriptor.
    fn handle(&self, place: usize) -> Result<Handle<'a>, Malformed>;

    /// A number.
    fn number(&self, place: usize) -> Result<u64, Malformed>;

    /// A file position; `None` for −1.
    fn position(&self, place: usize) -> Result<Option<u64>, Malformed>;

    /// The file position behind a pointer; `None` for `NULL`.
    fn pointed(&self, place: usize) -> Result<Option<u64>, Malformed>;

    /// A string.
    fn text(&self, place: usize) -> Text<'a>;

    /// True if an argument, or the structure behind it, holds a flag.
    fn has(&self, place: usize, flag: Flag) -> bool;

    /// True if an argument is this value.
    fn is(&self, place: usize, value: Flag) -> bool;

    /// The kind and size that a successful call put behind a pointer.
    fn answer(&self, place: usize) -> Option<FileKind>;

    /// How the call ended.
    fn result(&self) -> Outcome;

    /// The file behind a descriptor that was returned.
    fn opened(&self) -> Option<Shown<'a>>;
}

impl<'a> Call<'a> {
    /// The call `name` with these arguments.
    ///
    /// # Errors
    ///
    /// An argument is not what the call has in its place.
    pub(crate) fn new(
        thread: u32,
        time: u64,
        name: &'a [u8],
        arguments: &impl Arguments<'a>,
    ) -> Result<Call<'a>, Malformed> {
        let action = of_data(name, arguments)?;
        Ok(Call { thread, time, name, action, result: arguments.result(), facts: <[Facts; 2]>::default() })
    }
}

/// Calls that move file data, then all others.
fn of_data<'a>(name: &[u8], call: &impl Arguments<'a>) -> Result<Action<'a>, Malformed> {
    let end = |op, place, position| end(call, op, place, position);
    let plain = |op, position| Ok(Action::Transfer(Transfer { asked: Some(call.number(2)?), ..end(op, 0, position)? }));
    let vector = |op, position, append| Ok(Action::Transfer(Transfer { append, ..end(op, 0, position)? }));
    match name {
        b"read" => plain(Op::Read, None),
        b"write" => plain(Op::Write, None),
        b"pread64" | b"pread" => plain(Op::Read, Some(call.number(3)?)),
        b"pwrite64" | b"pwrite" => plain(Op::Write, Some(call.number(3)?)),
        b"readv" => vector(Op::Read, None, false),
        b"writev" => vector(Op::Write, None, false),
        b"preadv" | b"preadv2" => vector(Op::Read, call.position(3)?, false),
        b"pwritev" => vector(Op::Write, call.position(3)?, false),
        b"pwritev2" => vector(Op::Write, call.position(3)?, call.has(4, RWF_APPEND)),
        b"sendfile" | b"sendfile64" => {
            Ok(Action::Copy([end(Op::Read, 1, call.pointed(2)?)?, end(Op::Write, 0, None)?]))
        }
        b"copy_file_range" | b"splice" => {
            Ok(Action::Copy([end(Op::Read, 0, call.pointed(1)?)?, end(Op::Write, 2, call.pointed(3)?)?]))
        }
        b"mmap" | b"mmap2" if call.has(3, MAP_ANONYMOUS) => Ok(Action::Nothing),
        b"mmap" | b"mmap2" => match call.handle(4)? {
            Handle { number: Some(-1), .. } => Ok(Action::Nothing),
            file => {
                let (length, offset) = (call.number(1)?, call.number(5)?);
                Ok(Action::Map { file, offset, length, is_executable: call.has(2, PROT_EXEC) })
            }
        },
        b"getdents64" | b"getdents" => Ok(Action::List(call.handle(0)?)),
        _ => of_descriptor(name, call),
    }
}

/// One end of a transfer, by the place of its descriptor.
fn end<'a>(call: &impl Arguments<'a>, op: Op, place: usize, position: Option<u64>) -> Result<Transfer<'a>, Malformed> {
    Ok(Transfer { op, file: call.handle(place)?, position, asked: None, append: false })
}

/// Calls on descriptors: duplicating, closing, positioning, flushing, cutting; then all others.
fn of_descriptor<'a>(name: &[u8], call: &impl Arguments<'a>) -> Result<Action<'a>, Malformed> {
    let seek = |position, whence| {
        let to_end = call.is(whence, SEEK_END) && call.number(1) == Ok(0);
        Ok(Action::Seek { file: call.handle(0)?, position, to_end })
    };
    let duplicate = |close_on_exec| Ok(Action::Duplicate { file: call.handle(0)?, close_on_exec });
    let sync = |offset, length| Ok(Action::Sync { file: call.handle(0)?, offset, length });
    match name {
        b"close" => Ok(Action::Close(call.handle(0)?)),
        b"lseek" => seek(call.result().returned(), 2),
        b"_llseek" => seek(call.result().returned().map_or(Ok(None), |_| call.pointed(2))?, 3),
        b"dup" | b"dup2" => duplicate(false),
        b"dup3" => duplicate(call.has(2, O_CLOEXEC)),
        b"fcntl" | b"fcntl64" => match call.handle(0)? {
            _ if call.is(1, F_DUPFD) => duplicate(false),
            _ if call.is(1, F_DUPFD_CLOEXEC) => duplicate(true),
            file if call.is(1, F_SETFD) => Ok(Action::CloseOnExec { file, on: call.has(2, FD_CLOEXEC) }),
            file if call.is(1, F_SETFL) => Ok(Action::Append { file, on: call.has(2, O_APPEND) }),
            // Only this reveals descriptors from before the recording.
            file if call.is(1, F_GETFL) => {
                let flags = call.result().returned().unwrap_or(0);
                Ok(Action::Append { file, on: flags & O_APPEND.bits != 0 })
            }
            _ => Ok(Action::Nothing),
        },
        b"close_range" => {
            let (first, last) = (call.number(0)?, call.number(1)?);
            let (unshares, only_marks) = (call.has(2, CLOSE_RANGE_UNSHARE), call.has(2, CLOSE_RANGE_CLOEXEC));
            Ok(Action::CloseRange { first, last, unshares, only_marks })
        }
        b"fsync" | b"fdatasync" => sync(0, 0),
        b"sync_file_range" => sync(call.number(1)?, call.number(2)?),
        b"ftruncate" | b"ftruncate64" => Ok(Action::Resize { size: call.number(1)?, file: call.handle(0)? }),
        // A mode leaves the file's size, or is too rare to follow.
        b"fallocate" => Ok(Action::Allocate {
            end: call.number(2)?.saturating_add(call.number(3)?),
            file: call.handle(0)?,
            may_grow: call.number(1) == Ok(0),
        }),
        b"unshare" => Ok(Action::Unshare { files: call.has(0, CLONE_FILES), directory: call.has(0, CLONE_FS) }),
        _ => of_name(name, call),
    }
}

/// Calls on names: opening, removing, renaming, linking, cutting, executing; then all others.
fn of_name<'a>(name: &[u8], call: &impl Arguments<'a>) -> Result<Action<'a>, Malformed> {
    let named = |place| Location { base: None, path: call.text(place) };
    let at = |base, place| Ok::<_, Malformed>(Location { base: Some(call.handle(base)?), path: call.text(place) });
    let open = |at, flags| Ok(Action::Open { at, flags, shown: call.opened() });
    match name {
        b"open" => open(named(0), open_flags(call, 1)),
        b"creat" => open(named(0), OpenFlags { create: true, truncate: true, ..OpenFlags::default() }),
        b"openat" | b"openat2" => open(at(0, 1)?, open_flags(call, 2)),
        b"unlink" | b"rmdir" => Ok(Action::Unlink(named(0))),
        b"unlinkat" => Ok(Action::Unlink(at(0, 1)?)),
        b"rename" => Ok(Action::Rename { from: named(0), to: named(1), exchanges: false }),
        b"renameat" => Ok(Action::Rename { from: at(0, 1)?, to: at(2, 3)?, exchanges: false }),
        b"renameat2" => Ok(Action::Rename { from: at(0, 1)?, to: at(2, 3)?, exchanges: call.has(4, RENAME_EXCHANGE) }),
        b"link" => Ok(Action::Link { from: named(0), to: named(1) }),
        b"linkat" => Ok(Action::Link { from: at(0, 1)?, to: at(2, 3)? }),
        b"symlink" => Ok(Action::LinkSymbolically { target: call.text(0), at: named(1) }),
        b"symlinkat" => Ok(Action::LinkSymbolically { target: call.text(0), at: at(1, 2)? }),
        b"truncate" | b"truncate64" => Ok(Action::Truncate { at: named(0), size: call.number(1)? }),
        b"mkdir" => Ok(Action::MakeDirectory(named(0))),
        b"mkdirat" => Ok(Action::MakeDirectory(at(0, 1)?)),
        b"chdir" => Ok(Action::ChangeDirectory(named(0))),
        b"fchdir" => Ok(Action::ChangeDirectoryTo(call.handle(0)?)),
        b"getcwd" => Ok(Action::ReturnDirectory(call.text(0))),
        b"execve" => Ok(Action::Execute(named(0))),
        b"execveat" => Ok(Action::Execute(at(0, 1)?)),
        _ => of_inode(name, call),
    }
}

/// Calls that look at an inode, then all others.
fn of_inode<'a>(name: &[u8], call: &impl Arguments<'a>) -> Result<Action<'a>, Malformed> {
    let named = || Location { base: None, path: call.text(0) };
    let at = || Ok::<_, Malformed>(Location { base: Some(call.handle(0)?), path: call.text(1) });
    match name {
        b"stat" | b"lstat" | b"stat64" | b"lstat64" => Ok(Action::Look { at: named(), answer: call.answer(1) }),
        b"fstat" | b"fstat64" => Ok(Action::LookAt { file: call.handle(0)?, answer: call.answer(1) }),
        b"newfstatat" | b"fstatat64" => Ok(Action::Look { at: at()?, answer: call.answer(2) }),
        b"statx" => Ok(Action::Look { at: at()?, answer: call.answer(4) }),
        b"access" | b"readlink" | b"getxattr" | b"lgetxattr" | b"listxattr" | b"llistxattr" => {
            Ok(Action::Look { at: named(), answer: None })
        }
        b"faccessat" | b"faccessat2" | b"readlinkat" => Ok(Action::Look { at: at()?, answer: None }),
        b"fgetxattr" | b"flistxattr" => Ok(Action::LookAt { file: call.handle(0)?, answer: None }),
        _ => Ok(Action::Other),
    }
}

fn open_flags<'a>(call: &impl Arguments<'a>, place: usize) -> OpenFlags {
    let has = |flag| call.has(place, flag);
    let unnamed = has(O_TMPFILE);
    OpenFlags {
        create: has(O_CREAT),
        exclusive: has(O_EXCL),
        truncate: has(O_TRUNC),
        append: has(O_APPEND),
        // The bits of `O_TMPFILE` include it.
        directory: has(O_DIRECTORY) && !unnamed,
        close_on_exec: has(O_CLOEXEC),
        unnamed,
    }
}
