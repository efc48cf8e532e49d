//! The cache itself, on files in memory.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use hotset_cache::source::Source;
use hotset_cache::{Access, FileCache, Settings, Stream};
use hotset_core::policy::PolicySpec;
use hotset_core::request::{Kind, Op};

use super::{NAMES, Subject};
use crate::memory::Memory;

/// The errors that a source is made to fail with.
const ERRORS: [i32; 3] = [EIO, 4, 28];
const EIO: i32 = 5;

/// What lies between the cache and a file.
type Between = dyn Fn(Arc<dyn Source>) -> Arc<dyn Source>;

/// A cache of blocks of 512 bytes, as small as can be at first.
pub struct Cached {
    cache: Rc<FileCache>,
    files: [Option<Rc<File>>; NAMES],
    /// Opens so far.
    opens: u32,
    between: Box<Between>,
    /// The source has been disturbed.
    is_disturbed: bool,
    /// True with write-back.
    is_later: bool,
}

pub struct File {
    store: Arc<Memory>,
    number: u32,
    /// The cache to be called once the file has no name and no handle, with write-back: not before, as it may be read.
    told: Option<Rc<FileCache>>,
}

impl Drop for File {
    fn drop(&mut self) {
        if let Some(cache) = &self.told {
            cache.note(Op::Unlink, self.number, 0, 0, false);
            // A read-ahead thread may be writing some of it right now, but returns nothing if that fails.
            let noted = Instant::now();
            while cache.waits(self.number) {
                assert!(noted.elapsed() < Duration::from_secs(20), "it is gone");
                thread::yield_now();
            }
        }
    }
}

pub struct Handle {
    file: Rc<File>,
    source: Arc<dyn Source>,
    stream: Option<Stream>,
    app: u32,
}

impl Cached {
    pub fn new() -> Cached {
        let policy = PolicySpec::parse("lru").expect("it is known");
        let settings = Settings { policy, memory: 4096, block: 512, rules: None, seed: 1, store: None };
        let cache = FileCache::new(&settings, None).expect("it can be built");
        let (cache, between) = (Rc::new(cache), Box::new(|file| file));
        Cached { cache, files: Default::default(), opens: 0, between, is_disturbed: false, is_later: false }
    }

    /// The same, and what is written may wait.
    pub fn later(self) -> Cached {
        self.cache.write_later();
        Cached { is_later: true, ..self }
    }

    /// Writes all that waits of files with names, and holds the source against what is read.
    pub fn check_source(&mut self) {
        let files: Vec<Rc<File>> = self.files.iter().flatten().cloned().collect();
        for file in files {
            self.write_all(&file);
            file.store.most.store(0, Ordering::SeqCst);
            let source = (self.between)(file.store.clone());
            let access = Access { file: file.number, app: 0, source: &source, stream: None, executes: false };
            let mut read = Vec::new();
            // In small pieces: of a long one a call may fail each time.
            loop {
                match self.cache.read(&access, read.len() as u64, 2048) {
                    Ok(more) if more.is_empty() => break,
                    Ok(more) => read.extend(more),
                    Err(error) => assert!(self.expects(&error), "{error}"),
                }
            }
            assert!(read == file.store.bytes(), "the source differs");
        }
    }

    fn write_all(&self, file: &File) {
        while let Err(error) = self.cache.write_out(file.number) {
            assert!(self.expects(&error), "{error}");
        }
        assert!(!self.cache.waits(file.number));
    }

    /// The same of files with something between that may disturb every call.
    pub fn through(between: impl Fn(Arc<dyn Source>) -> Arc<dyn Source> + 'static) -> Cached {
        Cached { between: Box::new(between), is_disturbed: true, ..Cached::new() }
    }

    fn note(&self, op: Op, file: &File) {
        if self.cache.wants(op, Some(file.number)) {
            self.cache.note(op, file.number, self.cache.app("app0"), 0, false);
        }
    }
}

impl Handle {
    fn access(&self) -> Access<'_> {
        let Handle { file, source, stream, app } = self;
        Access { file: file.number, app: *app, source, stream: stream.as_ref(), executes: false }
    }
}

impl Subject for Cached {
    type Handle = Handle;

    fn open(&mut self, name: usize) -> Handle {
        let cache = &self.cache;
        let make = || {
            let number = cache.file(&format!("/directory/{name}.png"), Kind::Datafile);
            let told = self.is_later.then(|| cache.clone());
            Rc::new(File { store: Memory::new(Vec::new()), number, told })
        };
        let file = self.files[name].get_or_insert_with(make).clone();
        let source = (self.between)(file.store.clone());
        while let Err(error) = self.cache.opened(file.number, source.as_ref()) {
            assert!(self.expects(&error), "{error}");
        }
        self.note(Op::Open, &file);
        self.opens += 1;
        let app = self.cache.app(&format!("app{}", self.opens % 3));
        let stream = (self.opens.is_multiple_of(2)).then(Stream::default);
        Handle { source, file, stream, app }
    }

    fn read(&mut self, handle: &Handle, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        self.cache.read(&handle.access(), offset, length)
    }

    fn write(&mut self, handle: &Handle, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.cache.write(&handle.access(), offset, bytes)
    }

    fn append(&mut self, handle: &Handle, bytes: &[u8]) -> io::Result<usize> {
        self.cache.append(&handle.access(), bytes).map(|(_, done)| done)
    }

    fn set_len(&mut self, handle: &Handle, size: u64) -> io::Result<()> {
        self.cache.set_len(&handle.access(), size)
    }

    fn rename(&mut self, from: usize, to: usize) {
        self.unlink(to);
        self.files[to] = self.files[from].take();
        self.files[to].iter().for_each(|file| self.note(Op::Rename, file));
    }

    fn unlink(&mut self, name: usize) {
        let file = self.files[name].take();
        file.iter().filter(|file| file.told.is_none()).for_each(|file| self.note(Op::Unlink, file));
    }

    fn change_behind(&mut self, name: usize, bytes: &[u8]) {
        let file = self.files[name].as_ref().expect("it is there");
        // Otherwise both would be right.
        self.write_all(file);
        file.store.change(|all| *all = bytes.to_vec());
    }

    fn reconfigure(&mut self, policy: Option<&str>, memory: Option<u64>) {
        let policy = policy.map(|policy| PolicySpec::parse(policy).expect("it is one of ours"));
        // A scheme in parts may need more.
        let _ = self.cache.reconfigure(memory, policy);
    }

    /// Of one file the next calls fail, or all move few bytes each.
    fn disturb(&mut self, how: u8) {
        let Some(file) = &self.files[usize::from(how) % NAMES] else { return };
        if self.is_later && how & 0x30 != 0 {
            let written = self.cache.write_out(file.number);
            return assert!(written.is_ok_and(|()| !self.cache.waits(file.number)) || self.is_disturbed);
        }
        match how / 4 % 4 {
            0 => file.store.most.store(0, Ordering::SeqCst),
            1 => file.store.most.store(u64::from(how) + 1, Ordering::SeqCst),
            2 => file.store.fail_with(&[Some(EIO)]),
            _ => file.store.fail_with(&[None, Some(EIO)]),
        }
        self.is_disturbed = true;
    }

    fn expects(&self, error: &io::Error) -> bool {
        self.is_disturbed && error.raw_os_error().is_some_and(|number| ERRORS.contains(&number))
    }

    fn validate(&mut self) {
        self.cache.validate();
    }
}
