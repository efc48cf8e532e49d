//! The served directory: every call of a file system, on the source's files, with data going through the cache.
//!
//! Files are made as the user that asks: with root's rights they are given to that user after they were made, in the source's own manner (a
//! directory with the set-group-id bit passes its group on).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use hotset_core::request::{Kind, Op};
use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FileType, Gid, Mode, OFlags, RawMode, RenameFlags, SeekFrom, Stat, StatVfs,
    Timestamps, Uid, XattrFlags,
};

use super::handles::{Handles, OpenFile};
use super::listing::OpenDirectory;
use super::nodes::{Node, Nodes, patiently};
use super::{Mode as Serving, Options, Store};
use crate::cache::{Cache, FileNumber};
use crate::read_ahead::Stream;
use crate::source::{self, Stamp};
use crate::workers::Part;

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    pub uid: u32,
    pub gid: u32,
    pub pid: u32,
}

/// A change of attributes; what is `None` stays.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes {
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub size: Option<u64>,
    pub times: Option<Timestamps>,
}

/// The served directory.
pub(super) struct Tree {
    nodes: Nodes,
    cache: Option<Arc<Cache>>,
    store: Arc<dyn Store>,
    options: Options,
    /// Files can be given to others.
    is_root: bool,
    pub files: Handles<OpenFile>,
    pub directories: Handles<OpenDirectory>,
}

/// The bit in the flags of an open that says that the file will be executed; known to the kernel only.
const FOR_EXECUTION: u32 = 0x20;

