//! The served directory: every call of a file system, on the source's files, with data going through the cache.
//!
//! What makes, opens, changes or removes something is done with the rights of who asks (`credentials.rs`). Names and
//! attributes are looked at with those of this process: the kernel keeps what it hears for all users, and decides
//! itself who may see them.

mod names;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::Receiver;

use hotset_cache::source::{self, Stamp};
use hotset_cache::workers::Part;
use hotset_cache::{FileCache, FileNumber, Stream};
use hotset_core::request::{Kind, Op};
use rustix::fs::{
    Access, AtFlags, CWD, FallocateFlags, FileType, Gid, Mode, OFlags, RawMode, SeekFrom, Stat, StatVfs, Timestamps,
    Uid, XattrFlags,
};
use rustix::io::Errno;

use crate::credentials::{Caller, Credentials, Rights};
use crate::handles::{Handles, OpenFile};
use crate::listing::OpenDirectory;
use crate::nodes::{Node, Nodes, patiently};
use crate::{Mode as Serving, Options, Store};

/// A change of attributes; what is `None` stays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub size: Option<u64>,
    pub times: Option<Timestamps>,
}

impl Attributes {
    fn is_empty(&self) -> bool {
        matches!(self, Attributes { mode: None, uid: None, gid: None, size: None, times: None })
    }
}

/// The mode that something new is asked to have, its kind included, and the mask of who asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewMode {
    pub mode: u32,
    pub umask: u32,
}

impl NewMode {
    /// The mode to ask the source for. What is new in a directory that has an access list for it gets that list, and
    /// the mask does not count.
    fn within(self, parent: &Node) -> io::Result<Mode> {
        let has_list = rustix::fs::getxattr(parent.path()?, "system.posix_acl_default", &mut [0; 0]).is_ok();
        Ok(permissions(if has_list { self.mode } else { self.mode & !self.umask }))
    }
}

/// The served directory.
pub(crate) struct Tree {
    nodes: Nodes,
    cache: Option<Arc<FileCache>>,
    store: Arc<dyn Store>,
    options: Options,
    rights: Arc<Rights>,
    /// Nothing more is opened.
    is_stopping: AtomicBool,
    /// From this number of an application on it is looked which of them have ended.
    fold_at: AtomicU32,
    pub files: Handles<OpenFile>,
    pub directories: Handles<OpenDirectory>,
}

/// A file that has been opened with the rights of `opener`, if they are not those of this process.
struct Granted {
    file: File,
    opener: Option<Credentials>,
    /// It was opened for appending, and can be for nothing else.
    only_grows: bool,
}

/// The bit in the flags of an open that says that the file will be executed; known to the kernel only.
const FOR_EXECUTION: u32 = 0x20;

