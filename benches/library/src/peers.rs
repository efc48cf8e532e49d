//! The caches that are compared, behind one pair of calls.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use hotset::Cache as Hotset;
use hotset::core::policies::{s3_fifo::S3Fifo, sieve::Sieve};

/// A cache of numbers.
pub trait Peer: Sync {
    /// True if a key is there.
    fn get(&self, key: u64) -> bool;
    fn insert(&self, key: u64);
    /// Does what the cache has put off, before memory or hits are counted.
    fn settle(&self) {}
}

/// A cache by name, for so many values.
pub type Make = fn(usize) -> Box<dyn Peer>;

/// The caches that are compared.
pub const PEERS: &[(&str, Make)] = &[
    ("hotset s3-fifo", |n| hotset("s3-fifo", n)),
    ("hotset s3-fifo bit", |n| hotset("s3-fifo(most=1,promote=1)", n)),
    ("hotset sieve", |n| hotset("sieve", n)),
    ("hotset lru", |n| hotset("lru", n)),
    ("hotset lirs", |n| hotset("lirs", n)),
    ("hotset w-tinylfu", |n| hotset("w-tinylfu", n)),
    ("hotset S3Fifo typed", |n| Box::new(Hotset::<u64, u64, S3Fifo>::typed().capacity(n as u64).build().unwrap())),
    ("hotset Sieve typed", |n| Box::new(Hotset::<u64, u64, Sieve>::typed().capacity(n as u64).build().unwrap())),
    ("quick_cache", |n| Box::new(quick_cache::sync::Cache::<u64, u64>::new(n))),
    ("moka", |n| Box::new(moka::sync::Cache::<u64, u64>::new(n as u64))),
    ("mini-moka", |n| Box::new(mini_moka::sync::Cache::<u64, u64>::new(n as u64))),
    ("TinyUFO", |n| Box::new(tinyufo::TinyUfo::<u64, u64>::new(n, n))),
    ("foyer s3-fifo", |n| foyer(n, foyer_memory::S3FifoConfig::default().into())),
    ("foyer lru", |n| foyer(n, foyer_memory::LruConfig::default().into())),
    ("stretto", |n| Box::new(stretto::Cache::<u64, u64>::new(n * 10, n as i64).unwrap())),
    ("lru in a mutex", |n| Box::new(Mutex::new(lru::LruCache::<u64, u64>::new(NonZeroUsize::new(n).unwrap())))),
];

fn hotset(policy: &str, n: usize) -> Box<dyn Peer> {
    Box::new(Hotset::<u64, u64>::builder(policy).capacity(n as u64).build().unwrap())
}

fn foyer(n: usize, config: foyer_memory::EvictionConfig) -> Box<dyn Peer> {
    Box::new(
        foyer_memory::CacheBuilder::<u64, u64, _>::new(n)
            .with_eviction_config(config)
            .build::<foyer_memory::CacheProperties>(),
    )
}

impl<P: hotset::Engine> Peer for Hotset<u64, u64, P> {
    fn get(&self, key: u64) -> bool {
        Hotset::get(self, &key).is_some()
    }

    fn insert(&self, key: u64) {
        Hotset::insert(self, key, key);
    }
}

impl Peer for quick_cache::sync::Cache<u64, u64> {
    fn get(&self, key: u64) -> bool {
        quick_cache::sync::Cache::get(self, &key).is_some()
    }

    fn insert(&self, key: u64) {
        quick_cache::sync::Cache::insert(self, key, key);
    }
}

impl Peer for moka::sync::Cache<u64, u64> {
    fn get(&self, key: u64) -> bool {
        moka::sync::Cache::get(self, &key).is_some()
    }

    fn insert(&self, key: u64) {
        moka::sync::Cache::insert(self, key, key);
    }

    fn settle(&self) {
        self.run_pending_tasks();
    }
}

impl Peer for mini_moka::sync::Cache<u64, u64> {
    fn get(&self, key: u64) -> bool {
        mini_moka::sync::Cache::get(self, &key).is_some()
    }

    fn insert(&self, key: u64) {
        mini_moka::sync::Cache::insert(self, key, key);
    }

    fn settle(&self) {
        mini_moka::sync::ConcurrentCacheExt::sync(self);
    }
}

impl Peer for tinyufo::TinyUfo<u64, u64> {
    fn get(&self, key: u64) -> bool {
        tinyufo::TinyUfo::get(self, &key).is_some()
    }

    fn insert(&self, key: u64) {
        self.put(key, key, 1);
    }
}

impl Peer for foyer_memory::Cache<u64, u64> {
    fn get(&self, key: u64) -> bool {
        foyer_memory::Cache::get(self, &key).is_some()
    }

    fn insert(&self, key: u64) {
        foyer_memory::Cache::insert(self, key, key);
    }
}

impl Peer for stretto::Cache<u64, u64> {
    fn get(&self, key: u64) -> bool {
        stretto::Cache::get(self, &key).is_some()
    }

    fn insert(&self, key: u64) {
        stretto::Cache::insert(self, key, key, 1);
    }

    fn settle(&self) {
        let _ = self.wait();
    }
}

impl Peer for Mutex<lru::LruCache<u64, u64>> {
    fn get(&self, key: u64) -> bool {
        self.lock().unwrap().get(&key).is_some()
    }

    fn insert(&self, key: u64) {
        self.lock().unwrap().put(key, key);
    }
}
