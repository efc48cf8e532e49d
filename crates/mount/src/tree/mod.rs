//! The served directory: every call of a file system, on the source's files, with data going through the cache.
//!
//! Calls that create, open, change or remove something use the caller's credentials (`served/credentials.rs`). Names
//! and attributes are read with those of this process: the kernel keeps the answers for all users, and decides itself
//! which users may see them.

mod kept;
mod known;
mod later;
mod metadata;
mod names;
mod nodes;
mod opening;
mod served;
#[cfg(test)]
mod tests;
pub(crate) mod writing;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use hotset_cache::source::{self, Identity, Stamp};
use hotset_cache::workers::Workers;
use hotset_cache::{FileCache, FileNumber};
use hotset_core::request::{Kind, Op};
use rustix::fs::{
    AtFlags, FallocateFlags, FileType, Gid, Mode, OFlags, RawMode, SeekFrom, Stat, StatVfs, Uid, XattrFlags,
};
use rustix::io::Errno;

use crate::served::apps::Apps;
use crate::served::credentials::{Caller, Rights};
use crate::served::handles::Handles;
use crate::served::listing::OpenDirectory;
use crate::served::{Attributes, NewMode};
use crate::tree::metadata::Metadata;
use crate::tree::nodes::{Node, Nodes};
use crate::tree::opening::OpenFile;
use crate::{Mode as Serving, Options, Store};

impl NewMode {
    /// The mode to ask the source for. A new file in a directory with a default access list gets that list, and the
    /// mask has no effect.
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
    pub metadata: Arc<Metadata>,
    /// Nothing more is opened.
    is_stopping: AtomicBool,
    apps: Apps,
    pub files: Handles<OpenFile>,
    pub directories: Handles<OpenDirectory>,
}

