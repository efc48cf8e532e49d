//! The kernel's requests, translated to calls of a [`Tree`]. With `values.rs` and `session.rs` the only place that
//! knows the FUSE protocol.
//!
//! Several threads take requests (`session.rs`), and some of them are always free for hits: whatever asks the source
//! for anything is done through [`Workers`], where a part of the source that hangs holds up nobody else. What is short
//! as a rule is done by the thread that took the request, as long as few of them are held so; what may well take long
//! (reads that miss, writes, flushes) by another one.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig, LockOwner,
    Notifier, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use hotset_cache::workers::{Part, Workers};
use hotset_core::request::Op;
use rustix::fs::{OFlags, Stat};

use crate::credentials::Caller;
use crate::handles::OpenFile;
use crate::listing::Listed;
use crate::metadata::Listing;
use crate::tree::{Attributes, Found, NewMode, Seen, Tree};
use crate::values::{attributes, decoded_device, kind, no_attributes, timestamps};
use crate::{Mode, reading};

/// Bytes that one request moves, at most.
const LONGEST: u32 = 1 << 20;

/// What the kernel talks to.
pub(crate) struct Kernel {
    tree: Arc<Tree>,
    workers: Arc<Workers>,
    notifier: Arc<OnceLock<Notifier>>,
}

impl Kernel {
    /// Tells the kernel what it must not believe any more through `notifier`, which is set once there is a mount.
    pub fn new(tree: Arc<Tree>, workers: Arc<Workers>, notifier: Arc<OnceLock<Notifier>>) -> Kernel {
        Kernel { tree, workers, notifier }
    }

    /// Asks the source for what it answers soon, unless this part of it hangs.
    fn ask(&self, part: Part, work: impl FnOnce(&Tree) + Send + 'static) {
        let tree = self.tree.clone();
        self.workers.run_here(part, move || tree.contain(work));
    }

    /// The same about the file with this number.
    fn ask_about(&self, number: INodeNo, work: impl FnOnce(&Tree) + Send + 'static) {
        self.ask(self.tree.part(number.0), work);
    }

    /// The same about a name in a directory, which `work` is given as well.
    fn ask_in(&self, parent: INodeNo, name: &OsStr, work: impl FnOnce(&Tree, &OsStr) + Send + 'static) {
        let part = self.tree.part_of(parent.0, name);
        let name = name.to_owned();
        self.ask(part, move |tree| work(tree, &name));
    }

    /// The open file behind a handle, if the kernel names one.
    fn open_file(&self, handle: Option<FileHandle>) -> Option<Arc<OpenFile>> {
        self.tree.files.get(handle?.0).ok()
    }

    /// Does what waits for the source in another thread.
    fn hand_over(&self, part: Part, work: impl FnOnce(&Tree) + Send + 'static) {
        let tree = self.tree.clone();
        self.workers.run(part, move || tree.contain(work));
    }

    /// The same with an open file.
    fn with_file(&self, handle: FileHandle, work: impl FnOnce(&Tree, io::Result<Arc<OpenFile>>) + Send + 'static) {
        let open = self.tree.files.get(handle.0);
        let part = open.as_ref().map(|open| open.node.part()).unwrap_or_default();
        self.hand_over(part, move |tree| work(tree, open));
    }
}

/// What the kernel does with a file opened with `flags`, of which it may keep what it has if it is the `same`.
fn fopen_flags(mode: Mode, flags: u32, same: bool) -> FopenFlags {
    let cached = match (mode, same) {
        (Mode::Strict, _) => FopenFlags::FOPEN_DIRECT_IO,
        (Mode::Fast, true) => FopenFlags::FOPEN_KEEP_CACHE,
        (Mode::Fast, false) => FopenFlags::empty(),
    };
    // Who has written nothing need not hear at the close whether that has arrived.
    let reads_only = !OFlags::from_bits_retain(flags).intersects(OFlags::WRONLY | OFlags::RDWR);
    if reads_only { cached | FopenFlags::FOPEN_NOFLUSH } else { cached }
}

/// What the kernel does with the listing of a directory.
fn listing_flags(listing: Listing) -> FopenFlags {
    match listing {
        Listing::Passing => FopenFlags::empty(),
        Listing::New => FopenFlags::FOPEN_CACHE_DIR,
        Listing::Known => FopenFlags::FOPEN_CACHE_DIR | FopenFlags::FOPEN_KEEP_CACHE,
    }
}

