//! A file system in memory for a mount to lie on. It writes down what is done to it, and each call may go wrong: so
//! everything that the mount asks its source for can be watched and disturbed, names and attributes as well as data.
//! Needs /dev/fuse and root.

pub mod faults;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, Session, TimeOrNow, WriteFlags,
};
use hotset_mount::{Options, Plain};
use rustix::fs::OFlags;
use rustix::mount::{UnmountFlags, unmount};
use tempfile::TempDir;

use crate::crash::{Change, Inode, Journal, Names, State};
use crate::support::attributes::attributes;
use crate::support::mounted::{Mount, can_mount};
use faults::{Call, Fault, Faults};

/// The inode of the root.
pub const ROOT: Inode = 1;

/// Bytes that the kernel passes at once: longer data arrives in pieces.
const PIECE: u32 = 16 << 10;

/// So long a disk takes to sync.
const SYNC: Duration = Duration::from_micros(500);

/// The file system.
#[derive(Clone, Default)]
pub struct Below(Arc<Inner>);

#[derive(Default)]
struct Inner {
    objects: Mutex<Objects>,
    journal: Journal,
    faults: Faults,
}

#[derive(Default)]
struct Objects {
    known: HashMap<Inode, Object>,
    /// The time of the last change; no two changes have the same.
    now: Duration,
}

struct Object {
    state: State,
    is_directory: bool,
    links: u32,
    changed: Duration,
}

impl Objects {
    fn tick(&mut self) -> Duration {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        self.now = now.max(self.now + Duration::from_nanos(1));
        self.now
    }

    fn get(&mut self, inode: Inode) -> Result<&mut Object, Errno> {
        self.known.get_mut(&inode).ok_or(Errno::ESTALE)
    }

    fn add(&mut self, is_directory: bool) -> Inode {
        let (inode, changed) = (ROOT + self.known.len() as Inode, self.tick());
        self.known.insert(inode, Object { state: State::default(), is_directory, links: 1, changed });
        inode
    }

    fn find(&mut self, directory: Inode, name: &OsStr) -> Result<Inode, Errno> {
        let name = name.to_str().unwrap();
        self.get(directory)?.state.names.get(name).copied().ok_or(Errno::ENOENT)
    }

    fn attributes(&mut self, inode: Inode) -> Result<FileAttr, Errno> {
        let Object { state, is_directory, links, changed } = self.get(inode)?;
        let time = SystemTime::UNIX_EPOCH + *changed;
        let kind = if *is_directory { FileType::Directory } else { FileType::RegularFile };
        Ok(FileAttr {
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            perm: 0o777,
            nlink: *links,
            ..attributes(inode, kind, state.bytes.len() as u64)
        })
    }

    fn unlink(&mut self, inode: Option<Inode>) {
        let changed = self.tick();
        if let Some(object) = inode.and_then(|inode| self.known.get_mut(&inode)) {
            object.links -= 1;
            object.changed = changed;
        }
    }
}

impl Below {
    /// An empty directory.
    pub fn new() -> Below {
        let below = Below::default();
        below.objects().add(true);
        below
    }

    pub fn journal(&self) -> &Journal {
        &self.0.journal
    }

    pub fn faults(&self) -> &Faults {
        &self.0.faults
    }

    pub fn bytes(&self, file: Inode) -> Vec<u8> {
        self.objects().known[&file].state.bytes.clone()
    }

