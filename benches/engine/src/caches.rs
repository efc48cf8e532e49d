//! The caches of blocks that are compared, and their counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use hotset::Cache;
use slatedb::Error;
use slatedb::db_cache::foyer::{FoyerCache, FoyerCacheOptions};
use slatedb::db_cache::moka::{MokaCache, MokaCacheOptions};
use slatedb::db_cache::{CacheFetch, CacheLoader, CacheLookup, CachedEntry, CachedKey, DbCache};

/// The engine's default, its alternative, and policies of hotset.
pub const CACHES: [&str; 8] = ["foyer", "moka", "lru", "s3-fifo", "lirs", "arc", "w-tinylfu", "sieve"];

/// A cache of hotset for blocks, in bytes.
struct Blocks(Cache<CachedKey, CachedEntry>);

#[async_trait]
impl DbCache for Blocks {
    async fn get_block(&self, key: &CachedKey) -> Result<Option<CachedEntry>, Error> {
        Ok(self.0.get(key))
    }

    async fn get_index(&self, key: &CachedKey) -> Result<Option<CachedEntry>, Error> {
        Ok(self.0.get(key))
    }

    async fn get_filter(&self, key: &CachedKey) -> Result<Option<CachedEntry>, Error> {
        Ok(self.0.get(key))
    }

    async fn get_stats(&self, key: &CachedKey) -> Result<Option<CachedEntry>, Error> {
        Ok(self.0.get(key))
    }

    async fn insert(&self, key: CachedKey, value: CachedEntry) {
        self.0.insert(key, value);
    }

    async fn remove(&self, key: &CachedKey) {
        self.0.remove(key);
    }

    fn entry_count(&self) -> u64 {
        self.0.len() as u64
    }
}

/// A cache of blocks with counts of look-ups, which are the engine's for each cache.
pub struct Counted {
    cache: Arc<dyn DbCache>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Counted {
    /// A cache by its name, for so many bytes of blocks. Each has one shard, so that sizes are exact.
    pub fn new(name: &str, bytes: u64) -> Counted {
        let cache: Arc<dyn DbCache> = match name {
            "foyer" => Arc::new(FoyerCache::new_with_opts(FoyerCacheOptions { max_capacity: bytes, shards: 1 })),
            "moka" => {
                let options = MokaCacheOptions { max_capacity: bytes, ..MokaCacheOptions::default() };
                Arc::new(MokaCache::new_with_opts(options))
            }
            policy => {
                let builder = Cache::builder(policy).capacity(bytes).shards(1);
                let builder = builder.weigher(|_: &CachedKey, value: &CachedEntry| value.size() as u64);
                Arc::new(Blocks(builder.build().expect("a policy that weighs blocks")))
            }
        };
        Counted { cache, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// Returns the hits and misses since the last call.
    pub fn take(&self) -> [u64; 2] {
        [&self.hits, &self.misses].map(|count| count.swap(0, Ordering::Relaxed))
    }

    fn count(&self, is_hit: bool) {
        let count = if is_hit { &self.hits } else { &self.misses };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl DbCache for Counted {
    async fn get_block(&self, key: &CachedKey) -> Result<Option<CachedEntry>, Error> {
        let found = self.cache.get_block(key).await?;
        self.count(found.is_some());
        Ok(found)
    }

    async fn get_index(&self, key: &CachedKey) -> Result<Option<CachedEntry>, Error> {
        self.cache.get_index(key).await
    }

    async fn get_filter(&self, key: &CachedKey) -> Result<Option<CachedEntry>, Error> {
        self.cache.get_filter(key).await
    }

    async fn get_stats(&self, key: &CachedKey) -> Result<Option<CachedEntry>, Error> {
        self.cache.get_stats(key).await
    }

    async fn insert(&self, key: CachedKey, value: CachedEntry) {
        self.cache.insert(key, value).await;
    }

    async fn remove(&self, key: &CachedKey) {
        self.cache.remove(key).await;
    }

    fn entry_count(&self) -> u64 {
        self.cache.entry_count()
    }

    async fn fetch_block(&self, key: CachedKey, loader: CacheLoader) -> Result<CacheFetch, Error> {
        let fetched = self.cache.fetch_block(key, loader).await?;
        self.count(fetched.lookup == CacheLookup::Hit);
        Ok(fetched)
    }
}
