//! A mount of a directory as if it lay on slow storage. The files themselves should be in the machine's memory.
//!
//! `slow_mount SOURCE MOUNTPOINT MEMORY POLICY MODE LATENCY MB_PER_S [WRITE_BACK]`: MEMORY in bytes, 0 without a cache;
//! MODE strict or fast; WRITE_BACK seconds that writes may wait. LATENCY is the microseconds of a seek on a disk that
//! serves one call at a time (`8000`), or the microseconds of each call to a server and the calls that it serves at a
//! time (`2000/8`). MB_PER_S is shared by all calls. At the end, which a signal or an unmount brings, it prints the
//! bytes that were read from the source and written to it, and the counts.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hotset_cache::source::{Source, Stamp};
use hotset_cache::{FileCache, Settings, Status};
use hotset_core::policy::PolicySpec;
use hotset_mount::{Mode, Options, Store, mount};

/// Storage with a latency and a bandwidth.
struct Disk {
    latency: Duration,
    /// Calls that a server serves at a time. `None`: a disk, which serves one and seeks only where a call does not
    /// continue the last one.
    servers: Option<Servers>,
    bytes_per_second: f64,
    /// When the link or the disk is free again, and where the head is: the file, and the byte after the last call.
    state: Mutex<(Instant, usize, u64)>,
    read: Moved,
    written: Moved,
}

/// The calls that a server can still take.
struct Servers {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Servers {
    fn hold(&self, time: Duration) {
        let mut free = self.freed.wait_while(self.free.lock().expect("no panic"), |free| *free == 0).expect("no panic");
        *free -= 1;
        drop(free);
        thread::sleep(time);
        *self.free.lock().expect("no panic") += 1;
        self.freed.notify_one();
    }
}

/// Bytes moved in one direction.
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
    /// Waits as long as moving `length` bytes at `offset` of `file` takes, after the calls that came before.
    fn wait(&self, moved: &Moved, file: &File, offset: u64, length: usize) -> io::Result<()> {
        let file = file.metadata()?.ino() as usize;
        let transfer = Duration::from_secs_f64(length as f64 / self.bytes_per_second);
        if let Some(servers) = &self.servers {
            servers.hold(self.latency);
        }
        let free = {
            let mut state = self.state.lock().expect("no panic");
            let goes_on = self.servers.is_some() || (state.1, state.2) == (file, offset);
            let seek = if goes_on { Duration::ZERO } else { self.latency };
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
    let [source, mountpoint, memory, policy, mode, latency, mb_per_s, write_back @ ..] = words.as_slice() else {
        return Err("expected SOURCE MOUNTPOINT MEMORY POLICY MODE LATENCY MB_PER_S [WRITE_BACK]".into());
    };
    let (latency, servers) = match latency.split_once('/') {
        Some((latency, servers)) => (latency, Some(servers.parse()?)),
        None => (latency.as_str(), None),
    };
    let disk = Arc::new(Disk {
        latency: Duration::from_micros(latency.parse()?),
        servers: servers.map(|free| Servers { free: Mutex::new(free), freed: Condvar::new() }),
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
