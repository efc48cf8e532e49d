//! Orders in which threads may meet in a shard, its log of hits and its loads. A checker of interleavings (shuttle)
//! draws them by seed.
//!
//! `cargo test -p hotset --features shuttle --test orders`; `HOTSET_SCHEDULES` sets the number of orders that are tried
//! for each case, `HOTSET_SEED` which.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hotset::{Cache, LoadError};
use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, Runner, thread};

/// Runs a case in many orders.
fn check(case: impl Fn() + Send + Sync + 'static) {
    let setting =
        |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let schedules = setting("HOTSET_SCHEDULES", 2000) as usize;
    let scheduler = RandomScheduler::new_from_seed(setting("HOTSET_SEED", 1), schedules);
    Runner::new(scheduler, Config::default()).run(case);
}

fn cache(policy: &str) -> Cache<u32, u32> {
    Cache::builder(policy).capacity(2).shards(1).hash_seed(1).log_events(2).build().unwrap()
}

/// Runs closures in threads, and returns their results.
fn together<T: Send + 'static>(work: Vec<Box<dyn FnOnce() -> T + Send>>) -> Vec<T> {
    let threads: Vec<_> = work.into_iter().map(thread::spawn).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

#[test]
fn hits_meet_insertions_and_evictions() {
    for policy in ["lru", "sieve", "s3-fifo"] {
        check(move || {
            let cache = cache(policy);
            cache.insert(1, 1);
            cache.insert(2, 2);
            let reader = |key: u32| {
                let cache = cache.clone();
                Box::new(move || {
                    for _ in 0..4 {
                        assert!(cache.get(&key).is_none_or(|found| found == key));
                    }
                    0_u32
                }) as Box<dyn FnOnce() -> u32 + Send>
            };
            let writer = cache.clone();
            let write = Box::new(move || {
                (3..6).for_each(|key| _ = writer.insert(key, key));
                writer.len() as u32
            });
            together(vec![reader(1), reader(2), write]);
            cache.validate();
            let stats = cache.stats();
            assert_eq!((stats.hits + stats.misses, stats.inserts), (8, 5));
            assert_eq!(cache.len() as u64, 5 - stats.evictions);
        });
    }
}

#[test]
fn one_loader_runs_and_the_others_get_its_value() {
    check(|| {
        let cache = cache("lru");
        let loads = Arc::new(AtomicU32::new(0));
        let caller = || {
            let (cache, loads) = (cache.clone(), loads.clone());
            Box::new(move || {
                let load = || {
                    thread::yield_now();
                    loads.fetch_add(1, Ordering::SeqCst) + 10
                };
                cache.get_or_insert_with(1, load).unwrap()
            }) as Box<dyn FnOnce() -> u32 + Send>
        };
        assert_eq!(together(vec![caller(), caller(), caller()]), [10, 10, 10]);
        assert_eq!(loads.load(Ordering::SeqCst), 1);
        cache.validate();
    });
}

#[test]
fn a_failed_loader_is_followed_by_another() {
    check(|| {
        let cache = cache("fifo");
        let loads = Arc::new(AtomicU32::new(0));
        let caller = || {
            let (cache, loads) = (cache.clone(), loads.clone());
            Box::new(move || {
                cache.try_get_or_insert_with(1, || match loads.fetch_add(1, Ordering::SeqCst) {
                    0 => Err("first"),
                    _ => Ok(7),
                })
            }) as Box<dyn FnOnce() -> Result<u32, LoadError<&'static str>> + Send>
        };
        let results = together(vec![caller(), caller(), caller()]);
        assert_eq!(results.iter().filter(|result| **result == Ok(7)).count(), 2, "{results:?}");
        assert_eq!(loads.load(Ordering::SeqCst), 2);
    });
}

#[test]
fn no_value_comes_back_after_its_removal() {
    check(|| {
        let cache = cache("s3-fifo");
        let source = Arc::new(AtomicU32::new(1));
        let load = {
            let (cache, source) = (cache.clone(), source.clone());
            Box::new(move || {
                cache.get_or_insert_with(1, || {
                    let value = source.load(Ordering::SeqCst);
                    thread::yield_now();
                    value
                })
            }) as Box<dyn FnOnce() -> Result<u32, _> + Send>
        };
        let change = {
            let (cache, source) = (cache.clone(), source.clone());
            Box::new(move || {
                source.store(2, Ordering::SeqCst);
                cache.remove(&1);
                Ok(cache.get(&1).unwrap_or(2))
            })
        };
        let results = together(vec![load, change]);
        assert_eq!(results[1], Ok(2), "a read after the removal finds the new value");
        assert!(cache.get(&1).is_none_or(|found| found == 2));
    });
}

#[test]
fn loaders_that_wait_for_each_other_are_refused() {
    check(|| {
        let cache = cache("lru");
        let caller = |own: u32, other: u32| {
            let cache = cache.clone();
            Box::new(move || {
                let load = || cache.get_or_insert_with(other, || 1).map_err(|_| "circle");
                cache.try_get_or_insert_with(own, load).is_ok()
            }) as Box<dyn FnOnce() -> bool + Send>
        };
        // Whatever the order, both end, and one at least has its value.
        assert!(together(vec![caller(1, 2), caller(2, 1)]).contains(&true));
        cache.validate();
    });
}
