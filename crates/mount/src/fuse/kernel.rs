//! Translates the kernel's requests to calls of [`Served`]. Only the files of this folder use the FUSE protocol.
//!
//! Several threads take requests (`session.rs`), and some of them are always free for hits: every call of the source
//! goes through [`Workers`], where a failure domain that hangs does not block the others. The thread that took the
//! request makes calls that are normally short, as long as few threads are blocked in them; another thread makes calls
//! that may take long (reads that miss, writes, flushes).

use std::ffi::OsStr;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig, LockOwner,
    Notifier, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use hotset_cache::Upcoming;
use hotset_cache::workers::{FailureDomain, Workers};
use rustc_hash::FxHasher;
use rustix::fs::{OFlags, Stat};

use crate::Mode;
use crate::fuse::reading;
use crate::fuse::values::{attributes, decoded_device, kind, no_attributes, timestamps};
use crate::served::credentials::Caller;
use crate::served::listing::Listed;
use crate::served::{Attributes, Found, Listing, NewMode, Seen, Served};

/// Bytes that one request moves, at most.
const LONGEST: u32 = 1 << 20;

/// The FUSE file system that the kernel calls.
pub(crate) struct Kernel {
    served: Arc<dyn Served>,
    workers: Arc<Workers>,
    notifier: Arc<OnceLock<Notifier>>,
}

impl Kernel {
    /// Tells the kernel what it must not believe any more through `notifier`, which is set once there is a mount.
    pub fn new(served: Arc<dyn Served>, workers: Arc<Workers>, notifier: Arc<OnceLock<Notifier>>) -> Kernel {
        Kernel { served, workers, notifier }
    }

    /// Asks the source for what it answers soon, unless this part of it hangs.
    fn ask(&self, part: FailureDomain, work: impl FnOnce(&dyn Served) + Send + 'static) {
        let served = self.served.clone();
        self.workers.run_here(part, move || served.contain(work));
    }

    /// The same about the file with this number.
    fn ask_about(&self, number: INodeNo, work: impl FnOnce(&dyn Served) + Send + 'static) {
        self.ask(self.served.part(number.0), work);
    }

    /// The same about a name in a directory, which `work` is given as well.
    fn ask_in(&self, parent: INodeNo, name: &OsStr, work: impl FnOnce(&dyn Served, &OsStr) + Send + 'static) {
        let part = self.served.part_of(parent.0, name);
        let name = name.to_owned();
        self.ask(part, move |served| work(served, &name));
    }

    /// Does what waits for the source in another thread.
    fn hand_over(&self, part: FailureDomain, work: impl FnOnce(&dyn Served) + Send + 'static) {
        let served = self.served.clone();
        self.workers.run(part, move || served.contain(work));
    }

    /// The same about an open file.
    fn with_file(&self, handle: FileHandle, work: impl FnOnce(&dyn Served) + Send + 'static) {
        let part = self.served.data(handle.0).map(|data| data.part).unwrap_or_default();
        self.hand_over(part, work);
    }
}

/// True if what is opened with these flags can be read.
fn is_for_reading(flags: u32) -> bool {
    OFlags::from_bits_retain(flags) & OFlags::RWMODE != OFlags::WRONLY
}

/// Prefetches a file of the announced order in another thread. A file that cannot be prefetched is read when it is
/// asked for.
fn prefetch(served: &Arc<dyn Served>, workers: &Workers, upcoming: Upcoming) {
    let mut hasher = FxHasher::default();
    upcoming.path.hash(&mut hasher);
    let part = FailureDomain { device: PREFETCHING, what: hasher.finish() };
    let served = served.clone();
    workers.run(part, move || {
        served.contain(|served| {
            let has_read = served.prefetch(&upcoming).unwrap_or(false);
            served.cache().iter().for_each(|cache| cache.end_prefetch(has_read));
        });
    });
}

/// The device of prefetches, which no file has: sources that hang on them do not delay calls.
const PREFETCHING: u64 = u64::MAX - 1;

/// The kernel's treatment of a file opened with `flags`; it may keep its pages if the file is the `same`.
fn fopen_flags(mode: Mode, flags: u32, same: bool) -> FopenFlags {
    let cached = match (mode, same) {
        (Mode::Strict, _) => FopenFlags::FOPEN_DIRECT_IO,
        (Mode::Fast | Mode::Steered, true) => FopenFlags::FOPEN_KEEP_CACHE,
        (Mode::Fast | Mode::Steered, false) => FopenFlags::empty(),
    };
    // A handle without writes need not learn at the close whether they have arrived.
    let reads_only = !OFlags::from_bits_retain(flags).intersects(OFlags::WRONLY | OFlags::RDWR);
    if reads_only { cached | FopenFlags::FOPEN_NOFLUSH } else { cached }
}

/// The kernel's treatment of a directory's listing.
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
        // The kernel need not forget a file that it does not know.
        let _ = notifier.inval_inode(number, -1, 0);
    }
}

