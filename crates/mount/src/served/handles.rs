//! Open handles by number, the data of open files, and caches of what was used recently.

use std::fmt;
use std::fs::File;
use std::hash::Hash;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use hotset::Cache;
use hotset_cache::source::Source;
use hotset_cache::workers::FailureDomain;
use hotset_cache::{Access, FileNumber, Stream};
use rustc_hash::FxHashMap;

/// The data of an open file: what reads need, and all that they need.
pub(crate) struct Data {
    pub source: Arc<dyn Source>,
    pub number: FileNumber,
    pub app: u32,
    pub executes: bool,
    /// Reads of it go through the cache.
    pub is_cached: bool,
    /// Followed by read-ahead, unless the kernel reads ahead itself.
    pub stream: Option<Stream>,
    /// Its failure domain.
    pub part: FailureDomain,
}

impl Data {
    pub fn access(&self) -> Access<'_> {
        Access {
            file: self.number,
            app: self.app,
            source: &self.source,
            stream: self.stream.as_ref(),
            executes: self.executes,
        }
    }
}

/// The bytes of a file that was opened.
#[derive(Clone)]
pub(crate) struct Opened {
    pub file: Arc<File>,
    pub source: Arc<dyn Source>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        self.file.fmt(out)
    }
}

/// Things by number.
pub(crate) struct Handles<T> {
    next: AtomicU64,
    open: RwLock<FxHashMap<u64, Arc<T>>>,
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Handles { next: AtomicU64::new(1), open: RwLock::default() }
    }
}

impl<T> Handles<T> {
    pub fn add(&self, thing: impl Into<Arc<T>>) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.write().unwrap_or_else(PoisonError::into_inner).insert(number, thing.into());
        number
    }

    pub fn get(&self, number: u64) -> io::Result<Arc<T>> {
        self.look(number, Arc::clone)
    }

    /// Something of what has this number.
    pub fn look<R>(&self, number: u64, look: impl FnOnce(&Arc<T>) -> R) -> io::Result<R> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.get(&number).map(look).ok_or_else(|| rustix::io::Errno::BADF.into())
    }

    /// All that is open.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Open handles.
    pub fn len(&self) -> usize {
        self.open.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub fn is_empty(&self) -> bool {
        self.open.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Removes it. Dropping the result may be its last close, which may wait for the source.
    pub fn close(&self, number: u64) -> Option<Arc<T>> {
        self.open.write().unwrap_or_else(PoisonError::into_inner).remove(&number)
    }
}

/// The policy of caches ordered by use.
const ORDER: &str = "lru";
const BUILDS: &str = "a policy that runs on values";

/// A cache of at most this many entries that evicts the least recently used. Missing entries take no memory.
pub(crate) fn recent<K: Eq + Hash, V: Clone>(most: u64) -> Cache<K, V> {
    Cache::builder(ORDER).capacity(most).shards(1).build().expect(BUILDS)
}

/// The same of things that weigh so much.
pub(crate) fn recent_by_weight<K: Eq + Hash, V: Clone>(
    most: u64,
    weigh: impl Fn(&K, &V) -> u64 + Send + Sync + 'static,
) -> Cache<K, V> {
    Cache::builder(ORDER).capacity(most).weigher(weigh).shards(1).build().expect(BUILDS)
}