    pub fn names(&self, directory: Inode) -> Names {
        self.objects().known[&directory].state.names.clone()
    }

    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.0.objects.lock().unwrap()
    }

    /// Does a call, if nothing goes wrong with it.
    fn act<T>(&self, call: Call, act: impl FnOnce(&mut Objects) -> Result<T, Errno>) -> Result<T, Errno> {
        let fault = self.0.faults.draw(call);
        if let Some(Fault::Before(error)) = fault {
            return Err(Errno::from_i32(error));
        }
        let done = act(&mut self.objects())?;
        match fault {
            Some(Fault::After(error)) => Err(Errno::from_i32(error)),
            _ => Ok(done),
        }
    }

    /// How much of so many bytes is moved.
    fn length(&self, call: Call, length: usize) -> Result<(usize, Option<Errno>), Errno> {
        match self.0.faults.draw(call) {
            Some(Fault::Before(error)) => Err(Errno::from_i32(error)),
            Some(Fault::After(error)) => Ok((length, Some(Errno::from_i32(error)))),
            Some(Fault::Short) => Ok((length.div_ceil(3), None)),
            None => Ok((length, None)),
        }
    }

    fn change(&self, objects: &mut Objects, change: Change) -> Result<(), Errno> {
        let changed = objects.tick();
        let object = objects.get(change.object())?;
        object.state.apply(&change);
        object.changed = changed;
        self.0.journal.changed(change);
        Ok(())
    }

    fn name(&self, objects: &mut Objects, directory: Inode, names: &[(&OsStr, Option<Inode>)]) -> Result<(), Errno> {
        let names = names.iter().map(|(name, inode)| (name.to_str().unwrap().to_owned(), *inode)).collect();
        self.change(objects, Change::Name { directory, names })
    }

    fn sync(&self, call: Call, inode: INodeNo) -> Result<(), Errno> {
        thread::sleep(SYNC);
        self.act(call, |_| {
            self.0.journal.synced(inode.0);
            Ok(())
        })
    }

    fn make(&self, call: Call, parent: INodeNo, name: &OsStr) -> Result<FileAttr, Errno> {
        self.act(call, |objects| {
            if objects.find(parent.0, name).is_ok() {
                return Err(Errno::EEXIST);
            }
            let inode = objects.add(call == Call::MakeDirectory);
            self.name(objects, parent.0, &[(name, Some(inode))])?;
            objects.attributes(inode)
        })
    }

    fn remove(&self, parent: INodeNo, name: &OsStr) -> Result<(), Errno> {
        self.act(Call::Unlink, |objects| {
            let inode = objects.find(parent.0, name)?;
            self.name(objects, parent.0, &[(name, None)])?;
            objects.unlink(Some(inode));
            Ok(())
        })
    }
}

fn entry(reply: ReplyEntry, found: Result<FileAttr, Errno>) {
    match found {
        Ok(attributes) => reply.entry(&Duration::ZERO, &attributes, Generation(0)),
        Err(error) => reply.error(error),
    }
}

fn empty(reply: ReplyEmpty, done: Result<(), Errno>) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

fn attr(reply: ReplyAttr, found: Result<FileAttr, Errno>) {
    match found {
        Ok(attributes) => reply.attr(&Duration::ZERO, &attributes),
        Err(error) => reply.error(error),
    }
}