fn caller(request: &Request) -> Caller {
    Caller { uid: request.uid(), gid: request.gid(), pid: request.pid() }
}

/// Answers with an entry or with the error.
fn entry(reply: ReplyEntry, found: io::Result<Found>) {
    match found {
        Ok(Found { number, stat, named, left }) => {
            reply.entry_with_ttls(&left, &named, &attributes(number, &stat), Generation(0));
        }
        Err(error) => reply.error(errno(error)),
    }
}

/// The same of a name that is looked up: the kernel may keep that there is none.
fn looked_up(reply: ReplyEntry, served: &dyn Served, found: io::Result<Found>) {
    let nothing = served.validity().nothing;
    let is_nothing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound && !nothing.is_zero();
    match found {
        Err(error) if is_nothing(&error) => reply.entry(&nothing, &no_attributes(), Generation(0)),
        found => entry(reply, found),
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
        // Features that an older kernel does not support are left out.
        let wanted = match self.served.mode() {
            Mode::Strict => InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
            Mode::Fast | Mode::Steered => InitFlags::FUSE_AUTO_INVAL_DATA,
        };
        let _ = config.add_capabilities(wanted | InitFlags::FUSE_PARALLEL_DIROPS);
        // The source clears the set-user-id bit; the kernel would set the mode with the writer's credentials, which may
        // not suffice.
        let _ = config.add_capabilities(InitFlags::FUSE_HANDLE_KILLPRIV_V2);
        // The kernel checks access lists, and leaves it to us where the caller's mask counts.
        let _ = config.add_capabilities(InitFlags::FUSE_POSIX_ACL | InitFlags::FUSE_DONT_MASK);
        if self.served.cuts_at_open() {
            let _ = config.add_capabilities(InitFlags::FUSE_ATOMIC_O_TRUNC);
        }
        let _ = config.set_max_write(LONGEST);
        let _ = config.set_max_readahead(LONGEST);
        // The kernel sends no read-ahead and no closes for any file while this many of them hang.
        let _ = config.set_max_background(1024);
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let caller = caller(request);
        self.ask_in(parent, name, move |served, name| looked_up(reply, served, served.look_up(parent.0, name, caller)));
    }

    fn forget(&self, _request: &Request, number: INodeNo, times: u64) {
        self.ask_about(number, move |served| served.forget(number.0, times));
    }

    fn getattr(&self, _request: &Request, number: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        self.ask_about(number, move |served| attr(reply, number.0, served.stat(number.0)));
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
        let (caller, notifier) = (caller(request), self.notifier.clone());
        self.hand_over(self.served.part(number.0), move |served| {
            let changed = served.set_attributes(number.0, &change, handle.map(|handle| handle.0), caller);
            if changed.is_err() {
                // Some of it may have been done.
                forget_attributes(&notifier, number);
            }
            attr(reply, number.0, changed);
        });
    }

    fn readlink(&self, _request: &Request, number: INodeNo, reply: ReplyData) {
        self.ask_about(number, move |served| bytes(reply, served.read_link(number.0)));
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
        self.ask_in(parent, name, move |served, name| {
            entry(reply, served.make_node(parent.0, name, NewMode { mode, umask }, device, caller));
        });
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        let (caller, mode) = (caller(request), NewMode { mode, umask });
        self.ask_in(parent, name, move |served, name| {
            entry(reply, served.make_directory(parent.0, name, mode, caller))
        });
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let caller = caller(request);
        self.ask_in(parent, name, move |served, name| empty(reply, served.unlink(parent.0, name, caller)));
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let caller = caller(request);
        self.ask_in(parent, name, move |served, name| empty(reply, served.remove_directory(parent.0, name, caller)));
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let (caller, target) = (caller(request), target.to_owned());
        self.ask_in(parent, name, move |served, name| entry(reply, served.make_link(parent.0, name, &target, caller)));
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
        self.ask_in(parent, name, move |served, name| {
            empty(reply, served.rename((parent.0, name), (new_parent.0, &new_name), flags, caller));
        });
    }

    fn link(&self, request: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let caller = caller(request);
        self.ask_in(parent, name, move |served, name| entry(reply, served.link(number.0, parent.0, name, caller)));
    }

    fn open(&self, request: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let (caller, flags, notifier) = (caller(request), flags.0 as u32, self.notifier.clone());
        let (whole, workers) = (self.served.clone(), self.workers.clone());
        self.ask_about(number, move |served| match served.open(number.0, flags, caller) {
            Ok((open, seen)) => {
                let upcoming = if is_for_reading(flags) { served.started(open) } else { Vec::new() };
                // Attributes that the kernel keeps for long may be older than those just read.
                if seen == Seen::Other || (seen == Seen::Same && served.believes()) {
                    forget_attributes(&notifier, number);
                }
                reply.opened(FileHandle(open), fopen_flags(served.mode(), flags, seen != Seen::Other));
                upcoming.into_iter().for_each(|upcoming| prefetch(&whole, &workers, upcoming));
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
        self.ask_in(parent, name, move |served, name| match served.create(parent.0, name, mode, flags, caller) {
            Ok((Found { number, stat, named, left }, open, seen)) => {
                let (attributes, handle) = (attributes(number, &stat), FileHandle(open));
                let flags = fopen_flags(served.mode(), flags, seen != Seen::Other);
                // One time for both, the shorter one.
                reply.created(&named.min(left), &attributes, Generation(0), handle, flags);
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
        let data = match self.served.data(handle.0) {
            Ok(data) => data,
            Err(error) => return reply.error(errno(error)),
        };
        reading::read(&self.served, &self.workers, data, offset, size as usize, reply);
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
        // Pages changed through a mapping are written where they were mapped.
        let is_mapped = write_flags.contains(WriteFlags::FUSE_WRITE_CACHE);
        let flags = if is_mapped { OFlags::empty() } else { OFlags::from_bits_retain(flags.0 as u32) };
        self.with_file(handle, move |served| {
            let kills = write_flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID);
            let dropped = if kills { served.drop_privileges(handle.0) } else { Ok(false) };
            let written = dropped.and_then(|had_privileges| {
                // The source clears them when it is written to, which is before another process executes the file.
                let written = served.write(handle.0, offset, &data, flags, !had_privileges);
                if had_privileges {
                    forget_attributes(&notifier, number);
                }
                written
            });
            match written {
                Ok((length, elsewhere)) => {
                    reply.written(length as u32);
                    // The kernel assumes that the data is at `offset`. It drops the pages once it has the answer.
                    if let (Some(_), Some(notifier)) = (elsewhere, notifier.get()) {
                        let _ = notifier.inval_inode(number, 0, 0);
                    }
                }
                Err(error) => reply.error(errno(error)),
            }
        });
    }

    fn flush(&self, request: &Request, _number: INodeNo, handle: FileHandle, _owner: LockOwner, reply: ReplyEmpty) {
        let caller = caller(request);
        self.with_file(handle, move |served| empty(reply, served.flush(handle.0, caller)));
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
        let close = self.served.clone().release(handle.0);
        self.ask_about(number, move |_| {
            close();
            reply.ok();
        });
    }

    fn fsync(&self, _request: &Request, _number: INodeNo, handle: FileHandle, data_only: bool, reply: ReplyEmpty) {
        self.with_file(handle, move |served| empty(reply, served.sync(handle.0, data_only)));
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
        self.with_file(handle, move |served| {
            empty(reply, served.allocate(handle.0, offset, length, mode as u32));
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
        self.ask_about(number, move |served| {
            let offset = u64::try_from(offset).map_err(|_| rustix::io::Errno::NXIO.into());
            match offset.and_then(|offset| served.seek(handle.0, offset, whence == HOLE)) {
                Ok(offset) => reply.offset(offset as i64),
                Err(error) => reply.error(errno(error)),
            }
        });
    }

    fn opendir(&self, request: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let caller = caller(request);
        self.ask_about(number, move |served| match served.open_directory(number.0, caller) {
            Ok((open, listing)) => reply.opened(FileHandle(open), listing_flags(listing)),
            Err(error) => reply.error(errno(error)),
        });
    }

    fn readdir(&self, request: &Request, number: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let caller = caller(request);
        self.ask_about(number, move |served| {
            let mut take =
                |Listed { inode, kind: is, name, next }: &Listed| !reply.add(INodeNo(*inode), *next, kind(*is), name);
            match served.list(number.0, handle.0, offset, caller, &mut take) {
                Ok(()) => reply.ok(),
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
        let close = self.served.release_directory(handle.0);
        self.ask_about(number, move |_| {
            close();
            reply.ok();
        });
    }

    fn fsyncdir(&self, _request: &Request, number: INodeNo, handle: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        let sync = move |served: &dyn Served| empty(reply, served.sync_directory(handle.0));
        self.hand_over(self.served.part(number.0), sync);
    }

    fn statfs(&self, _request: &Request, number: INodeNo, reply: ReplyStatfs) {
        self.ask_about(number, move |served| match served.space(number.0) {
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
        self.ask_about(number, move |served| {
            empty(reply, served.set_xattr(number.0, &name, &value, flags as u32, caller));
        });
    }

    fn getxattr(&self, request: &Request, number: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let (name, caller) = (name.to_owned(), caller(request));
        self.ask_about(number, move |served| sized(reply, size, served.xattr(number.0, &name, caller)));
    }

    fn listxattr(&self, request: &Request, number: INodeNo, size: u32, reply: ReplyXattr) {
        let caller = caller(request);
        self.ask_about(number, move |served| sized(reply, size, served.xattrs(number.0, caller)));
    }

    fn removexattr(&self, request: &Request, number: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let (name, caller) = (name.to_owned(), caller(request));
        self.ask_about(number, move |served| empty(reply, served.remove_xattr(number.0, &name, caller)));
    }
}
