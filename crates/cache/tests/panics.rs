//! A panic, or a read that is given up, never leaves another request unanswered.

mod support;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hotset_cache::source::{Source, Stamp};
use hotset_cache::{Access, FileCache, Read, Status};
use hotset_core::request::Kind;

use support::{Opened, pattern, settings};

#[test]
fn memory_of_schemes_in_parts_is_changed_across_the_sizes_where_the_parts_are_others() {
    for policy in ["attribute", "unix"] {
        let cache = FileCache::new(&settings(policy, 512 << 10), None).unwrap();
        let file = Opened::new(&cache, "/f", pattern(1, 300_000));
        for memory in [512u64, 64, 640, 32, 1300, 300] {
            let memory = memory << 10;
            cache.reconfigure(Some(memory), None).unwrap_or_else(|error| panic!("{policy} at {memory}: {error}"));
            for _ in 0..2 {
                assert_eq!(
                    cache.read(&file.access(0), 0, 300_000).unwrap(),
                    pattern(1, 300_000),
                    "{policy} at {memory}"
                );
            }
            cache.validate();
            let status = Status::of(&cache);
            assert!(!status.broken && status.memory_bytes == memory && status.frame_bytes <= memory, "{status:?}");
            let fresh = FileCache::new(&settings(policy, memory), None).unwrap();
            assert_eq!(fresh.memory().0, status.frame_bytes, "{policy} at {memory}: as one that was built so");
        }
    }
}

#[test]
fn whoever_waits_for_a_read_that_is_not_made_reads_himself() {
    let cache = Arc::new(FileCache::new(&settings("lru", 1 << 20), None).unwrap());
    let file = Arc::new(Opened::new(&cache, "/f", pattern(1, 50_000)));
    let begun = cache.begin_read(&file.access(0), 0, 50_000, &mut Vec::new());
    let Some(Read::Missing(missing)) = begun else { panic!("it is empty") };
    let waiting = {
        let (cache, file) = (cache.clone(), file.clone());
        thread::spawn(move || cache.read(&file.access(0), 0, 50_000))
    };
    while cache.counts().1.waits == 0 {
        thread::yield_now();
    }
    drop(missing);
    assert_eq!(waiting.join().unwrap().unwrap(), pattern(1, 50_000));
    assert_eq!(cache.read(&file.access(0), 0, 50_000).unwrap(), pattern(1, 50_000));
}

/// A file that cannot be written to but by a panic.
struct Panicking;

impl Source for Panicking {
    fn read_at(&self, _buffer: &mut [u8], _offset: u64) -> io::Result<usize> {
        Ok(0)
    }

    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<usize> {
        panic!("on purpose")
    }

    fn set_len(&self, _size: u64) -> io::Result<()> {
        Ok(())
    }

    fn stamp(&self) -> io::Result<Stamp> {
        Ok(Stamp::new(0, 0.into()))
    }

    fn sync(&self, _data_only: bool) -> io::Result<()> {
        Ok(())
    }
}

/// Looks whether the cache is broken when it is dropped, as the request is answered that a panic ends.
struct Answer<'a>(&'a FileCache, &'a AtomicBool);

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        self.1.store(self.0.is_broken(), Ordering::SeqCst);
    }
}

/// The receiver of the answer may change the file without an event, and must not be served from the cache afterwards.
#[test]
fn a_panic_is_known_before_anybody_is_answered() {
    let cache = FileCache::new(&settings("lru", 1 << 20), None).unwrap();
    let file = cache.file("/f", Kind::Datafile);
    let (source, was_broken) = (cache.watch(Arc::new(Panicking)), AtomicBool::new(false));
    let access = Access { file, app: 0, source: &source, stream: None, executes: false };
    let served = cache.contain(|| {
        let _answer = Answer(&cache, &was_broken);
        cache.write(&access, 0, b"new")
    });
    assert!(served.is_none() && was_broken.into_inner());
}
