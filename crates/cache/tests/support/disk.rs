//! A tier in memory, below a cache of blocks of 512 bytes.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use hotset_cache::source::Source;
use hotset_cache::{Admit, FileCache, Levels, Recording, Settings, Status, Tier, TierError, TierSettings, TierStatus};
use hotset_core::policy::PolicySpec;

use super::{Memory, Opened, pattern};

pub const BLOCK: u64 = 512;
pub const HEADER: usize = 4096;
pub const RECORD: usize = 128;

/// A tier of this many frames.
pub fn tier(policy: &str, frames: u64) -> TierSettings {
    TierSettings {
        size: HEADER as u64 + frames * (BLOCK + RECORD as u64),
        block: BLOCK,
        policy: PolicySpec::parse(policy).unwrap(),
        admit: Admit::All,
        levels: Levels::Exclusive,
        writes: None,
        seed: 1,
        source: String::new(),
        device: None,
    }
}

pub fn cache(policy: &str, blocks: u64, recording: Option<Recording>) -> FileCache {
    let policy = PolicySpec::parse(policy).unwrap();
    let settings = Settings { policy, memory: blocks * BLOCK, block: BLOCK, rules: None, seed: 1, store: None };
    FileCache::new(&settings, recording).unwrap()
}

/// The two files of a tier, in memory, and its messages.
#[derive(Clone, Default)]
pub struct Disk {
    pub data: Arc<Memory>,
    pub index: Arc<Memory>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Disk {
    pub fn of(data: Vec<u8>, index: Vec<u8>) -> Disk {
        Disk { data: Memory::new(data), index: Memory::new(index), told: Arc::default() }
    }

    pub fn open(&self, settings: &TierSettings) -> Result<Tier, TierError> {
        let files: [Arc<dyn Source>; 2] = [self.data.clone(), self.index.clone()];
        let told = self.told.clone();
        Tier::over(files, settings, move |sentence| told.lock().unwrap().push(sentence.to_owned()), Box::new(()))
    }

    /// A cache of so many blocks over this tier.
    pub fn cache(&self, policy: &str, blocks: u64, settings: &TierSettings) -> FileCache {
        let cache = cache(policy, blocks, None);
        cache.put_on(self.open(settings).unwrap()).unwrap();
        cache
    }

    /// The messages, once there is one.
    pub fn told(&self) -> Vec<String> {
        while self.told.lock().unwrap().is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        self.told.lock().unwrap().clone()
    }

    pub fn copy(&self) -> Disk {
        Disk::of(self.data.bytes(), self.index.bytes())
    }
}

/// A file that a later process recognises.
pub fn stored(file: u64, length: usize) -> Arc<Memory> {
    let store = Memory::new(pattern(file, length));
    store.file.store(file, Ordering::SeqCst);
    store
}

pub fn reads(store: &Memory) -> u64 {
    store.reads.load(Ordering::SeqCst)
}

pub fn status(cache: &FileCache) -> TierStatus {
    Status::of(cache).tier.expect("there is a tier")
}

/// Waits until nothing waits to be written.
pub fn settle(cache: &FileCache) {
    loop {
        let now = status(cache);
        if now.blocks_written == now.demotions || now.off.is_some() {
            return;
        }
        thread::sleep(Duration::from_micros(100));
    }
}

/// Reads all of a file, block by block, and holds it against what it must be.
pub fn read_all(cache: &FileCache, file: &Opened) {
    let bytes = file.store.bytes();
    for at in (0..bytes.len()).step_by(BLOCK as usize) {
        let end = bytes.len().min(at + BLOCK as usize);
        let read = cache.read(&file.access(0), at as u64, BLOCK as usize).unwrap();
        assert!(read == bytes[at..end], "wrong bytes from {at} on");
        settle(cache);
    }
}