impl Tree {
    /// Serves `source`; without a cache every read goes to the source.
    /// Whenever the receiver is told, the kernel is to forget the [`oldest`](Tree::oldest) files.
    pub fn new(
        source: &Path,
        cache: Option<Arc<Cache>>,
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
            is_root: rustix::process::geteuid().is_root(),
            files: Handles::default(),
            directories: Handles::default(),
        };
        Ok((tree, crowded))
    }

    pub fn cache(&self) -> Option<&Arc<Cache>> {
        self.cache.as_ref()
    }

    pub fn mode(&self) -> Serving {
        self.options.mode
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
    }

    pub fn look_up(&self, parent: u64, name: &OsStr, caller: Caller) -> io::Result<(u64, Stat)> {
        let parent = self.node(parent)?;
        let (node, stat) = self.nodes.look_up(&parent, name)?;
        self.note(Op::Stat, &node, caller, 0);
        Ok((node.number, stat))
    }

    pub fn read_link(&self, number: u64) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(self.node(number)?.as_ref(), "", Vec::new())?.into_bytes())
    }

    pub fn make_directory(&self, parent: u64, name: &OsStr, mode: u32, caller: Caller) -> io::Result<(u64, Stat)> {
        let parent = self.writable(parent)?;
        rustix::fs::mkdirat(&parent, name, permissions(mode))?;
        self.made(&parent, name, caller)
    }

    pub fn make_node(
        &self,
        parent: u64,
        name: &OsStr,
        mode: u32,
        device: u32,
        caller: Caller,
    ) -> io::Result<(u64, Stat)> {
        let parent = self.writable(parent)?;
        let kind = FileType::from_raw_mode(mode as RawMode);
        rustix::fs::mknodat(&parent, name, kind, permissions(mode), device.into())?;
        self.made(&parent, name, caller)
    }

    pub fn make_link(&self, parent: u64, name: &OsStr, target: &Path, caller: Caller) -> io::Result<(u64, Stat)> {
        let parent = self.writable(parent)?;
        rustix::fs::symlinkat(target, &parent, name)?;
        self.made(&parent, name, caller)
    }

    /// Gives what was just made to who asked for it, and tells what it is.
    fn made(&self, parent: &Node, name: &OsStr, caller: Caller) -> io::Result<(u64, Stat)> {
        let (node, stat) = self.nodes.look_up(parent, name)?;
        self.give(&node, parent, &stat, caller)?;
        Ok((node.number, node.stat()?))
    }

    fn give(&self, node: &Node, parent: &Node, stat: &Stat, caller: Caller) -> io::Result<()> {
        if !self.is_root {
            return Ok(());
        }
        // Whoever makes it, the source has put it into the group of such a directory.
        let inherits = parent.stat()?.st_mode & Mode::SGID.as_raw_mode() != 0;
        let group = (!inherits).then_some(caller.gid).filter(|&gid| gid != stat.st_gid);
        let user = Some(caller.uid).filter(|&uid| uid != stat.st_uid);
        if user.is_none() && group.is_none() {
            return Ok(());
        }
        change_owner(node, user, group)?;
        // A change of the owner takes these bits away.
        if stat.st_mode & (Mode::SUID | Mode::SGID).as_raw_mode() != 0 && node.kind != FileType::Symlink {
            rustix::fs::chmod(node.path()?, permissions(stat.st_mode))?;
        }
        Ok(())
    }

    pub fn link(&self, number: u64, parent: u64, name: &OsStr) -> io::Result<(u64, Stat)> {
        let (node, parent) = (self.node(number)?, self.writable(parent)?);
        match node.path() {
            Ok(path) => rustix::fs::linkat(CWD, path, &parent, name, AtFlags::SYMLINK_FOLLOW)?,
            // The link itself: only root may name it by its descriptor.
            Err(_) => rustix::fs::linkat(node.as_ref(), "", &parent, name, AtFlags::EMPTY_PATH)?,
        }
        let (node, stat) = self.nodes.look_up(&parent, name)?;
        self.restamp(&node);
        Ok((node.number, stat))
    }

    pub fn unlink(&self, parent: u64, name: &OsStr, caller: Caller) -> io::Result<()> {
        let parent = self.writable(parent)?;
        let node = self.peek(&parent, name);
        rustix::fs::unlinkat(&parent, name, AtFlags::empty())?;
        if let Some(node) = node {
            self.note(Op::Unlink, &node, caller, 0);
            self.restamp(&node);
            self.forget(node.number, 1);
        }
        Ok(())
    }

    pub fn remove_directory(&self, parent: u64, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(self.writable(parent)?, name, AtFlags::REMOVEDIR)?)
    }

    pub fn rename(&self, from: (u64, &OsStr), to: (u64, &OsStr), flags: RenameFlags, caller: Caller) -> io::Result<()> {
        let (from_parent, to_parent) = (self.writable(from.0)?, self.writable(to.0)?);
        let moved = self.peek(&from_parent, from.1);
        let replaced = self.peek(&to_parent, to.1);
        let done = rustix::fs::renameat_with(&from_parent, from.1, &to_parent, to.1, flags);
        for (node, op) in [(moved, Op::Rename), (replaced, Op::Unlink)] {
            let Some(node) = node else { continue };
            if done.is_ok() {
                let stays = op == Op::Unlink && flags.contains(RenameFlags::EXCHANGE);
                self.note(if stays { Op::Rename } else { op }, &node, caller, 0);
                self.restamp(&node);
            }
            self.forget(node.number, 1);
        }
        Ok(done?)
    }

    /// What has a name now. It must be forgotten again.
    fn peek(&self, parent: &Node, name: &OsStr) -> Option<Arc<Node>> {
        self.cache.as_ref()?;
        self.nodes.look_up(parent, name).ok().map(|(node, _)| node)
    }

    pub fn stat(&self, number: u64) -> io::Result<Stat> {
        self.node(number)?.stat()
    }

    pub fn set_attributes(&self, number: u64, change: &Attributes, open: Option<&OpenFile>) -> io::Result<Stat> {
        let node = self.writable(number)?;
        if let Some(mode) = change.mode {
            rustix::fs::chmod(node.path()?, permissions(mode))?;
        }
        if change.uid.is_some() || change.gid.is_some() {
            change_owner(&node, change.uid, change.gid)?;
        }
        if let Some(size) = change.size {
            match open {
                Some(open) => self.set_size(open, size)?,
                None => {
                    let caller = Caller { uid: 0, gid: 0, pid: 0 };
                    self.set_size(&self.open_node(&node, OFlags::WRONLY, caller, false)?, size)?;
                }
            }
        }
        if let Some(times) = &change.times {
            rustix::fs::utimensat(node.as_ref(), "", times, AtFlags::EMPTY_PATH)?;
        }
        self.restamp(&node);
        node.stat()
    }

    fn set_size(&self, open: &OpenFile, size: u64) -> io::Result<()> {
        match &self.cache {
            Some(cache) => cache.set_len(&open.access(), size),
            None => open.source.set_len(size),
        }
    }

    /// Makes and opens a file, or opens one that somebody else has just made.
    pub fn create(
        &self,
        parent: u64,
        name: &OsStr,
        mode: u32,
        flags: u32,
        caller: Caller,
    ) -> io::Result<(u64, Stat, OpenFile)> {
        let parent = self.writable(parent)?;
        let wanted = data_flags(flags);
        let exclusive = wanted | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let (file, is_new) = match rustix::fs::openat(&parent, name, exclusive, permissions(mode)) {
            Err(rustix::io::Errno::EXIST) if flags & OFlags::EXCL.bits() == 0 => {
                (rustix::fs::openat(&parent, name, wanted | OFlags::NOFOLLOW, Mode::empty())?, false)
            }
            made => (made?, true),
        };
        let (node, stat) = self.nodes.look_up(&parent, name)?;
        if is_new {
            self.give(&node, &parent, &stat, caller)?;
        }
        let open = self.opened(&node, file.into(), caller, false)?;
        Ok((node.number, node.stat()?, open.0))
    }

    /// Opens a file. True with it if the kernel may keep what it has of the data.
    pub fn open(&self, number: u64, flags: u32, caller: Caller) -> io::Result<(OpenFile, bool)> {
        let node = self.node(number)?;
        let wanted = data_flags(flags);
        if self.options.readonly && wanted.intersects(OFlags::WRONLY | OFlags::RDWR | OFlags::TRUNC) {
            return Err(rustix::io::Errno::ROFS.into());
        }
        let path = node.path()?;
        let file = patiently(|| rustix::fs::open(&path, wanted - OFlags::TRUNC, Mode::empty()))?;
        let (open, same) = self.opened(&node, file.into(), caller, flags & FOR_EXECUTION != 0)?;
        if wanted.contains(OFlags::TRUNC) {
            self.set_size(&open, 0)?;
        }
        Ok((open, same))
    }

    fn open_node(&self, node: &Node, flags: OFlags, caller: Caller, executes: bool) -> io::Result<OpenFile> {
        let file = rustix::fs::open(node.path()?, flags | OFlags::CLOEXEC, Mode::empty())?;
        Ok(self.opened(node, file.into(), caller, executes)?.0)
    }

    fn opened(&self, node: &Node, file: File, caller: Caller, executes: bool) -> io::Result<(OpenFile, bool)> {
        let file = Arc::new(file);
        let source = self.store.open(file.clone());
        let (mut number, mut app, mut same) = (0, 0, true);
        if let Some(cache) = &self.cache {
            number = self.number(cache, node);
            app = cache.app(&self.options.app_by.name(caller.pid, caller.uid));
            same = cache.opened(number, source.as_ref())?;
            if cache.wants_notes() {
                cache.note(Op::Open, number, app, 0, false);
            }
        }
        let stream = (self.options.mode == Serving::Strict && self.cache.is_some()).then(Stream::default);
        Ok((OpenFile { file, source, number, app, executes, stream, part: node.part() }, same))
    }

    /// Writes; gives how many bytes, and where they begin if that is not at `offset`. One who appends does so behind the source's own end, since the
    /// kernel may not know it.
    pub fn write(&self, open: &OpenFile, offset: u64, data: &[u8], flags: OFlags) -> io::Result<(usize, Option<u64>)> {
        let done = match (&self.cache, flags.contains(OFlags::APPEND)) {
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

    /// Takes from a file that a user without the right to keep them writes to the bits that let others run it with its owner's rights. True if it
    /// had them.
    pub fn drop_privileges(&self, open: &OpenFile) -> io::Result<bool> {
        let stat = rustix::fs::fstat(&open.file)?;
        let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
        // Without the right of its group to run it that bit stands for something else.
        let group = if mode.contains(Mode::XGRP) { Mode::SGID } else { Mode::empty() };
        let privileges = mode & (Mode::SUID | group);
        if privileges.is_empty() {
            return Ok(false);
        }
        rustix::fs::fchmod(&open.file, mode - privileges)?;
        if let Some(cache) = &self.cache {
            cache.restamp(open.number, stamp(&rustix::fs::fstat(&open.file)?));
        }
        Ok(true)
    }

    /// Writes back what the kernel of the source's machine still holds, so that a close tells of errors.
    pub fn flush(&self, open: &OpenFile) -> io::Result<()> {
        // Closing any descriptor of the file does it; what the close itself says is lost.
        drop(open.file.try_clone()?);
        Ok(())
    }

    pub fn sync(&self, open: &OpenFile, data_only: bool) -> io::Result<()> {
        if data_only { open.file.sync_data() } else { open.file.sync_all() }
    }

    pub fn allocate(&self, open: &OpenFile, offset: u64, length: u64, mode: u32) -> io::Result<()> {
        let flags = FallocateFlags::from_bits(mode).ok_or(rustix::io::Errno::OPNOTSUPP)?;
        let allocate = || Ok(rustix::fs::fallocate(&open.file, flags, offset, length)?);
        // Some shift all that lies behind.
        let shifts = flags.intersects(FallocateFlags::COLLAPSE_RANGE | FallocateFlags::INSERT_RANGE);
        let range = offset..if shifts { u64::MAX } else { offset.saturating_add(length) };
        match &self.cache {
            Some(cache) => cache.change(&open.access(), &range, allocate),
            None => allocate(),
        }
    }

    /// Where data or a hole begins.
    pub fn seek(&self, open: &OpenFile, offset: u64, is_hole: bool) -> io::Result<u64> {
        let position = if is_hole { SeekFrom::Hole(offset) } else { SeekFrom::Data(offset) };
        Ok(rustix::fs::seek(&open.file, position)?)
    }

    pub fn open_directory(&self, number: u64) -> io::Result<OpenDirectory> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = rustix::fs::openat(self.node(number)?.as_ref(), ".", flags, Mode::empty())?;
        Ok(OpenDirectory::new(descriptor))
    }

    pub fn sync_directory(&self, open: &OpenDirectory) -> io::Result<()> {
        Ok(rustix::fs::fsync(&open.descriptor)?)
    }

    pub fn space(&self, number: u64) -> io::Result<StatVfs> {
        Ok(rustix::fs::fstatvfs(self.node(number)?.as_ref())?)
    }

    pub fn set_xattr(&self, number: u64, name: &OsStr, value: &[u8], flags: u32) -> io::Result<()> {
        let node = self.writable(number)?;
        rustix::fs::setxattr(node.path()?, name, value, XattrFlags::from_bits_retain(flags))?;
        self.restamp(&node);
        Ok(())
    }

    pub fn xattr(&self, number: u64, name: &OsStr) -> io::Result<Vec<u8>> {
        let path = self.node(number)?.path()?;
        let mut value = Vec::with_capacity(MOST_XATTR);
        rustix::fs::getxattr(path, name, rustix::buffer::spare_capacity(&mut value))?;
        Ok(value)
    }

    pub fn xattrs(&self, number: u64) -> io::Result<Vec<u8>> {
        // Links have none of a user's.
        let Ok(path) = self.node(number)?.path() else { return Ok(Vec::new()) };
        let mut names = Vec::with_capacity(MOST_XATTR);
        rustix::fs::listxattr(path, rustix::buffer::spare_capacity(&mut names))?;
        Ok(names)
    }

    pub fn remove_xattr(&self, number: u64, name: &OsStr) -> io::Result<()> {
        let node = self.writable(number)?;
        rustix::fs::removexattr(node.path()?, name)?;
        self.restamp(&node);
        Ok(())
    }

    /// The node, if anything may be changed.
    fn writable(&self, number: u64) -> io::Result<Arc<Node>> {
        if self.options.readonly { Err(rustix::io::Errno::ROFS.into()) } else { self.node(number) }
    }

    /// The number that the cache has for a file.
    fn number(&self, cache: &Cache, node: &Node) -> FileNumber {
        let kind = match node.kind {
            FileType::RegularFile => Kind::Datafile,
            FileType::Directory => Kind::Directory,
            _ => Kind::Other,
        };
        *node.file.get_or_init(|| cache.file(&node.name(), kind))
    }

    /// Tells the cache of a call that moves no data, if it wants to know.
    pub fn note(&self, op: Op, node: &Node, caller: Caller, length: u64) {
        let Some(cache) = self.cache.as_ref().filter(|cache| cache.wants_notes()) else { return };
        let app = cache.app(&self.options.app_by.name(caller.pid, caller.uid));
        cache.note(op, self.number(cache, node), app, length, false);
    }

    /// What was just changed here is no change behind the mount.
    fn restamp(&self, node: &Node) {
        if let (Some(cache), Some(&number)) = (&self.cache, node.file.get())
            && let Ok(stat) = node.stat()
        {
            cache.restamp(number, stamp(&stat));
        }
    }
}

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

fn change_owner(node: &Node, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
    Ok(rustix::fs::chownat(node, "", uid, gid, AtFlags::EMPTY_PATH)?)
}

/// What tells whether a file was changed.
pub(super) fn stamp(stat: &Stat) -> Stamp {
    let nanos = |seconds: i64, nanos: u64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    Stamp {
        size: stat.st_size as u64,
        modified: nanos(stat.st_mtime, stat.st_mtime_nsec),
        changed: nanos(stat.st_ctime, stat.st_ctime_nsec),
    }
}