impl Tree {
    /// Serves `source`; without a cache every read goes to the source.
    /// Whenever the receiver is told, the kernel is to forget the [`oldest`](Tree::oldest) files.
    pub fn new(
        source: &Path,
        cache: Option<Arc<FileCache>>,
        store: Arc<dyn Store>,
        options: Options,
    ) -> io::Result<(Tree, Receiver<()>)> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let (nodes, crowded) = Nodes::new(rustix::fs::open(source, flags, Mode::empty())?)?;
        let tree = Tree {
            nodes,
            cache,
            store,
            options,
            rights: Arc::new(Rights::new()?),
            is_stopping: AtomicBool::new(false),
            fold_at: AtomicU32::new(APPS),
            files: Handles::default(),
            directories: Handles::default(),
        };
        Ok((tree, crowded))
    }

    /// The cache, as long as it is fit for use.
    pub fn cache(&self) -> Option<&Arc<FileCache>> {
        self.cache.as_ref().filter(|cache| !cache.is_broken())
    }

    /// Serves one request. A panic ends the use of the cache and that request, which is answered with an error since
    /// nobody else has answered it; a read is answered by the source.
    pub fn contain(&self, serve: impl FnOnce(&Tree)) {
        match &self.cache {
            Some(cache) => drop(cache.contain(|| serve(self))),
            None => drop(catch_unwind(AssertUnwindSafe(|| serve(self)))),
        }
    }

    pub fn mode(&self) -> Serving {
        self.options.mode
    }

    /// From now on whatever is to be opened is refused.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    pub fn is_idle(&self) -> bool {
        self.files.is_empty() && self.directories.is_empty()
    }

    fn check_goes_on(&self) -> io::Result<()> {
        if self.is_stopping.load(Ordering::Relaxed) { Err(rustix::io::Errno::SHUTDOWN.into()) } else { Ok(()) }
    }

    pub fn node(&self, number: u64) -> io::Result<Arc<Node>> {
        self.nodes.get(number)
    }

    /// What the file with this number hangs with.
    pub fn part(&self, number: u64) -> Part {
        self.node(number).map(|node| node.part()).unwrap_or_default()
    }

    /// What a name in a directory hangs with.
    pub fn part_of(&self, parent: u64, name: &OsStr) -> Part {
        self.node(parent).map(|parent| parent.part_of(name)).unwrap_or_default()
    }

    /// [`Nodes::oldest`].
    pub fn oldest(&self) -> Vec<(u64, OsString)> {
        self.nodes.oldest()
    }

    pub fn forget(&self, number: u64, times: u64) {
        self.nodes.forget(number, times);
        self.cache().into_iter().for_each(|cache| self.nodes.sift(|file| cache.forget(file)));
    }

    pub fn read_link(&self, number: u64) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(self.node(number)?.as_ref(), "", Vec::new())?.into_bytes())
    }

    pub fn stat(&self, number: u64) -> io::Result<Stat> {
        self.node(number)?.stat()
    }

    /// Changes attributes with the rights of who asks; a size through the file that is `open` for writing, if one is.
    pub fn set_attributes(
        &self,
        number: u64,
        change: &Attributes,
        open: Option<&OpenFile>,
        caller: Caller,
    ) -> io::Result<Stat> {
        let node = self.writable(number)?;
        if let Some(size) = change.size {
            match open {
                Some(open) if is_for_writing(&open.file)? => self.set_size(open, size)?,
                _ => self.set_size(&self.open(number, OFlags::WRONLY.bits(), caller)?.0, size)?,
            }
        }
        let (uid, gid) = (change.uid.map(Uid::from_raw), change.gid.map(Gid::from_raw));
        let chown = || rustix::fs::chownat(&node, "", uid, gid, AtFlags::EMPTY_PATH);
        if uid.is_some() || gid.is_some() {
            self.rights.act(caller, chown)?;
        } else if change.is_empty() {
            // A change of the owner to nobody, which takes the set-user-id bit away, or a write to such a file, which
            // will do so and may be somebody else's.
            let _ = self.rights.act(caller, chown);
        }
        if let Some(mode) = change.mode {
            let path = node.path()?;
            self.rights.act(caller, || rustix::fs::chmod(&path, permissions(mode)))?;
        }
        if let Some(times) = &change.times {
            self.rights.act(caller, || rustix::fs::utimensat(&node, "", times, AtFlags::EMPTY_PATH))?;
        }
        self.restamp(&node);
        node.stat()
    }

    fn set_size(&self, open: &OpenFile, size: u64) -> io::Result<()> {
        match self.cache() {
            Some(cache) => cache.set_len(&open.access(), size),
            None => open.source.set_len(size),
        }
    }

    /// Opens a file. True with it if the kernel may keep what it has of the data.
    pub fn open(&self, number: u64, flags: u32, caller: Caller) -> io::Result<(OpenFile, bool)> {
        self.check_goes_on()?;
        let node = self.node(number)?;
        let wanted = data_flags(flags);
        if self.options.readonly && wanted.intersects(OFlags::WRONLY | OFlags::RDWR | OFlags::TRUNC) {
            return Err(Errno::ROFS.into());
        }
        let path = node.path()?;
        let open = |wanted| rustix::fs::open(&path, wanted, Mode::empty());
        let executes = flags & FOR_EXECUTION != 0;
        let granted = if executes {
            // Who may execute a program need not be allowed to read it.
            self.rights.act(caller, || rustix::fs::accessat(CWD, &path, Access::EXEC_OK, AtFlags::EACCESS))?;
            Granted { file: patiently(|| open(wanted))?.into(), opener: None, only_grows: false }
        } else {
            self.grant(flags, wanted - OFlags::TRUNC, caller, open)?
        };
        let (open, same) = self.opened(&node, granted, caller, executes)?;
        if wanted.contains(OFlags::TRUNC) {
            self.set_size(&open, 0)?;
        }
        Ok((open, same))
    }

    /// Has `open` open a file with the rights of the caller, who said `flags`, and what is wanted of the source.
    fn grant(
        &self,
        flags: u32,
        wanted: OFlags,
        caller: Caller,
        open: impl Fn(OFlags) -> rustix::io::Result<OwnedFd>,
    ) -> io::Result<Granted> {
        let opener = self.rights.of(caller)?;
        let (file, only_grows) = self.rights.with(opener.as_ref(), || match patiently(|| open(wanted)) {
            // A file that can only be appended to (chattr +a) is opened for nothing else.
            Err(error) if is(&error, Errno::PERM) && flags & OFlags::APPEND.bits() != 0 => {
                Ok((patiently(|| open(wanted | OFlags::APPEND))?, true))
            }
            opened => Ok((opened?, false)),
        })?;
        Ok(Granted { file: file.into(), opener, only_grows })
    }

    fn opened(
        &self,
        node: &Arc<Node>,
        granted: Granted,
        caller: Caller,
        executes: bool,
    ) -> io::Result<(OpenFile, bool)> {
        let Granted { file, opener, only_grows } = granted;
        let file = Arc::new(file);
        let mut source = self.store.open(file.clone());
        if let Some(cache) = &self.cache {
            source = cache.watch(source);
        }
        let source = self.rights.writes(opener.clone(), source);
        // With a cache that is not fit for use nobody knows what the file was like.
        let (mut number, mut app, mut same) = (0, 0, self.cache.is_none());
        if let Some(cache) = self.cache() {
            number = self.number(cache, node);
            app = self.app(cache, caller);
            same = cache.opened(number, source.as_ref())?;
            if cache.wants(Op::Open, Some(number)) {
                cache.note(Op::Open, number, app, 0, false);
            }
        }
        let stream = (self.options.mode == Serving::Strict && self.cache().is_some()).then(Stream::default);
        Ok((OpenFile { file, source, opener, only_grows, number, app, executes, stream, node: node.clone() }, same))
    }

    /// Writes; gives how many bytes, and where they begin if that is not at `offset`. One who appends does so behind
    /// the source's own end, since the kernel may not know it.
    pub fn write(&self, open: &OpenFile, offset: u64, data: &[u8], flags: OFlags) -> io::Result<(usize, Option<u64>)> {
        if open.only_grows && !flags.contains(OFlags::APPEND) {
            return Err(Errno::PERM.into());
        }
        let done = match (self.cache(), flags.contains(OFlags::APPEND)) {
            (Some(cache), true) => cache.append(&open.access(), data).map(|(at, done)| (done, at)),
            (None, true) => open.source.append(data).map(|(at, done)| (done, at)),
            (Some(cache), false) => cache.write(&open.access(), offset, data).map(|done| (done, offset)),
            (None, false) => source::write_full(open.source.as_ref(), data, offset).map(|done| (done, offset)),
        };
        let (done, at) = done?;
        // A single write may ask for it, too; where the open did, the source has done it.
        let asked = flags & (OFlags::SYNC | OFlags::DSYNC);
        if !asked.is_empty() && !rustix::fs::fcntl_getfl(&open.file)?.contains(asked) {
            self.sync(open, !flags.contains(OFlags::SYNC))?;
        }
        Ok((done, Some(at).filter(|&at| at != offset)))
    }

    /// Before a write by a user without the right to keep them: has the file lose the bits that let others run it with
    /// its owner's rights. True if it has any.
    pub fn drop_privileges(&self, open: &OpenFile) -> io::Result<bool> {
        let stat = rustix::fs::fstat(&open.file)?;
        let mode = permissions(stat.st_mode);
        // What is written with a user's rights the source takes them from itself.
        if open.opener.is_some() {
            return Ok(mode.intersects(Mode::SUID | Mode::SGID));
        }
        // Without the right of its group to run it that bit stands for something else.
        let group = if mode.contains(Mode::XGRP) { Mode::SGID } else { Mode::empty() };
        let privileges = mode & (Mode::SUID | group);
        if privileges.is_empty() {
            return Ok(false);
        }
        rustix::fs::fchmod(&open.file, mode - privileges)?;
        if let Some(cache) = self.cache() {
            cache.restamp(open.number, stamp(&rustix::fs::fstat(&open.file)?));
        }
        Ok(true)
    }

    /// Has the source do what it does when a file is closed, and tell of it: file systems of networks write back then.
    pub fn flush(&self, open: &OpenFile) -> io::Result<()> {
        // Closing any descriptor of the file does it. To drop one would not say what came of it.
        Ok(nix::unistd::close(open.file.try_clone()?)?)
    }

    pub fn sync(&self, open: &OpenFile, data_only: bool) -> io::Result<()> {
        match self.cache() {
            Some(cache) => cache.sync(&open.access(), data_only),
            None => open.source.sync(data_only),
        }
    }

    pub fn allocate(&self, open: &OpenFile, offset: u64, length: u64, mode: u32) -> io::Result<()> {
        let flags = FallocateFlags::from_bits(mode).ok_or(Errno::OPNOTSUPP)?;
        let allocate =
            || self.rights.with(open.opener.as_ref(), || Ok(rustix::fs::fallocate(&open.file, flags, offset, length)?));
        // Some shift all that lies behind.
        let shifts = flags.intersects(FallocateFlags::COLLAPSE_RANGE | FallocateFlags::INSERT_RANGE);
        let range = offset..if shifts { u64::MAX } else { offset.saturating_add(length) };
        match self.cache() {
            Some(cache) => cache.change(&open.access(), &range, allocate),
            None => allocate(),
        }
    }

    /// Where data or a hole begins.
    pub fn seek(&self, open: &OpenFile, offset: u64, is_hole: bool) -> io::Result<u64> {
        let position = if is_hole { SeekFrom::Hole(offset) } else { SeekFrom::Data(offset) };
        Ok(rustix::fs::seek(&open.file, position)?)
    }

    pub fn open_directory(&self, number: u64, caller: Caller) -> io::Result<OpenDirectory> {
        self.check_goes_on()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let path = self.node(number)?.path()?;
        let descriptor = self.rights.act(caller, || rustix::fs::open(&path, flags, Mode::empty()))?;
        Ok(OpenDirectory::new(descriptor))
    }

    pub fn sync_directory(&self, open: &OpenDirectory) -> io::Result<()> {
        Ok(rustix::fs::fsync(&open.descriptor)?)
    }

    pub fn space(&self, number: u64) -> io::Result<StatVfs> {
        Ok(rustix::fs::fstatvfs(self.node(number)?.as_ref())?)
    }

    pub fn set_xattr(&self, number: u64, name: &OsStr, value: &[u8], flags: u32, caller: Caller) -> io::Result<()> {
        let (node, flags) = (self.writable(number)?, XattrFlags::from_bits_retain(flags));
        let path = node.path()?;
        self.rights.act(caller, || rustix::fs::setxattr(&path, name, value, flags))?;
        self.restamp(&node);
        Ok(())
    }

    pub fn xattr(&self, number: u64, name: &OsStr, caller: Caller) -> io::Result<Vec<u8>> {
        let path = self.node(number)?.path()?;
        let mut value = Vec::with_capacity(MOST_XATTR);
        let mut get = || rustix::fs::getxattr(&path, name, rustix::buffer::spare_capacity(&mut value));
        // What the kernel asks for again and again, and everybody may read.
        let is_free = ["security.", "system."].iter().any(|free| name.as_encoded_bytes().starts_with(free.as_bytes()));
        if is_free {
            get()?
        } else {
            self.rights.act(caller, get)?
        };
        Ok(value)
    }

    pub fn xattrs(&self, number: u64, caller: Caller) -> io::Result<Vec<u8>> {
        // Links have none of a user's.
        let Ok(path) = self.node(number)?.path() else { return Ok(Vec::new()) };
        let mut names = Vec::with_capacity(MOST_XATTR);
        self.rights.act(caller, || rustix::fs::listxattr(&path, rustix::buffer::spare_capacity(&mut names)))?;
        Ok(names)
    }

    pub fn remove_xattr(&self, number: u64, name: &OsStr, caller: Caller) -> io::Result<()> {
        let node = self.writable(number)?;
        let path = node.path()?;
        let remove = || rustix::fs::removexattr(&path, name);
        // The kernel has a file lose its capabilities when somebody changes it, who may not take them away otherwise.
        // It lets nobody ask for that.
        if name == "security.capability" {
            remove()?
        } else {
            self.rights.act(caller, remove)?
        }
        self.restamp(&node);
        Ok(())
    }

    /// The node, if anything may be changed.
    fn writable(&self, number: u64) -> io::Result<Arc<Node>> {
        if self.options.readonly { Err(Errno::ROFS.into()) } else { self.node(number) }
    }

    /// The number that the cache has for a file.
    fn number(&self, cache: &FileCache, node: &Node) -> FileNumber {
        let kind = match node.kind {
            FileType::RegularFile => Kind::Datafile,
            FileType::Directory => Kind::Directory,
            _ => Kind::Other,
        };
        *node.file.get_or_init(|| cache.file(&node.name(), kind))
    }

    /// The number that the cache has for the application that asks.
    fn app(&self, cache: &FileCache, caller: Caller) -> u32 {
        let number = cache.app(&self.options.app_by.name(caller.pid, caller.uid));
        if number >= self.fold_at.load(Ordering::Relaxed) {
            self.fold(cache);
        }
        number
    }

    /// Has the cache fold the applications that have ended and have nothing open. The next time is when there are twice
    /// as many as are left.
    fn fold(&self, cache: &FileCache) {
        let open: HashSet<u32> = self.files.all().iter().map(|open| open.app).collect();
        let (names, app_by) = (cache.apps(), self.options.app_by);
        let ended = (0..).zip(&names).filter(|(number, name)| !open.contains(number) && app_by.is_over(name));
        cache.fold(ended.map(|(number, _)| number));
        let left = cache.apps().iter().filter(|name| !name.is_empty()).count() as u32;
        self.fold_at.store(APPS.max(2 * left), Ordering::Relaxed);
    }

    /// Tells the cache of a call that moves no data, if it wants to know.
    pub fn note(&self, op: Op, node: &Node, caller: Caller, length: u64) {
        let Some(cache) = self.cache().filter(|cache| cache.wants(op, node.file.get().copied())) else { return };
        let app = self.app(cache, caller);
        cache.note(op, self.number(cache, node), app, length, false);
    }

    /// The file lost a name. Its blocks leave the cache with its last name, and its last handle.
    fn lost_name(&self, node: &Node, caller: Caller) {
        let Some(cache) = self.cache() else { return };
        if node.stat().is_ok_and(|stat| stat.st_nlink > 0) {
            self.note(Op::Rename, node, caller, 0);
        } else if !node.deleted(self.app(cache, caller)) {
            self.note(Op::Unlink, node, caller, 0);
        }
    }

    /// A handle for what was opened.
    pub fn hold(&self, open: OpenFile) -> u64 {
        open.node.opened();
        self.files.add(open)
    }

    /// The handle is closed. To let go of what it gives may wait for the source.
    pub fn release(&self, handle: u64) -> Option<Arc<OpenFile>> {
        let open = self.files.close(handle)?;
        if let (Some(cache), Some(app)) = (self.cache(), open.node.closed())
            && cache.wants(Op::Unlink, Some(open.number))
        {
            cache.note(Op::Unlink, open.number, app, 0, false);
        }
        Some(open)
    }

    /// What was just changed here is no change behind the mount.
    fn restamp(&self, node: &Node) {
        if let (Some(cache), Some(&number)) = (self.cache(), node.file.get())
            && let Ok(stat) = node.stat()
        {
            cache.restamp(number, stamp(&stat));
        }
    }
}