/// The kernel asks for the attributes of a file anew.
fn forget_attributes(notifier: &OnceLock<Notifier>, number: INodeNo) {
    if let Some(notifier) = notifier.get() {
        // What it does not know it need not forget.
        let _ = notifier.inval_inode(number, -1, 0);
    }
}

fn caller(request: &Request) -> Caller {
    Caller { uid: request.uid(), gid: request.gid(), pid: request.pid() }
}

/// Answers with an entry or with the error.
fn entry(reply: ReplyEntry, tree: &Tree, found: io::Result<Found>) {
    match found {
        Ok(Found { number, stat, left }) => {
            let names = tree.metadata.validity().names;
            reply.entry_with_ttls(&left, &names, &attributes(number, &stat), Generation(0));
        }
        Err(error) => reply.error(errno(error)),
    }
}

/// The same of a name that is looked up: the kernel may keep that there is none.
fn looked_up(reply: ReplyEntry, tree: &Tree, found: io::Result<Found>) {
    let nothing = tree.metadata.validity().nothing;
    let is_nothing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound && !nothing.is_zero();
    match found {
        Err(error) if is_nothing(&error) => reply.entry(&nothing, &no_attributes(), Generation(0)),
        found => entry(reply, tree, found),
    }
}

fn empty(reply: ReplyEmpty, done: io::Result<()>) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    }
}

pub(crate) fn bytes(reply: ReplyData, read: io::Result<Vec<u8>>) {
    match read {
        Ok(bytes) => reply.data(&bytes),
        Err(error) => reply.error(errno(error)),
    }
}

/// Answers with attributes, which the kernel may believe for so long.
fn attr(reply: ReplyAttr, number: u64, stat: io::Result<(Stat, Duration)>) {
    match stat {
        Ok((stat, left)) => reply.attr(&left, &attributes(number, &stat)),
        Err(error) => reply.error(errno(error)),
    }
}

/// A value or a list of names, or how long it is if that is all that is asked.
fn sized(reply: ReplyXattr, size: u32, value: io::Result<Vec<u8>>) {
    match value {
        Ok(value) if size == 0 => reply.size(value.len() as u32),
        Ok(value) if value.len() > size as usize => reply.error(Errno::ERANGE),
        Ok(value) => reply.data(&value),
        Err(error) => reply.error(errno(error)),
    }
}

fn errno(error: io::Error) -> Errno {
    match error.raw_os_error() {
        Some(number) => Errno::from_i32(number),
        None => Errno::EIO,
    }
}

