//! Memory that the process takes while many read at once. Alone in its file, since it looks at the whole process.

mod support;

use std::fs;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hotset_cache::source::{Source, Stamp};
use hotset_cache::{Access, FileCache, Settings};
use hotset_core::request::Kind;

use support::settings;

const FILE: u64 = 32 << 20;

/// A slow file whose bytes are all the same.
struct Slow;

impl Source for Slow {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        thread::sleep(Duration::from_millis(20));
        let length = buffer.len().min(FILE.saturating_sub(offset) as usize);
        buffer[..length].fill(7);
        Ok(length)
    }

    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_len(&self, _size: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn stamp(&self) -> io::Result<Stamp> {
        Ok(Stamp::of_times(FILE, 1, 1))
    }

    fn sync(&self, _data_only: bool) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes of this process's memory: now, or at most so far (proc(5)).
fn memory(key: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
}

/// Has `readers` read 1 MiB of a file of their own each, all at once, and gives the memory that the process takes at
/// most and thereafter.
fn read_at_once(readers: usize, memory_bytes: u64, block: u64) -> [u64; 2] {
    let cache = FileCache::new(&Settings { block, ..settings("lru", memory_bytes) }, None).unwrap();
    let source: Arc<dyn Source> = Arc::new(Slow);
    thread::scope(|scope| {
        for reader in 0..readers {
            let file = cache.file(&format!("/{reader}"), Kind::Datafile);
            let (cache, source) = (&cache, &source);
            scope.spawn(move || {
                let access = Access { file, app: 0, source, stream: None, executes: false };
                let bytes = cache.read(&access, 0, 1 << 20).unwrap();
                assert!(bytes.len() == 1 << 20 && bytes.iter().all(|&byte| byte == 7));
            });
        }
    });
    let taken = [memory("VmHWM:"), memory("VmRSS:")];
    println!(
        "{readers} readers, blocks of {block} bytes: {} MiB at most, {} MiB thereafter",
        taken[0] >> 20,
        taken[1] >> 20
    );
    taken
}

/// Beside the frames there is what is in flight, a quarter of them or one request; and what the C library keeps: glibc
/// has up to eight heaps a core, and of requests of 1 MiB up to 2 MiB stay in each; and stacks of threads that have
/// ended, of which each has touched a few pages.
#[test]
fn many_readers_take_little_more_than_the_memory_that_was_given() {
    const FRAMES: u64 = 64 << 20;
    const IN_FLIGHT: u64 = 17 << 20;
    const MANY: usize = 300;
    let heaps = thread::available_parallelism().unwrap().get() as u64 * 8 * (2 << 20);
    let kept = heaps + MANY as u64 * (16 << 10);
    let before = memory("VmRSS:");
    for (readers, block) in [(64, 16 << 20), (MANY, 4096)] {
        let [most, thereafter] = read_at_once(readers, FRAMES, block);
        assert!(most < before + FRAMES + IN_FLIGHT + kept, "{most} bytes, {before} before");
        assert!(thereafter < before + FRAMES + kept, "{thereafter} bytes stay, {before} before");
    }
}
