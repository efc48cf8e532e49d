//! Panics of the caller's code: each ends its call, and the cache is usable and consistent afterwards.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use hotset::{Cache, Reason, SetupError};

thread_local! {
    /// The code that panics at its next call.
    static FUSE: Cell<Option<Code>> = const { Cell::new(None) };
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Code {
    Hash,
    Eq,
    Clone,
    Drop,
    Weigher,
    Listener,
    Predicate,
}

fn burn(code: Code) {
    if FUSE.get() == Some(code) {
        FUSE.set(None);
        panic!("the caller's {code:?}");
    }
}

#[derive(Debug)]
struct Key(u32);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        burn(Code::Hash);
        self.0.hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        burn(Code::Eq);
        self.0 == other.0
    }
}

impl Eq for Key {}

impl Clone for Key {
    fn clone(&self) -> Key {
        Key(self.0)
    }
}

#[derive(Debug, PartialEq)]
struct Value(u32);

impl Clone for Value {
    fn clone(&self) -> Value {
        burn(Code::Clone);
        Value(self.0)
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        burn(Code::Drop);
    }
}

fn cache(policy: &str) -> Cache<Key, Value> {
    let builder = Cache::builder(policy).capacity(8).shards(1).weigher(|_, _| {
        burn(Code::Weigher);
        1
    });
    builder.listener(|_, _, _| burn(Code::Listener)).build().unwrap()
}

#[test]
fn a_panic_of_the_callers_code_leaves_a_usable_cache() {
    type Call = fn(&Cache<Key, Value>);
    let calls: [Call; 8] = [
        |cache| _ = cache.get(&Key(1)),
        |cache| _ = cache.insert(Key(1), Value(1)),
        |cache| _ = cache.insert(Key(100), Value(100)),
        |cache| _ = cache.remove(&Key(2)),
        |cache| _ = cache.get_or_insert_with(Key(101), || Value(101)),
        |cache| _ = cache.access(Key(3), Value(3)),
        |cache| _ = cache.iter().count(),
        |cache| {
            _ = cache.invalidate_if(|key, _| {
                burn(Code::Predicate);
                key.0 == 4
            })
        },
    ];
    let codes = [Code::Hash, Code::Eq, Code::Clone, Code::Drop, Code::Weigher, Code::Listener, Code::Predicate];
    let mut panics = 0;
    for policy in ["fifo", "sieve", "lru", "s3-fifo", "lirs", "w-tinylfu"] {
        for code in codes {
            for call in calls {
                let cache = cache(policy);
                (0..8).for_each(|key| _ = cache.insert(Key(key), Value(key)));
                FUSE.set(Some(code));
                panics += usize::from(catch_unwind(AssertUnwindSafe(|| call(&cache))).is_err());
                FUSE.set(None);
                cache.validate();
                (0..20).for_each(|key| _ = cache.insert(Key(key), Value(key + 50)));
                for key in 0..20 {
                    assert!(cache.get(&Key(key)).is_none_or(|value| value.0 == key + 50), "{policy}, {code:?}");
                }
                assert_eq!(cache.get_or_insert_with(Key(200), || Value(7)).unwrap().0, 7);
                cache.validate();
            }
        }
    }
    assert!(panics > 100, "{panics} panics");
}

#[test]
fn a_listener_gets_each_value_once_with_the_reason() {
    let seen: Arc<Mutex<Vec<(u32, u32, Reason)>>> = Arc::default();
    let log = seen.clone();
    let builder = Cache::builder("lru").capacity(2).shards(1);
    let cache =
        builder.listener(move |key, value, reason| log.lock().unwrap().push((key, value, reason))).build().unwrap();
    cache.insert(1, 10);
    cache.insert(1, 11);
    cache.insert(2, 20);
    cache.insert(3, 30);
    assert_eq!(cache.remove(&2), Some(20));
    cache.invalidate_if(|&key, _| key == 3).unwrap();
    cache.insert(4, 40);
    cache.clear();
    let expected = [
        (1, 10, Reason::Replaced),
        (1, 11, Reason::Capacity),
        (2, 20, Reason::Removed),
        (3, 30, Reason::Invalidated),
        (4, 40, Reason::Invalidated),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn a_listener_and_a_weigher_may_use_the_cache() {
    let handle: Arc<Mutex<Option<Cache<u32, u32>>>> = Arc::default();
    let [from_listener, from_weigher] = [handle.clone(), handle.clone()];
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let other = |handle: &Mutex<Option<Cache<u32, u32>>>| handle.lock().unwrap().clone();
    let builder = Cache::builder("lru")
        .capacity(4)
        .shards(1)
        .weigher(move |_, _| other(&from_weigher).map_or(1, |cache| 1 + u64::from(cache.contains(&9))));
    let cache = builder
        .listener(move |key, value, _| {
            if let Some(cache) = other(&from_listener)
                && key < 50
            {
                counted.fetch_add(1, Ordering::Relaxed);
                cache.insert(key + 100, value);
            }
        })
        .build()
        .unwrap();
    *handle.lock().unwrap() = Some(cache.clone());
    (0..20).for_each(|key| _ = cache.insert(key, key));
    assert!(calls.load(Ordering::Relaxed) >= 10);
    cache.validate();
    *handle.lock().unwrap() = None;
}

#[test]
fn a_predicate_that_uses_the_cache_is_refused_without_a_deadlock() {
    let cache: Cache<u32, u32> = Cache::builder("sieve").capacity(10).shards(1).build().unwrap();
    cache.insert(1, 1);
    let found = cache.invalidate_if(|key, _| {
        cache.insert(2, 2);
        cache.get(key).is_none()
    });
    assert!(matches!(found, Err(SetupError::Reentrant)), "{found:?}");
    let visited = cache.for_each(|_, _| _ = cache.remove(&1));
    assert!(matches!(visited, Err(SetupError::Reentrant)));
    cache.insert(3, 3);
    assert_eq!((cache.get(&1), cache.get(&2), cache.get(&3)), (Some(1), None, Some(3)));
    assert_eq!(cache.invalidate_if(|_, _| true).unwrap(), 2);
    cache.validate();
}