impl Tree {
    /// Serves `source`; without a cache every read goes to the source.
    /// Whenever the receiver gets a message, the kernel is to forget the [`oldest`](Tree::oldest) files. Cached open
    /// files are closed by the workers.
    pub fn new(
        source: &Path,
        cache: Option<Arc<FileCache>>,
        store: Arc<dyn Store>,
        options: Options,
        workers: &Arc<Workers>,
    ) -> io::Result<(Tree, Receiver<()>)> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let (nodes, crowded) = Nodes::new(rustix::fs::open(source, flags, Mode::empty())?)?;
        if let (Some(cache), Some(_)) = (&cache, options.write_back) {
            cache.write_later();
        }
        let metadata = Arc::new(Metadata::new(options.staleness, options.mode, cache.clone(), workers));
        let tree = Tree {
            nodes,
            metadata,
            cache,
            store,
            apps: Apps::new(options.app_by),
            options,
            rights: Arc::new(Rights::new()?),
            is_stopping: AtomicBool::new(false),
            files: Handles::default(),
            directories: Handles::default(),
        };
        Ok((tree, crowded))
    }

    /// The cache, as long as it is fit for use.
    pub fn cache(&self) -> Option<&Arc<FileCache>> {
        self.cache.as_ref().filter(|cache| !cache.is_broken())
    }

    fn check_goes_on(&self) -> io::Result<()> {
        if self.is_stopping.load(Ordering::Relaxed) { Err(rustix::io::Errno::SHUTDOWN.into()) } else { Ok(()) }
    }

    pub fn node(&self, number: u64) -> io::Result<Arc<Node>> {
        self.nodes.get(number)
    }

    /// [`Nodes::oldest`].
    pub fn oldest(&self) -> Vec<(u64, OsString)> {
        self.nodes.oldest()
    }

    pub fn forget(&self, number: u64, times: u64) {
        self.nodes.forget(number, times, |node| self.tell_gone(node));
        self.cache().into_iter().for_each(|cache| self.nodes.sift(|file| cache.forget(file)));
    }

    pub fn read_link(&self, number: u64) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(self.node(number)?.as_ref(), "", Vec::new())?.into_bytes())
    }

    /// The attributes, and for how long the kernel may believe them.
    pub fn stat(&self, number: u64) -> io::Result<(Stat, Duration)> {
        let node = self.node(number)?;
        self.catch_up(&node);
        let (stat, left) = self.metadata.stat(&node)?;
        self.tell_size(&node, stat.st_size as u64);
        Ok((self.with_waiting(&node, stat), left))
    }

    /// Changes attributes with the caller's credentials; a size through the file that is `open` for writing, if there
    /// is one.
    pub fn set_attributes(
        &self,
        number: u64,
        change: &Attributes,
        open: Option<&OpenFile>,
        caller: Caller,
    ) -> io::Result<Stat> {
        let node = self.writable(number)?;
        let _changing = self.metadata.changing([&node]);
        if let Some(size) = change.size {
            match open {
                Some(open) if is_for_writing(&open.file)? => self.set_size(open, size)?,
                _ => self.set_size(&self.open(number, OFlags::WRONLY.bits(), caller)?.0, size)?,
            }
        }
        // A later write-back must not overwrite the times set here.
        self.catch_up(&node);
        self.notice(&node, &node.stat()?);
        let (uid, gid) = (change.uid.map(Uid::from_raw), change.gid.map(Gid::from_raw));
        let chown = || rustix::fs::chownat(&node, "", uid, gid, AtFlags::EMPTY_PATH);
        if uid.is_some() || gid.is_some() {
            self.rights.act(caller, chown)?;
        } else if change.is_empty() {
            // A change of the owner to none, which clears the set-user-id bit, or a write to such a file, which will
            // clear it and may be another user's.
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
        let stat = node.stat()?;
        self.tell_size(&node, stat.st_size as u64);
        Ok(self.with_waiting(&node, stat))
    }

    fn set_size(&self, open: &OpenFile, size: u64) -> io::Result<()> {
        match self.cache() {
            Some(cache) => cache.set_len(&open.data.access(), size),
            None => open.data.source.set_len(size),
        }
    }

    /// Writes; gives how many bytes, and where they begin if that is not at `offset`. One who appends does so behind
    /// the source's own end, since the kernel may not know it. Unless it `may_wait` it is in the source then.
    pub fn write(
        &self,
        open: &OpenFile,
        offset: u64,
        data: &[u8],
        flags: OFlags,
        may_wait: bool,
    ) -> io::Result<(usize, Option<u64>)> {
        if open.only_grows && !flags.contains(OFlags::APPEND) {
            return Err(Errno::PERM.into());
        }
        let done = match (self.cache(), flags.contains(OFlags::APPEND)) {
            (Some(cache), true) => cache.append(&open.data.access(), data).map(|(at, done)| (done, at)),
            (None, true) => open.data.source.append(data).map(|(at, done)| (done, at)),
            (Some(cache), false) if may_wait => {
                cache.write(&open.data.access(), offset, data).map(|done| (done, offset))
            }
            (Some(cache), false) => cache.write_now(&open.data.access(), offset, data).map(|done| (done, offset)),
            (None, false) => source::write_full(open.data.source.as_ref(), data, offset).map(|done| (done, offset)),
        };
        let (done, at) = done?;
        // A single write may ask for it, too; where the open did, the source has synced, unless it receives the data
        // later.
        let asked = flags & (OFlags::SYNC | OFlags::DSYNC);
        let is_done =
            || Ok::<_, io::Error>(!self.writes_later() && rustix::fs::fcntl_getfl(&open.file)?.contains(asked));
        if !asked.is_empty() && !is_done()? {
            self.sync(open, !flags.contains(OFlags::SYNC))?;
        }
        self.tell_end(&open.node, at + done as u64);
        Ok((done, Some(at).filter(|&at| at != offset)))
    }

    /// Before a write by a user without the right to keep them: has the file lose the bits that let others run it with
    /// its owner's rights. True if it has any.
    pub fn drop_privileges(&self, open: &OpenFile) -> io::Result<bool> {
        let stat = rustix::fs::fstat(&open.file)?;
        let mode = permissions(stat.st_mode);
        // For data written with a user's credentials, the source clears them itself.
        if open.opener.is_some() {
            return Ok(mode.intersects(Mode::SUID | Mode::SGID));
        }
        // Without its group's execute permission, that bit has another meaning.
        let group = if mode.contains(Mode::XGRP) { Mode::SGID } else { Mode::empty() };
        let privileges = mode & (Mode::SUID | group);
        if privileges.is_empty() {
            return Ok(false);
        }
        let _changing = self.metadata.changing([&open.node]);
        self.notice(&open.node, &stat);
        rustix::fs::fchmod(&open.file, mode - privileges)?;
        self.restamp(&open.node);
        Ok(true)
    }

    /// Makes the source do its work at a close, and reports the result: network file systems write back then. So does
    /// the cache, unless the last close removes the file.
    pub fn flush(&self, open: &OpenFile) -> io::Result<()> {
        if !open.node.is_deleted() {
            self.write_out(open)?;
        }
        // Closing any descriptor of the file does it. To drop one would not say what came of it.
        Ok(nix::unistd::close(open.file.try_clone()?)?)
    }

    pub fn sync(&self, open: &OpenFile, data_only: bool) -> io::Result<()> {
        match self.cache() {
            Some(cache) => cache.sync(&open.data.access(), data_only),
            None => {
                self.write_out(open)?;
                open.data.source.sync(data_only)
            }
        }
    }

    pub fn allocate(&self, open: &OpenFile, offset: u64, length: u64, mode: u32) -> io::Result<()> {
        let flags = FallocateFlags::from_bits(mode).ok_or(Errno::OPNOTSUPP)?;
        let _changing = self.metadata.changing([&open.node]);
        let allocate =
            || self.rights.with(open.opener.as_ref(), || Ok(rustix::fs::fallocate(&open.file, flags, offset, length)?));
        // Some shift all that lies behind.
        let shifts = flags.intersects(FallocateFlags::COLLAPSE_RANGE | FallocateFlags::INSERT_RANGE);
        let range = offset..if shifts { u64::MAX } else { offset.saturating_add(length) };
        match self.cache() {
            Some(cache) => cache.change(&open.data.access(), &range, allocate),
            None => allocate(),
        }
    }

    /// Returns the offset at which data or a hole begins. While a descriptor for reading and writing is open, a mapping
    /// may have changed pages that the kernel has not written yet, so all of the file counts as data.
    pub fn seek(&self, open: &OpenFile, offset: u64, is_hole: bool) -> io::Result<u64> {
        self.write_out(open)?;
        if self.may_be_mapped_for_writing(&open.node)? {
            let size = rustix::fs::fstat(&open.file)?.st_size as u64;
            return match (offset < size, is_hole) {
                (false, _) => Err(Errno::NXIO.into()),
                (true, false) => Ok(offset),
                (true, true) => Ok(size),
            };
        }
        let position = if is_hole { SeekFrom::Hole(offset) } else { SeekFrom::Data(offset) };
        Ok(rustix::fs::seek(&open.file, position)?)
    }

    /// True if the file is open for reading and writing, which a shared mapping that writes needs.
    fn may_be_mapped_for_writing(&self, node: &Arc<Node>) -> io::Result<bool> {
        for open in self.files.all() {
            if Arc::ptr_eq(&open.node, node) && rustix::fs::fcntl_getfl(&open.file)? & OFlags::RWMODE == OFlags::RDWR {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub fn sync_directory(&self, open: &OpenDirectory) -> io::Result<()> {
        Ok(rustix::fs::fsync(&open.descriptor)?)
    }

    pub fn space(&self, number: u64) -> io::Result<StatVfs> {
        Ok(rustix::fs::fstatvfs(self.node(number)?.as_ref())?)
    }

    pub fn set_xattr(&self, number: u64, name: &OsStr, value: &[u8], flags: u32, caller: Caller) -> io::Result<()> {
        let (node, flags) = (self.writable(number)?, XattrFlags::from_bits_retain(flags));
        let _changing = self.metadata.changing([&node]);
        let path = node.path()?;
        self.notice(&node, &node.stat()?);
        self.rights.act(caller, || rustix::fs::setxattr(&path, name, value, flags))?;
        self.restamp(&node);
        Ok(())
    }

    pub fn xattr(&self, number: u64, name: &OsStr, caller: Caller) -> io::Result<Vec<u8>> {
        let node = self.node(number)?;
        let path = node.path()?;
        let get = || {
            let mut value = Vec::with_capacity(MOST_XATTR);
            rustix::fs::getxattr(&path, name, rustix::buffer::spare_capacity(&mut value))?;
            Ok(value)
        };
        // Attributes that the kernel requests repeatedly, and every user may read.
        let is_free = |free: &str| name.as_encoded_bytes().starts_with(free.as_bytes());
        if KERNELS.iter().any(|known| name == *known) {
            self.metadata.value(&node, name, || Ok(get()?))
        } else if is_free("security.") || is_free("system.") {
            Ok(get()?)
        } else {
            self.rights.act(caller, get)
        }
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
        let _changing = self.metadata.changing([&node]);
        let path = node.path()?;
        self.notice(&node, &node.stat()?);
        let remove = || rustix::fs::removexattr(&path, name);
        // The kernel clears a file's capabilities when a user changes it, who otherwise may not remove them. Users
        // cannot request that.
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
        *node.file.get_or_init(|| match self.nodes.recognise(node) {
            Some(file) => {
                cache.metadata().count_renumbered();
                file
            }
            None => cache.file(&node.name(), kind),
        })
    }

    /// The number that the cache has for the application that asks.
    fn app(&self, cache: &FileCache, caller: Caller) -> u32 {
        self.apps.number(cache, caller, || self.files.all().iter().map(|open| open.data.app).collect())
    }

    /// Tells the cache of a call that moves no data, if it wants to know.
    pub fn note(&self, op: Op, node: &Node, caller: Caller, length: u64) {
        let Some(cache) = self.cache().filter(|cache| cache.wants(op, node.file.get().copied())) else { return };
        let app = self.app(cache, caller);
        cache.note(op, self.number(cache, node), app, length, false);
    }

    /// The file lost a name. Its blocks leave the cache with its last name and its last handle. If it is unknown
    /// whether the name was the last, dirty data takes precedence.
    fn lost_name(&self, node: &Node, caller: Caller) {
        let Some(cache) = self.cache() else { return };
        let waits = || node.file.get().is_some_and(|&file| cache.waits(file));
        if node.stat().map_or_else(|_| waits(), |stat| stat.st_nlink > 0) {
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

    /// Closes the handle. Dropping the result may wait for the source.
    pub fn release(&self, handle: u64) -> Option<Arc<OpenFile>> {
        let open = self.files.close(handle)?;
        if let (Some(cache), Some(app)) = (self.cache(), open.node.closed())
            && cache.wants(Op::Unlink, Some(open.data.number))
        {
            cache.note(Op::Unlink, open.data.number, app, 0, false);
        }
        Some(open)
    }

    /// Records the present state of an inode that will be changed here: afterwards a change behind the mount could not
    /// be distinguished.
    fn notice(&self, node: &Node, stat: &Stat) {
        if self.options.mode == Serving::Steered {
            self.will_be_changed_here(node, stamp(stat));
        }
        if let (Some(cache), Some(&number)) = (self.cache(), node.file.get()) {
            cache.reconcile(number, stamp(stat));
        }
    }

    /// Records that the change just made here, after [`notice`](Tree::notice), is not a change behind the mount.
    fn restamp(&self, node: &Node) {
        self.metadata.changed(node);
        let Ok(stat) = node.stat() else { return };
        if self.options.mode == Serving::Steered {
            self.was_changed_here(node, stamp(&stat));
        }
        if let (Some(cache), Some(&number)) = (self.cache(), node.file.get()) {
            cache.restamp(number, stamp(&stat));
        }
    }
}

/// The extended attributes that rights depend on.
const KERNELS: [&str; 3] = ["system.posix_acl_access", "system.posix_acl_default", "security.capability"];

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
    let stamp = Stamp::of_times(stat.st_size as u64, modified, nanos(stat.st_ctime, stat.st_ctime_nsec));
    stamp.of_file(Identity::Inode { device: stat.st_dev, inode: stat.st_ino })
}
