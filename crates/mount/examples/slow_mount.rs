//! A mount of a directory as if it lay on a slow disk: every read and write of the source takes a stated time, one
//! after the other. For `benches/mount.py` and `benches/writes.py`; the files themselves should be in the machine's
//! memory.
//!
//! `slow_mount SOURCE MOUNTPOINT MEMORY POLICY MODE SEEK_US MB_PER_S [WRITE_BACK]`: MEMORY in bytes, 0 without a cache;
//! MODE strict or fast; WRITE_BACK seconds that writes may wait. Bytes that were read from the source and written to it
//! and the counts are printed at the end, which a signal or an unmount brings.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hotset_cache::source::{Source, Stamp};
use hotset_cache::{FileCache, Settings, Status};
use hotset_core::policy::PolicySpec;
use hotset_mount::{Mode, Options, Store, mount};

/// A disk that does one thing at a time.
struct Disk {
    seek: Duration,
    bytes_per_second: f64,
    /// When it is free again, and where its head is: which file, and the byte behind the last one read.
    state: Mutex<(Instant, usize, u64)>,
    read: Moved,
    written: Moved,
}

/// What was moved in one direction.
#[derive(Default)]
struct Moved {
    bytes: AtomicU64,
    calls: AtomicU64,
}

struct Slow {
    file: Arc<File>,
    disk: Arc<Disk>,
}

impl Disk {
    /// Waits as long as it takes to move `length` bytes at `offset` of `file`, behind whoever came first.
    fn wait(&self, moved: &Moved, file: &File, offset: u64, length: usize) -> io::Result<()> {
        let file = file.metadata()?.ino() as usize;
        let transfer = Duration::from_secs_f64(length as f64 / self.bytes_per_second);
        let free = {
            let mut state = self.state.lock().expect("nobody panics while holding it");
            let seek = if (state.1, state.2) == (file, offset) { Duration::ZERO } else { self.seek };
            *state = (state.0.max(Instant::now()) + seek + transfer, file, offset + length as u64);
            state.0
        };
        thread::sleep(free.saturating_duration_since(Instant::now()));
        moved.bytes.fetch_add(length as u64, Ordering::Relaxed);
        moved.calls.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Source for Slow {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = Source::read_at(self.file.as_ref(), buffer, offset)?;
        if length > 0 {
            self.disk.wait(&self.disk.read, &self.file, offset, length)?;
        }
        Ok(length)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.disk.wait(&self.disk.written, &self.file, offset, bytes.len())?;
        Source::write_at(self.file.as_ref(), bytes, offset)
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        Source::set_len(self.file.as_ref(), size)
    }

    fn stamp(&self) -> io::Result<Stamp> {
        Source::stamp(self.file.as_ref())
    }

    fn sync(&self, data_only: bool) -> io::Result<()> {
        Source::sync(self.file.as_ref(), data_only)
    }
}

struct SlowStore(Arc<Disk>);

impl Store for SlowStore {
    fn open(&self, file: Arc<File>) -> Arc<dyn Source> {
        Arc::new(Slow { file, disk: self.0.clone() })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [source, mountpoint, memory, policy, mode, seek_us, mb_per_s, write_back @ ..] = words.as_slice() else {
        return Err("expected SOURCE MOUNTPOINT MEMORY POLICY MODE SEEK_US MB_PER_S [WRITE_BACK]".into());
    };
    let disk = Arc::new(Disk {
        seek: Duration::from_micros(seek_us.parse()?),
        bytes_per_second: mb_per_s.parse::<f64>()? * 1e6,
        state: Mutex::new((Instant::now(), 0, 0)),
        read: Moved::default(),
        written: Moved::default(),
    });
    let memory: u64 = memory.parse()?;
    let settings =
        Settings { policy: PolicySpec::parse(policy)?, memory, block: 4096, rules: None, seed: 1, store: None };
    let cache = if memory == 0 { None } else { Some(Arc::new(FileCache::new(&settings, None)?)) };
    let mode = if mode == "strict" { Mode::Strict } else { Mode::Fast };
    let write_back = write_back.first().map(|seconds| seconds.parse().map(Duration::from_secs_f64)).transpose()?;
    let options = Options { mode, write_back, ..Options::default() };
    let store = Arc::new(SlowStore(disk.clone()));
    mount(Path::new(source), Path::new(mountpoint), cache.clone(), store, options)?.serve()?;
    let status = cache.map(|cache| Status::of(&cache));
    let (references, hits) = status.map_or((0, 0), |status| (status.total.references, status.total.hits));
    let [(bytes, reads), (written, writes)] = [&disk.read, &disk.written]
        .map(|moved| (moved.bytes.load(Ordering::Relaxed), moved.calls.load(Ordering::Relaxed)));
    println!(
        "{{\"bytes_read\": {bytes}, \"reads\": {reads}, \"bytes_written\": {written}, \"writes\": {writes}, \"references\": {references}, \"hits\": {hits}}}"
    );
    Ok(())
}