impl Filesystem for Kernel {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // What an older kernel does not know is left out.
        let wanted = match self.tree.mode() {
            Mode::Strict => InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
            Mode::Fast => InitFlags::FUSE_AUTO_INVAL_DATA,
        };
        let _ = config.add_capabilities(wanted | InitFlags::FUSE_PARALLEL_DIROPS);
        // The source takes the set-user-id bit away; the kernel would set the mode in the name of who writes, who may
        // not.
        let _ = config.add_capabilities(InitFlags::FUSE_HANDLE_KILLPRIV_V2);
        // The kernel checks access lists, and leaves it to us where the caller's mask counts.
        let _ = config.add_capabilities(InitFlags::FUSE_POSIX_ACL | InitFlags::FUSE_DONT_MASK);
        let _ = config.set_max_write(LONGEST);
        let _ = config.set_max_readahead(LONGEST);
        // The kernel sends no reads ahead of its own, and no closes, for any file while so many of them hang.
        let _ = config.set_max_background(1024);
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let caller = caller(request);
        self.ask_in(parent, name, move |tree, name| looked_up(reply, tree, tree.look_up(parent.0, name, caller)));
    }

    fn forget(&self, _request: &Request, number: INodeNo, times: u64) {
        self.ask_about(number, move |tree| tree.forget(number.0, times));
    }

    fn getattr(&self, _request: &Request, number: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        self.ask_about(number, move |tree| attr(reply, number.0, tree.stat(number.0)));
    }

    fn setattr(
        &self,
        request: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        handle: Option<FileHandle>,
        _created: Option<SystemTime>,
        _change_time: Option<SystemTime>,
        _backed_up: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = Attributes { mode, uid, gid, size, times: timestamps(accessed, modified) };
        let (open, caller, notifier) = (self.open_file(handle), caller(request), self.notifier.clone());
        self.hand_over(self.tree.part(number.0), move |tree| {
            let changed = tree.set_attributes(number.0, &change, open.as_deref(), caller);
            if changed.is_err() {
                // Some of it may have been done.
                forget_attributes(&notifier, number);
            }
            attr(reply, number.0, changed.map(|stat| (stat, tree.metadata.validity().attributes)));
        });
    }

    fn readlink(&self, _request: &Request, number: INodeNo, reply: ReplyData) {
        self.ask_about(number, move |tree| bytes(reply, tree.read_link(number.0)));
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        device: u32,
        reply: ReplyEntry,
    ) {
        let (caller, device) = (caller(request), decoded_device(device));
        self.ask_in(parent, name, move |tree, name| {
            entry(reply, tree, tree.make_node(parent.0, name, NewMode { mode, umask }, device, caller));
        });
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        let (caller, mode) = (caller(request), NewMode { mode, umask });
        self.ask_in(parent, name, move |tree, name| {
            entry(reply, tree, tree.make_directory(parent.0, name, mode, caller))
        });
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let caller = caller(request);
        self.ask_in(parent, name, move |tree, name| empty(reply, tree.unlink(parent.0, name, caller)));
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let caller = caller(request);
        self.ask_in(parent, name, move |tree, name| empty(reply, tree.remove_directory(parent.0, name, caller)));
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let (caller, target) = (caller(request), target.to_owned());
        self.ask_in(parent, name, move |tree, name| {
            entry(reply, tree, tree.make_link(parent.0, name, &target, caller))
        });
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let flags = rustix::fs::RenameFlags::from_bits_retain(flags.bits());
        let (caller, new_name) = (caller(request), new_name.to_owned());
        self.ask_in(parent, name, move |tree, name| {
            empty(reply, tree.rename((parent.0, name), (new_parent.0, &new_name), flags, caller));
        });
    }

    fn link(&self, request: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let caller = caller(request);
        self.ask_in(parent, name, move |tree, name| entry(reply, tree, tree.link(number.0, parent.0, name, caller)));
    }

    fn open(&self, request: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let (caller, flags, notifier) = (caller(request), flags.0 as u32, self.notifier.clone());
        self.ask_about(number, move |tree| match tree.open(number.0, flags, caller) {
            Ok((open, seen)) => {
                // What it believes for long may be older than what has just been looked at.
                if seen == Seen::Other || (seen == Seen::Same && tree.metadata.believes()) {
                    forget_attributes(&notifier, number);
                }
                reply.opened(FileHandle(tree.hold(open)), fopen_flags(tree.mode(), flags, seen != Seen::Other));
            }
            Err(error) => reply.error(errno(error)),
        });
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let (caller, flags, mode) = (caller(request), flags as u32, NewMode { mode, umask });
        self.ask_in(parent, name, move |tree, name| match tree.create(parent.0, name, mode, flags, caller) {
            Ok((Found { number, stat, .. }, open)) => {
                let (attributes, handle) = (attributes(number, &stat), FileHandle(tree.hold(open)));
                let flags = fopen_flags(tree.mode(), flags, true);
                // One time for both, the shorter one.
                reply.created(&tree.metadata.validity().names, &attributes, Generation(0), handle, flags);
            }
            Err(error) => reply.error(errno(error)),
        });
    }

    fn read(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let open = match self.tree.files.get(handle.0) {
            Ok(open) => open,
            Err(error) => return reply.error(errno(error)),
        };
        reading::read(&self.tree, &self.workers, open, offset, size as usize, reply);
    }

    fn write(
        &self,
        _request: &Request,
        number: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let data = data.to_vec();
        let notifier = self.notifier.clone();
        // What a mapping has changed is written where it was mapped.
        let is_mapped = write_flags.contains(WriteFlags::FUSE_WRITE_CACHE);
        let flags = if is_mapped { OFlags::empty() } else { OFlags::from_bits_retain(flags.0 as u32) };
        self.with_file(handle, move |tree, open| {
            let written = open.and_then(|open| {
                let kills = write_flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID);
                let had_privileges = kills && tree.drop_privileges(&open)?;
                // The source takes them away when it is written to, which is before somebody else runs it.
                let written = tree.write(&open, offset, &data, flags, !had_privileges);
                if had_privileges {
                    forget_attributes(&notifier, number);
                }
                written
            });
            match written {
                Ok((length, elsewhere)) => {
                    reply.written(length as u32);
                    // The kernel believes it at `offset`. It lets go of the pages once it has the answer.
                    if let (Some(_), Some(notifier)) = (elsewhere, notifier.get()) {
                        let _ = notifier.inval_inode(number, 0, 0);
                    }
                }
                Err(error) => reply.error(errno(error)),
            }
        });
    }

    fn flush(&self, _request: &Request, _number: INodeNo, handle: FileHandle, _owner: LockOwner, reply: ReplyEmpty) {
        self.with_file(handle, |tree, open| empty(reply, open.and_then(|open| tree.flush(&open))));
    }

    fn release(
        &self,
        _request: &Request,
        number: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        let open = self.tree.release(handle.0);
        self.ask_about(number, move |tree| {
            open.iter().for_each(|open| tree.write_last(open));
            drop(open);
            reply.ok();
        });
    }

    fn fsync(&self, _request: &Request, _number: INodeNo, handle: FileHandle, data_only: bool, reply: ReplyEmpty) {
        self.with_file(handle, move |tree, open| empty(reply, open.and_then(|open| tree.sync(&open, data_only))));
    }

    fn fallocate(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        self.with_file(handle, move |tree, open| {
            empty(reply, open.and_then(|open| tree.allocate(&open, offset, length, mode as u32)));
        });
    }

    fn lseek(
        &self,
        _request: &Request,
        number: INodeNo,
        handle: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        // The kernel passes on no other two.
        const HOLE: i32 = 4;
        let open = self.tree.files.get(handle.0);
        self.ask_about(number, move |tree| {
            let offset = u64::try_from(offset).map_err(|_| rustix::io::Errno::NXIO.into());
            match offset.and_then(|offset| tree.seek(&*open?, offset, whence == HOLE)) {
                Ok(offset) => reply.offset(offset as i64),
                Err(error) => reply.error(errno(error)),
            }
        });
    }

    fn opendir(&self, request: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let caller = caller(request);
        self.ask_about(number, move |tree| match tree.open_directory(number.0, caller) {
            Ok((open, listing)) => reply.opened(FileHandle(tree.directories.add(open)), listing_flags(listing)),
            Err(error) => reply.error(errno(error)),
        });
    }

    fn readdir(&self, request: &Request, number: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let (open, caller) = (self.tree.directories.get(handle.0), caller(request));
        self.ask_about(number, move |tree| {
            let mut bytes = 0;
            let listed = open.and_then(|open| {
                open.list(offset, |Listed { inode, kind: is, name, next }| {
                    let is_full = reply.add(INodeNo(*inode), *next, kind(*is), name);
                    bytes += if is_full { 0 } else { 24 + name.len() as u64 };
                    !is_full
                })
            });
            match listed {
                Ok(()) => {
                    if let Ok(node) = tree.node(number.0) {
                        tree.note(Op::List, &node, caller, bytes);
                    }
                    reply.ok();
                }
                Err(error) => reply.error(errno(error)),
            }
        });
    }

    fn releasedir(
        &self,
        _request: &Request,
        number: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        let open = self.tree.directories.close(handle.0);
        self.ask_about(number, move |_| {
            drop(open);
            reply.ok();
        });
    }

    fn fsyncdir(&self, _request: &Request, number: INodeNo, handle: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        let open = self.tree.directories.get(handle.0);
        let sync = move |tree: &Tree| empty(reply, open.and_then(|open| tree.sync_directory(&open)));
        self.hand_over(self.tree.part(number.0), sync);
    }

    fn statfs(&self, _request: &Request, number: INodeNo, reply: ReplyStatfs) {
        self.ask_about(number, move |tree| match tree.space(number.0) {
            Ok(space) => reply.statfs(
                space.f_blocks,
                space.f_bfree,
                space.f_bavail,
                space.f_files,
                space.f_ffree,
                space.f_bsize as u32,
                space.f_namemax as u32,
                space.f_frsize as u32,
            ),
            Err(error) => reply.error(errno(error)),
        });
    }

    fn setxattr(
        &self,
        request: &Request,
        number: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        let (name, value, caller) = (name.to_owned(), value.to_vec(), caller(request));
        self.ask_about(number, move |tree| {
            empty(reply, tree.set_xattr(number.0, &name, &value, flags as u32, caller));
        });
    }

    fn getxattr(&self, request: &Request, number: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let (name, caller) = (name.to_owned(), caller(request));
        self.ask_about(number, move |tree| sized(reply, size, tree.xattr(number.0, &name, caller)));
    }

    fn listxattr(&self, request: &Request, number: INodeNo, size: u32, reply: ReplyXattr) {
        let caller = caller(request);
        self.ask_about(number, move |tree| sized(reply, size, tree.xattrs(number.0, caller)));
    }

    fn removexattr(&self, request: &Request, number: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let (name, caller) = (name.to_owned(), caller(request));
        self.ask_about(number, move |tree| empty(reply, tree.remove_xattr(number.0, &name, caller)));
    }
}
