//! One failure domain of the source hangs: the others continue to work. Needs /dev/fuse.

mod support;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fuser::{
    Config, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEntry, ReplyOpen, ReplyWrite, Request, Session,
    WriteFlags,
};
use hotset_cache::FileCache;
use hotset_mount::{Options, Plain, mount};
use rustix::mount::{UnmountFlags, unmount};
use tempfile::TempDir;

use support::{pattern, settings};

/// Bytes of each file.
const SIZE: u64 = 64 << 10;

/// A directory of files that do not exist before they are looked up: their names are their inodes. Those above 1000
/// hang as long as `hangs` is set, and answer with an error afterwards.
#[derive(Clone, Default)]
struct Source {
    hangs: Arc<AtomicBool>,
    /// Unanswered requests.
    hung: Arc<Mutex<Vec<Box<dyn std::any::Any + Send>>>>,
}

impl Source {
    /// Keeps the request if it is to hang.
    fn answer<R: Send + 'static>(&self, inode: u64, reply: R, answer: impl FnOnce(R)) {
        if inode > 1000 && self.hangs.load(Ordering::SeqCst) {
            // A reply that is dropped is an error.
            self.hung.lock().unwrap().push(Box::new(reply));
        } else {
            answer(reply);
        }
    }

    fn go_on(&self) {
        self.hangs.store(false, Ordering::SeqCst);
        self.hung.lock().unwrap().clear();
    }
}

fn attributes(inode: u64) -> FileAttr {
    let kind = if inode == 1 { FileType::Directory } else { FileType::RegularFile };
    support::attributes::attributes(inode, kind, SIZE)
}

impl Filesystem for Source {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        Ok(())
    }

    fn lookup(&self, _request: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let inode = name.to_str().unwrap().parse().unwrap();
        self.answer(inode, reply, |reply| reply.entry(&Duration::ZERO, &attributes(inode), Generation(0)));
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        self.answer(inode.0, reply, |reply| reply.attr(&Duration::ZERO, &attributes(inode.0)));
    }

    fn open(&self, _request: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        self.answer(inode.0, reply, |reply| reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO));
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
        let bytes = pattern(inode.0, SIZE as usize);
        let end = (offset + u64::from(size)).min(SIZE);
        self.answer(inode.0, reply, |reply| reply.data(&bytes[offset.min(end) as usize..end as usize]));
    }

    fn write(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        _offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let length = data.len() as u32;
        self.answer(inode.0, reply, |reply| reply.written(length));
    }

    fn readdir(&self, _request: &Request, _inode: INodeNo, _handle: FileHandle, at: u64, mut reply: ReplyDirectory) {
        if at == 0 {
            let _ = reply.add(INodeNo(2), 1, FileType::RegularFile, "2");
        }
        reply.ok();
    }
}

/// What `work` gives, unless it hangs. On a busy machine it may be slow, so only what takes very long counts as
/// hanging.
fn soon<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (tell, told) = channel();
    thread::spawn(move || tell.send(work()));
    told.recv_timeout(Duration::from_secs(30)).ok()
}

fn open_to_write(path: &Path) -> File {
    File::options().read(true).write(true).open(path).unwrap()
}

#[test]
fn two_hundred_calls_that_hang_hold_up_nobody_else() {
    if !Path::new("/dev/fuse").exists() || !rustix::process::geteuid().is_root() {
        assert!(std::env::var_os("CI").is_none(), "nothing can be mounted here, though CI is set");
        return eprintln!("SKIPPED: there is no /dev/fuse, or this is not root");
    }
    let folder = TempDir::new().unwrap();
    let [below, at] = ["below", "at"].map(|name| folder.path().join(name));
    fs::create_dir(&below).unwrap();
    fs::create_dir(&at).unwrap();
    let source = Source::default();
    let session = Session::new(source.clone(), &below, &Config::default()).unwrap();
    let session = session.spawn().unwrap();
    let cache = Arc::new(FileCache::new(&settings("lru", 4 << 20), None).unwrap());
    let mounted = mount(&below, &at, Some(cache), Arc::new(Plain), Options::default()).unwrap();
    let server = thread::spawn(move || mounted.serve());

    let bytes_of = |number: u64| pattern(number, SIZE as usize);
    let file = |number: u64| at.join(number.to_string());
    let cached = Arc::new(File::open(file(2)).unwrap());
    assert!(fs::read(file(2)).unwrap() == bytes_of(2));
    let known: Vec<File> = (1001..1051).map(|number| open_to_write(&file(number))).collect();
    source.hangs.store(true, Ordering::SeqCst);
    // A name that is not known, one that is, a size, data, the same block by many, data in order, a write.
    let calls = (0..200u64).map(|number| -> Box<dyn FnOnce() + Send> {
        let path = file(if number % 2 == 0 { 2000 + number } else { 1001 + number % 50 });
        let open = known[number as usize % known.len()].try_clone().unwrap();
        match number % 5 {
            0 => Box::new(move || drop(fs::metadata(path))),
            1 => Box::new(move || drop(File::open(path))),
            2 => Box::new(move || drop(open.metadata())),
            3 => Box::new(move || drop(open.write_at(&[0; 100], number * 10))),
            _ => Box::new(move || drop(open.read_at(&mut [0; 4096], number / 40 * 4096))),
        }
    });
    let hung: Vec<JoinHandle<()>> = calls.map(thread::spawn).collect();
    thread::sleep(Duration::from_millis(1200));
    let hanging = hung.iter().filter(|call| !call.is_finished()).count();
    let path = file(0).with_file_name("");
    let done = [
        soon({
            let cached = cached.clone();
            move || cached.read_at(&mut [0; 4096], 8192).unwrap() == 4096
        }),
        soon({
            let path = path.clone();
            move || fs::metadata(path.join("2")).unwrap().len() == SIZE
        }),
        soon({
            let path = path.clone();
            move || fs::metadata(path.join("3")).unwrap().len() == SIZE
        }),
        soon({
            let path = path.clone();
            move || fs::read(path.join("4")).unwrap() == pattern(4, SIZE as usize)
        }),
        soon(move || fs::read_dir(path).unwrap().count() == 1),
    ];
    source.go_on();
    hung.into_iter().for_each(|call| call.join().unwrap());
    drop((known, cached));
    for place in [&at, &below] {
        while unmount(place, UnmountFlags::empty()).is_err() {
            thread::sleep(Duration::from_millis(5));
        }
    }
    server.join().unwrap().unwrap();
    drop(session);
    assert_eq!(hanging, 200, "they hang");
    assert_eq!(done, [Some(true); 5], "hit, stat, look-up, read, list");
}
