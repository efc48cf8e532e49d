//! Computations of a policy that run while requests continue: their results are used and reported, and never delay
//! requests.

mod support;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use hotset_cache::{FileCache, Status};
use hotset_core::policy::{Explained, PolicySpec, Treatment};
use hotset_core::random::Rng;

use support::{Opened, pattern, settings};

const BLOCK: u64 = 4096;

/// A loop over one and a half times the memory beside some hot blocks and a stream.
fn work(policy: &str) -> FileCache {
    let blocks = 200;
    let cache = FileCache::new(&settings(policy, blocks * BLOCK), None).unwrap();
    let looped = Opened::new(&cache, "/data/loop.bin", pattern(1, 300 * BLOCK as usize));
    let hot = Opened::new(&cache, "/data/hot.db", pattern(2, 40 * BLOCK as usize));
    let stream = Opened::new(&cache, "/data/stream.log", pattern(3, 9_000 * BLOCK as usize));
    let app = cache.app("reader");
    let mut random = Rng::new(3);
    for step in 0..9_000 {
        let read = |file: &Opened, block: u64| drop(cache.read(&file.access(app), block * BLOCK, 100).unwrap());
        read(&looped, step % 300);
        read(&hot, random.below(40).into());
        read(&stream, step);
    }
    cache
}

/// The explanation once no computation runs.
fn explained(cache: &FileCache) -> Vec<Explained> {
    let begin = Instant::now();
    loop {
        let told = cache.explain();
        if !told.is_empty() {
            return told;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing is ever told");
        thread::yield_now();
    }
}

#[test]
fn what_is_learnt_beside_requests_is_worth_as_much_and_told() {
    let (beside, inline) = (work("auto"), work("auto(curves=inline)"));
    let hit_ratio = |cache: &FileCache| cache.counts().0.total.hits as f64 / 27_000.0;
    // LRU finds the hot blocks alone, and not all of them: 40 of 120 blocks of a lap.
    assert!(hit_ratio(&inline) > 0.45, "{}", hit_ratio(&inline));
    assert!((hit_ratio(&beside) - hit_ratio(&inline)).abs() < 0.02, "{} {}", hit_ratio(&beside), hit_ratio(&inline));
    for cache in [beside, inline] {
        let told = explained(&cache);
        let of = |name: &str| {
            let found = told.iter().find(|one| one.file.as_deref() == Some(name) && one.references_percent > 1.0);
            found.unwrap_or_else(|| panic!("no explanation of {name}: {told:#?}")).clone()
        };
        assert_eq!(of("/data/hot.db").treatment, Treatment::Keep);
        assert_eq!(of("/data/loop.bin").treatment, Treatment::KeepSome);
        let stream = of("/data/stream.log");
        assert!(stream.treatment == Treatment::LetPass && stream.room_percent < 2.0, "{stream:#?}");
        assert_eq!(stream.app.as_deref(), Some("reader"));
        assert!(!Status::of(&cache).explained.is_empty());
        cache.validate();
    }
}

#[test]
fn policies_change_while_they_are_at_work() {
    let cache = Arc::new(FileCache::new(&settings("auto(period=1)", 64 * BLOCK), None).unwrap());
    let file = Arc::new(Opened::new(&cache, "/f", pattern(1, 300 * BLOCK as usize)));
    let readers: Vec<_> = (0..3)
        .map(|seed| {
            let (cache, file) = (cache.clone(), file.clone());
            thread::spawn(move || {
                let mut random = Rng::new(seed);
                for _ in 0..4_000 {
                    let offset = u64::from(random.below(290)) * BLOCK;
                    let read = cache.read(&file.access(0), offset, 4096).unwrap();
                    assert!(read == file.store.bytes()[offset as usize..][..4096]);
                }
            })
        })
        .collect();
    for step in 0..200 {
        let spec = ["auto(period=1)", "lirs", "auto(period=2, nodes=30, asks=1)"][step % 3];
        cache.reconfigure(Some((40 + step as u64 % 50) * BLOCK), Some(PolicySpec::parse(spec).unwrap())).unwrap();
        thread::yield_now();
    }
    readers.into_iter().for_each(|reader| reader.join().unwrap());
    assert!(!cache.is_broken());
    cache.validate();
}