impl Filesystem for Below {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        config.set_max_write(PIECE).map(drop).map_err(|_| io::ErrorKind::InvalidInput.into())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let look_up = |objects: &mut Objects| {
            let inode = objects.find(parent.0, name)?;
            objects.attributes(inode)
        };
        entry(reply, self.act(Call::LookUp, look_up));
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        attr(reply, self.act(Call::Stamp, |objects| objects.attributes(inode.0)));
    }

    fn setattr(
        &self,
        _request: &Request,
        inode: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _accessed: Option<TimeOrNow>,
        _modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _created: Option<SystemTime>,
        _change_time: Option<SystemTime>,
        _backed_up: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let set = |objects: &mut Objects| {
            if let Some(size) = size {
                self.change(objects, Change::SetLen { file: inode.0, size })?;
            }
            objects.attributes(inode.0)
        };
        attr(reply, self.act(Call::SetLen, set));
    }

    fn mkdir(&self, _request: &Request, parent: INodeNo, name: &OsStr, _mode: u32, _umask: u32, reply: ReplyEntry) {
        entry(reply, self.make(Call::MakeDirectory, parent, name));
    }

    fn unlink(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(reply, self.remove(parent, name));
    }

    fn rmdir(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(reply, self.remove(parent, name));
    }

    fn rename(
        &self,
        _request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        _flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let rename = |objects: &mut Objects| {
            let inode = objects.find(parent.0, name)?;
            let replaced = objects.find(new_parent.0, new_name).ok();
            if parent == new_parent {
                self.name(objects, parent.0, &[(name, None), (new_name, Some(inode))])?;
            } else {
                self.name(objects, new_parent.0, &[(new_name, Some(inode))])?;
                self.name(objects, parent.0, &[(name, None)])?;
            }
            objects.unlink(replaced);
            Ok(())
        };
        empty(reply, self.act(Call::Rename, rename));
    }

    fn link(&self, _request: &Request, inode: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let link = |objects: &mut Objects| {
            self.name(objects, parent.0, &[(name, Some(inode.0))])?;
            objects.get(inode.0)?.links += 1;
            objects.attributes(inode.0)
        };
        entry(reply, self.act(Call::Link, link));
    }

    fn open(&self, _request: &Request, _inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.act(Call::Open, |_| Ok(())) {
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO),
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &self,
        _request: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        match self.make(Call::Create, parent, name) {
            Ok(attributes) => {
                let flags = FopenFlags::FOPEN_DIRECT_IO;
                reply.created(&Duration::ZERO, &attributes, Generation(0), FileHandle(0), flags);
            }
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = self.length(Call::Read, size as usize).and_then(|(length, error)| {
            let bytes = self.bytes(inode.0);
            let from = bytes.len().min(offset as usize);
            error.map_or(Ok(bytes[from..bytes.len().min(from + length)].to_vec()), Err)
        });
        match read {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let written = self.length(Call::Write, data.len()).and_then(|(length, error)| {
            let bytes = data[..length].to_vec();
            self.change(&mut self.objects(), Change::Write { file: inode.0, offset, bytes })?;
            // The kernel leaves synchronous writes to the file system.
            if OFlags::from_bits_retain(flags.0 as u32).intersects(OFlags::SYNC | OFlags::DSYNC) {
                self.sync(Call::Sync, inode)?;
            }
            error.map_or(Ok(length), Err)
        });
        match written {
            Ok(length) => reply.written(length as u32),
            Err(error) => reply.error(error),
        }
    }

    fn flush(&self, _request: &Request, _inode: INodeNo, _handle: FileHandle, _owner: LockOwner, reply: ReplyEmpty) {
        empty(reply, self.act(Call::Flush, |_| Ok(())));
    }

    fn fsync(&self, _request: &Request, inode: INodeNo, _handle: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        empty(reply, self.sync(Call::Sync, inode));
    }

    fn fsyncdir(&self, _request: &Request, inode: INodeNo, _handle: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        empty(reply, self.sync(Call::SyncDirectory, inode));
    }

    fn readdir(&self, _request: &Request, inode: INodeNo, _handle: FileHandle, at: u64, mut reply: ReplyDirectory) {
        match self.act(Call::List, |objects| Ok(objects.get(inode.0)?.state.names.clone())) {
            Ok(names) => {
                for ((name, inode), place) in names.into_iter().zip(1..).skip(at as usize) {
                    if reply.add(INodeNo(inode), place, FileType::RegularFile, name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(error),
        }
    }
}

/// A mount of such a file system.
pub struct Stacked {
    pub mount: Mount,
    pub below: Below,
    session: Option<BackgroundSession>,
}

impl Stacked {
    /// Mounts it, with a cache of `blocks` blocks of 4K. None where that cannot be done.
    pub fn new(blocks: u64, options: Options) -> Option<Stacked> {
        if !can_mount() {
            return None;
        }
        if !rustix::process::geteuid().is_root() {
            assert!(std::env::var_os("CI").is_none(), "this is not root, though CI is set");
            eprintln!("SKIPPED: only root mounts one on the other here");
            return None;
        }
        let folder = TempDir::new().unwrap();
        let [source, at] = ["source", "at"].map(|name| folder.path().join(name));
        fs::create_dir(&source).unwrap();
        fs::create_dir(&at).unwrap();
        let mut config = Config::default();
        config.n_threads = Some(4);
        config.clone_fd = true;
        let below = Below::new();
        let session = Session::new(below.clone(), &source, &config).unwrap().spawn().unwrap();
        let mount = Mount::of(folder, "lru", blocks, options, Arc::new(Plain)).unwrap();
        Some(Stacked { mount, below, session: Some(session) })
    }

    /// Unmounts both; all that was asked is answered.
    pub fn stop(mut self) {
        self.mount.stop();
        while unmount(self.mount.source(""), UnmountFlags::empty()).is_err() {
            thread::sleep(Duration::from_millis(5));
        }
        drop(self.session.take());
    }
}

impl Drop for Stacked {
    fn drop(&mut self) {
        let detach =
            |place: &Path| Command::new("umount").arg("-l").arg(place).stderr(std::process::Stdio::null()).status();
        if self.session.is_some() {
            // A test that failed has files open.
            let _ = (detach(&self.mount.at("")), detach(&self.mount.source("")));
        }
    }
}
