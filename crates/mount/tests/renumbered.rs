//! A source that gives a file another inode number at each look-up, as FUSE file systems without stable numbers do.
//! Needs /dev/fuse and root.

mod support;

use std::ffi::OsStr;
use std::fs;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, OpenFlags,
    ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, Request, Session,
};
use hotset_cache::Status;
use hotset_mount::{Options, Plain, Staleness};
use tempfile::TempDir;

use support::attributes::attributes;
use support::mounted::{MODES, Mount, can_mount};
use support::pattern;

const FILES: u64 = 10;
const BYTES: u64 = 9000;
const ROOT: u64 = 1;

/// Files by number, of which each has some version. Nothing may be kept of what it says.
#[derive(Clone, Default)]
struct Renumbering(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// Files by inode number, from 2 on.
    given: Mutex<Vec<u64>>,
    versions: [AtomicU64; FILES as usize],
    reads: AtomicU64,
}

impl Renumbering {
    fn version(&self, file: u64) -> u64 {
        self.0.versions[file as usize].load(Ordering::SeqCst)
    }

    fn file(&self, inode: u64) -> u64 {
        self.0.given.lock().unwrap()[inode as usize - 2]
    }

    fn attributes(&self, inode: u64) -> FileAttr {
        if inode == ROOT {
            return attributes(ROOT, FileType::Directory, 0);
        }
        let changed = UNIX_EPOCH + Duration::from_secs(100 + self.version(self.file(inode)));
        FileAttr { mtime: changed, ctime: changed, ..attributes(inode, FileType::RegularFile, BYTES) }
    }

    /// The bytes of this version of a file.
    fn bytes(&self, file: u64) -> Vec<u8> {
        pattern(file + 100 * self.version(file), BYTES as usize)
    }
}

impl Filesystem for Renumbering {
    fn lookup(&self, _request: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name.to_str().and_then(|name| name.parse().ok()).filter(|&file: &u64| file < FILES) {
            Some(file) => {
                let mut given = self.0.given.lock().unwrap();
                given.push(file);
                let inode = given.len() as u64 + 1;
                drop(given);
                reply.entry(&Duration::ZERO, &self.attributes(inode), Generation(0));
            }
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&Duration::ZERO, &self.attributes(inode.0));
    }

    fn open(&self, _request: &Request, _inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
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
        self.0.reads.fetch_add(1, Ordering::SeqCst);
        let bytes = self.bytes(self.file(inode.0));
        let from = bytes.len().min(offset as usize);
        reply.data(&bytes[from..bytes.len().min(from + size as usize)]);
    }
}

/// A mount on such a source. `None` where that cannot be done.
fn stacked(options: Options) -> Option<(Renumbering, fuser::BackgroundSession, Mount)> {
    if !can_mount() {
        return None;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root mounts one on the other here");
        return None;
    }
    let folder = TempDir::new().unwrap();
    ["source", "at"].iter().for_each(|name| fs::create_dir(folder.path().join(name)).unwrap());
    let source = Renumbering::default();
    let session = Session::new(source.clone(), folder.path().join("source"), &Config::default()).unwrap();
    let session = session.spawn().unwrap();
    Some((source, session, Mount::of(folder, "lru", 256, options, Arc::new(Plain)).unwrap()))
}

/// Unmounts the source, whose files are closed in the background.
fn end(mount: &Mount, session: fuser::BackgroundSession) {
    while rustix::mount::unmount(mount.source(""), rustix::mount::UnmountFlags::empty()).is_err() {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(session);
}

#[test]
fn a_file_with_another_inode_number_is_recognised_by_path_size_and_times() {
    for mode in MODES {
        let options = Options { mode, staleness: Staleness::Revalidate, ..Options::default() };
        let Some((source, session, mut mount)) = stacked(options) else { return };
        let read = |file: u64| fs::read(mount.at(&file.to_string())).unwrap() == source.bytes(file);
        let reads = |pass: &dyn Fn()| {
            let before = source.0.reads.load(Ordering::SeqCst);
            pass();
            source.0.reads.load(Ordering::SeqCst) - before
        };
        let all = || (0..FILES).for_each(|file| assert!(read(file), "{mode:?}: file {file}"));
        assert!(reads(&all) >= FILES);
        // The kernel may tell us that it has forgotten a file only after the next one is opened.
        let began = SystemTime::now();
        while reads(&all) > 0 {
            assert!(began.elapsed().unwrap() < Duration::from_secs(60), "{mode:?}: files are read anew each time");
        }
        let told = Status::of(mount.cache.as_ref().unwrap()).metadata;
        assert!(told.renumbered >= FILES, "{mode:?}: {told:?}");
        // Another version at the same path is another file.
        source.0.versions[3].fetch_add(1, Ordering::SeqCst);
        assert!(reads(&all) >= 1, "{mode:?}");
        mount.stop();
        end(&mount, session);
    }
}
