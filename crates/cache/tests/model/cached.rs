//! The cache itself, on files in memory.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
    cache: FileCache,
    files: [Option<Rc<File>>; NAMES],
    /// Opens so far.
    opens: u32,
    between: Box<Between>,
    /// The source has been disturbed.
    is_disturbed: bool,
}

pub struct File {
    store: Arc<Memory>,
    number: u32,
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
        let settings = Settings { policy, memory: 4096, block: 512, rules: None, seed: 1 };
        let cache = FileCache::new(&settings, None).expect("it can be built");
        Cached { cache, files: Default::default(), opens: 0, between: Box::new(|file| file), is_disturbed: false }
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
            Rc::new(File { store: Memory::new(Vec::new()), number })
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
        self.files[name].take().iter().for_each(|file| self.note(Op::Unlink, file));
    }

    fn change_behind(&mut self, name: usize, bytes: &[u8]) {
        let file = self.files[name].as_ref().expect("it is there");
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
