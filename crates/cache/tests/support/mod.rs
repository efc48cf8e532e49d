//! What tests of the cache share.
#![allow(dead_code, reason = "every test file uses a part of it")]

pub mod disk;
pub mod memory;

use std::sync::Arc;

use hotset_cache::source::Source;
use hotset_cache::{Access, FileCache, Settings};
use hotset_core::policy::PolicySpec;

pub use memory::Memory;

/// Settings of a cache with blocks of 4K.
pub fn settings(policy: &str, memory: u64) -> Settings {
    let policy = PolicySpec::parse(policy).unwrap_or_else(|error| panic!("{policy}: {error}"));
    Settings { policy, memory, block: 4096, rules: None, seed: 1, store: None }
}

/// A file that is open in a cache.
pub struct Opened {
    pub store: Arc<Memory>,
    source: Arc<dyn Source>,
    pub number: u32,
}

impl Opened {
    pub fn new(cache: &FileCache, path: &str, bytes: Vec<u8>) -> Opened {
        Opened::of(cache, path, Memory::new(bytes))
    }

    /// The same of a file that is in the store already.
    pub fn of(cache: &FileCache, path: &str, store: Arc<Memory>) -> Opened {
        let number = cache.file(path, hotset_core::request::Kind::Datafile);
        cache.opened(number, store.as_ref()).unwrap();
        Opened { source: store.clone(), store, number }
    }

    pub fn access(&self, app: u32) -> Access<'_> {
        Access { file: self.number, app, source: &self.source, stream: None, executes: false }
    }
}

/// Bytes that differ from place to place and from seed to seed.
pub fn pattern(seed: u64, length: usize) -> Vec<u8> {
    (0..length as u64).map(|at| ((at ^ at >> 8 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}
