//! A directory of small files in memory, as if it lay on a store that is far away: each call takes a stated time. For
//! `benches/metadata.py` and `benches/epochs.py`.
//!
//! `slow_source MOUNTPOINT FILES BYTES MILLISECONDS` serves `FILES` files of `BYTES` bytes in 8 directories until it is
//! unmounted. The file `calls` says how many calls of each kind there were, and takes no time.

#[path = "../tests/support/attributes.rs"]
mod attributes;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen,
    Request, Session,
};

use attributes::attributes;

/// The inode of the root, of the file with the counts, of the first directory, and of the first file.
const ROOT: u64 = 1;
const CALLS: u64 = 2;
const DIRECTORY: u64 = 10;
const FILE: u64 = 1000;

/// Directories.
const DIRECTORIES: u64 = 8;

struct Far {
    files: u64,
    bytes: u64,
    delay: Duration,
    calls: Mutex<BTreeMap<&'static str, u64>>,
}

impl Far {
    /// One call about something takes its time.
    fn call(&self, name: &'static str, inode: u64) {
        if inode != CALLS {
            *self.calls.lock().expect("no holder panics").entry(name).or_default() += 1;
            thread::sleep(self.delay);
        }
    }

    fn text(&self) -> String {
        let calls = self.calls.lock().expect("no holder panics");
        calls.iter().map(|(name, count)| format!("{name} {count}\n")).collect()
    }

    /// Names and inodes of a directory.
    fn entries(&self, directory: u64) -> Vec<(u64, String)> {
        match directory {
            ROOT => (0..DIRECTORIES).map(|number| (DIRECTORY + number, format!("d{number}"))).collect(),
            _ => {
                let files = (0..self.files).filter(|file| file % DIRECTORIES == directory - DIRECTORY);
                files.map(|file| (FILE + file, format!("f{file}"))).collect()
            }
        }
    }

    fn find(&self, parent: u64, name: &OsStr) -> Option<u64> {
        match name.to_str()? {
            "calls" if parent == ROOT => Some(CALLS),
            name => self.entries(parent).into_iter().find(|(_, known)| known == name).map(|(inode, _)| inode),
        }
    }

    fn attributes(&self, inode: u64) -> FileAttr {
        let is_directory = inode == ROOT || (DIRECTORY..DIRECTORY + DIRECTORIES).contains(&inode);
        // The text of the counts grows: it is read to its end, whatever is said here.
        attributes(inode, if is_directory { FileType::Directory } else { FileType::RegularFile }, self.bytes)
    }
}

impl Filesystem for Far {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.find(parent.0, name);
        self.call("lookup", found.unwrap_or(parent.0));
        match found {
            Some(inode) => reply.entry(&Duration::ZERO, &self.attributes(inode), Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        self.call("getattr", inode.0);
        reply.attr(&Duration::ZERO, &self.attributes(inode.0));
    }

    fn open(&self, _request: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        self.call("open", inode.0);
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
        self.call("read", inode.0);
        let bytes = match inode.0 {
            CALLS => self.text().into_bytes(),
            _ => (0..self.bytes).map(|at| if at % 64 == 63 { b'\n' } else { b'a' + (at % 23) as u8 }).collect(),
        };
        let from = bytes.len().min(offset as usize);
        reply.data(&bytes[from..bytes.len().min(from + size as usize)]);
    }

    fn flush(&self, _request: &Request, inode: INodeNo, _handle: FileHandle, _owner: LockOwner, reply: ReplyEmpty) {
        self.call("flush", inode.0);
        reply.ok();
    }

    fn release(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.call("release", inode.0);
        reply.ok();
    }

    fn opendir(&self, _request: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        self.call("opendir", inode.0);
        reply.opened(FileHandle(0), FopenFlags::empty());
    }

    fn readdir(&self, _request: &Request, inode: INodeNo, _handle: FileHandle, at: u64, mut reply: ReplyDirectory) {
        self.call("readdir", inode.0);
        let kind = if inode.0 == ROOT { FileType::Directory } else { FileType::RegularFile };
        for ((inode, name), place) in self.entries(inode.0).into_iter().zip(1..).skip(at as usize) {
            if reply.add(INodeNo(inode), place, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [at, files, bytes, milliseconds] = words.as_slice() else {
        return Err("expected MOUNTPOINT FILES BYTES MILLISECONDS".into());
    };
    let delay = Duration::from_secs_f64(milliseconds.parse::<f64>()? / 1e3);
    let far = Far { files: files.parse()?, bytes: bytes.parse()?, delay, calls: Mutex::default() };
    let mut config = Config::default();
    config.n_threads = Some(8);
    config.clone_fd = true;
    Ok(Session::new(far, Path::new(at), &config)?.run()?)
}
