//! A mistake of ours costs one request and the use of the cache, never wrong bytes and never the mount.

mod support;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hotset_cache::source::{Source, Stamp};
use hotset_cache::{CacheError, Status};
use hotset_mount::Store;

use support::mounted::{MODES, Mount, can_mount, options};
use support::pattern;

/// Files whose next read or change panics, if it is asked for.
struct Panicking(Arc<AtomicBool>);

struct PanickingFile(Arc<File>, Arc<AtomicBool>);

impl PanickingFile {
    fn file(&self) -> &File {
        assert!(!self.1.swap(false, Ordering::SeqCst), "on purpose");
        &self.0
    }
}

impl Store for Panicking {
    fn open(&self, file: Arc<File>) -> Arc<dyn Source> {
        Arc::new(PanickingFile(file, self.0.clone()))
    }
}

impl Source for PanickingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self.file(), buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self.file(), bytes, offset)
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        File::set_len(self.file(), size)
    }

    fn stamp(&self) -> io::Result<Stamp> {
        Source::stamp(self.0.as_ref())
    }

    fn sync(&self, data_only: bool) -> io::Result<()> {
        Source::sync(self.0.as_ref(), data_only)
    }
}

#[test]
fn a_panic_ends_one_change_and_no_read_and_the_source_is_served_from_then_on() {
    if !can_mount() {
        return;
    }
    type Call = fn(&File) -> io::Result<()>;
    let calls: [(&str, Call); 3] = [
        ("read", |file| file.read_exact_at(&mut [0; 4096], 40_960)),
        ("write", |file| file.write_all_at(b"new", 5)),
        ("cut", |file| file.set_len(60_000)),
    ];
    for mode in MODES {
        for (name, call) in calls {
            let armed = Arc::new(AtomicBool::new(false));
            let mut mount = Mount::with_store("lru", 64, options(mode), Arc::new(Panicking(armed.clone())));
            fs::write(mount.source("f"), pattern(1, 100_000)).unwrap();
            let file = File::options().read(true).write(true).open(mount.at("f")).unwrap();
            armed.store(true, Ordering::SeqCst);
            let done = call(&file);
            match name {
                "read" => done.unwrap(),
                _ => assert_eq!(done.unwrap_err().raw_os_error(), Some(5), "{name} {mode:?}"),
            }
            assert!(!armed.load(Ordering::SeqCst), "{name} {mode:?} has panicked");
            // A change without an event is visible: nothing is served from the cache.
            for seed in 2..5 {
                fs::write(mount.source("f"), pattern(seed, 100_000)).unwrap();
                let read = fs::read(mount.at("f")).unwrap();
                assert!(read == pattern(seed, 100_000), "{name} {mode:?}");
            }
            call(&file).unwrap();
            fs::write(mount.at("g"), "made and written").unwrap();
            fs::rename(mount.at("g"), mount.at("h")).unwrap();
            assert_eq!(fs::read(mount.source("h")).unwrap(), b"made and written");
            let cache = mount.cache.take().unwrap();
            assert!(Status::of(&cache).broken);
            assert!(matches!(cache.reconfigure(Some(1 << 20), None), Err(CacheError::Broken)));
            drop(file);
            mount.stop();
            assert!(matches!(cache.finish(), Err(CacheError::Broken)));
        }
    }
}

/// Files that cannot be opened but by a panic, if it is asked for.
struct PanickingOpens(Arc<AtomicBool>);

impl Store for PanickingOpens {
    fn open(&self, file: Arc<File>) -> Arc<dyn Source> {
        assert!(!self.0.swap(false, Ordering::SeqCst), "on purpose");
        file
    }
}

/// The thread in which an open panics takes the requests of everybody, and there are few of these.
#[test]
fn more_panics_than_there_are_threads_leave_the_mount_served() {
    if !can_mount() {
        return;
    }
    let armed = Arc::new(AtomicBool::new(false));
    let store = Arc::new(PanickingOpens(armed.clone()));
    let mut mount = Mount::with_store("lru", 64, options(MODES[0]), store);
    fs::write(mount.source("f"), pattern(1, 10_000)).unwrap();
    for _ in 0..20 {
        armed.store(true, Ordering::SeqCst);
        assert_eq!(File::open(mount.at("f")).unwrap_err().raw_os_error(), Some(5));
        assert!(!armed.load(Ordering::SeqCst), "it has panicked");
    }
    assert!(fs::read(mount.at("f")).unwrap() == pattern(1, 10_000));
    assert!(mount.cache.take().unwrap().is_broken());
    mount.stop();
}