/// [`Tree::fold_at`] at least.
const APPS: u32 = 256;

/// Bytes of the largest extended attribute, and of the longest list of their names.
const MOST_XATTR: usize = 1 << 16;

/// What of the flags of an open matters to the source. To append is a matter of each write: the flag may be set later.
fn data_flags(flags: u32) -> OFlags {
    let kept = OFlags::RWMODE | OFlags::TRUNC | OFlags::NOATIME | OFlags::SYNC | OFlags::DSYNC;
    OFlags::from_bits_retain(flags) & kept | OFlags::CLOEXEC
}

fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as RawMode & 0o7777)
}

fn is_for_writing(file: &File) -> io::Result<bool> {
    Ok(rustix::fs::fcntl_getfl(file)?.intersects(OFlags::WRONLY | OFlags::RDWR))
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

/// What tells whether a file was changed.
pub(crate) fn stamp(stat: &Stat) -> Stamp {
    // Where it is not the kernel's own type, nanoseconds have a sign.
    fn nanos(seconds: i64, nanos: impl Into<i128>) -> i128 {
        i128::from(seconds) * 1_000_000_000 + nanos.into()
    }
    let modified = nanos(stat.st_mtime, stat.st_mtime_nsec);
    Stamp::of_times(stat.st_size as u64, modified, nanos(stat.st_ctime, stat.st_ctime_nsec))
}
