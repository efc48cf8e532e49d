//! What a cache tells: estimates of other sizes and policies, beside whole caches, and recordings, replayed by the
//! simulator.

use hotset::{Cache, Facts, SetupError};
use hotset_core::random::Rng;
use hotset_sim::Silent;
use hotset_sim::sweep::Sweep;
use hotset_trace::{OpenOptions, formats, open};

const CAPACITY: u64 = 20_000;

/// Half of the references go to a skewed set, half loop over twice the capacity.
fn keys(references: usize) -> impl Iterator<Item = u64> {
    let mut random = Rng::new(7);
    let mut next = 0;
    (0..references).map(move |_| {
        if random.below(2) == 0 {
            next = (next + 1) % (2 * CAPACITY);
            1 << 32 | next
        } else {
            (random.unit().powi(3) * 100_000.0) as u64
        }
    })
}

fn refer(cache: &Cache<u64, u64>, key: u64) -> bool {
    let is_hit = cache.get(&key).is_some();
    if !is_hit {
        cache.insert(key, key);
    }
    is_hit
}

/// The hit ratio of the second half of the references.
fn whole(policy: &str, capacity: u64, references: usize) -> f64 {
    let cache = Cache::builder(policy).capacity(capacity).build().unwrap();
    let hits = keys(references).map(|key| refer(&cache, key)).skip(references / 2);
    hits.filter(|&is_hit| is_hit).count() as f64 / (references / 2) as f64
}

#[test]
fn estimates_are_close_to_whole_caches() {
    const REFERENCES: usize = 600_000;
    for policy in ["lru", "s3-fifo"] {
        let cache = Cache::builder(policy).capacity(CAPACITY).sampled().hash_seed(1).build().unwrap();
        assert!(matches!(cache.curve(), Err(SetupError::FewSamples { .. })));
        keys(REFERENCES).for_each(|key| _ = refer(&cache, key));
        let curve = cache.curve().unwrap();
        assert_eq!(
            curve.iter().map(|point| point.capacity).collect::<Vec<_>>(),
            [CAPACITY / 8, CAPACITY / 4, CAPACITY / 2, CAPACITY, CAPACITY * 2, CAPACITY * 4]
        );
        let others = [("lirs", CAPACITY), ("lru", 3 * CAPACITY), ("arc", CAPACITY / 2)];
        let others = others.map(|(policy, capacity)| (policy, cache.what_if(policy, capacity).unwrap()));
        for (name, point) in curve.into_iter().map(|point| (policy, point)).chain(others) {
            let exact = whole(name, point.capacity, REFERENCES);
            let error = point.hit_ratio - exact;
            assert!(error.abs() < 0.04, "{name} of {}: {:.3}, exact {exact:.3}", point.capacity, point.hit_ratio);
        }
    }
}

#[test]
fn a_cache_without_a_sample_says_so() {
    let cache: Cache<u64, u64> = Cache::builder("lru").build().unwrap();
    let error = cache.what_if("lirs", 10).unwrap_err().to_string();
    assert_eq!(error, "the cache keeps no sample of its references; set `sampled` when building it");
}

/// The simulator's hits of a recording are those of the cache.
#[test]
fn a_recording_replays_to_the_same_hits() {
    let dir = tempfile::tempdir().unwrap();
    for policy in ["lru", "s3-fifo", "sieve"] {
        let path = dir.path().join(format!("{policy}.hst"));
        let cache = Cache::builder(policy).capacity(500).shards(1).build().unwrap();
        let recording = cache.record(&path).unwrap();
        keys(30_000).for_each(|key| _ = refer(&cache, key % 3000));
        recording.finish().unwrap();
        refer(&cache, 1);
        let stats = cache.stats();
        let open = || open(&path, formats::BUILTIN, &OpenOptions::default());
        let rows = Sweep::parse(policy, "500 blocks").unwrap().run("keys", open, &Silent).unwrap().rows;
        let counts = &rows[0].counts;
        assert_eq!(counts.hits + counts.misses, 30_000, "{policy}");
        assert!(counts.hits == stats.hits || counts.hits + 1 == stats.hits, "{policy}: {} {}", counts.hits, stats.hits);
        // Keys are hashed: small ones would repeat in the bytes of a file that has them.
        let (first, second) = (std::fs::read(&path).unwrap(), dir.path().join("again.hst"));
        let again = Cache::builder(policy).capacity(500).shards(1).build().unwrap();
        let recording = again.record(&second).unwrap();
        keys(30_000).for_each(|key| _ = refer(&again, key % 3000));
        drop(recording);
        assert_ne!(first, std::fs::read(second).unwrap(), "each recording has a secret of its own");
    }
}

#[test]
fn tenants_have_counts_and_targets() {
    let builder = Cache::builder("qos(web=60%)").capacity(400).tenants(["web", "batch"]);
    let cache = builder.build().unwrap();
    let [web, batch] = [0, 1].map(|tenant| Facts { tenant, ..Facts::default() });
    let mut random = Rng::new(3);
    for step in 0..200_000u64 {
        // The batch alone would fill the cache.
        for (key, facts) in [(u64::from(random.below(300)), web), ((1 << 20) + step % 5000, batch)] {
            if cache.get_with(&key, facts).is_none() {
                cache.insert_with(key, key, facts);
            }
        }
    }
    let [web, batch] = ["web", "batch"].map(|name| cache.tenant_stats(name).unwrap());
    assert_eq!((web.hits + web.misses, batch.hits + batch.misses), (200_000, 200_000));
    assert!(web.hits > 110_000, "{web:?}");
    assert_eq!(cache.tenant_stats("other"), None);
}

/// Pinned values stay, whatever the policy does.
#[test]
fn pinned_values_stay() {
    for policy in ["fifo", "lru", "s3-fifo", "lirs", "arc", "w-tinylfu", "sieve"] {
        for weighs in [false, true] {
            let builder = Cache::<u64, u64>::builder(policy).capacity(40).shards(1);
            let cache = if weighs { builder.weigher(|&key, _| 1 + key % 3) } else { builder }.build().unwrap();
            assert!(!cache.pin(&1).unwrap(), "nothing is there");
            for key in 1..4 {
                cache.insert(key, key);
                assert!(cache.pin(&key).unwrap() && cache.pin(&key).unwrap());
            }
            (10..500).for_each(|key| _ = cache.insert(key, key));
            cache.validate();
            assert!((1..4).all(|key| cache.get(&key) == Some(key)), "{policy}");
            cache.insert(2, 7);
            (500..900).for_each(|key| _ = cache.insert(key, key));
            assert_eq!((cache.peek(&2), cache.unpin(&2), cache.unpin(&2)), (Some(7), true, false), "{policy}");
            assert_eq!(cache.remove(&3), Some(3));
            cache.resize(20).unwrap();
            (10..500).for_each(|key| _ = cache.insert(key, key));
            assert_eq!((cache.peek(&1), cache.capacity()), (Some(1), 20), "{policy}");
            cache.validate();
            let pin = |key| {
                cache.insert(key, key);
                cache.pin(&key)
            };
            let pins: Vec<_> = (10..90).map(pin).collect();
            let pinned = pins.iter().filter(|pin| matches!(pin, Ok(true))).count();
            assert!(pinned < 20, "{policy}: {pinned}");
            // Other policies may reject a value in a cache that small.
            assert!(pins.iter().any(Result::is_err) || !["fifo", "lru", "sieve"].contains(&policy), "{policy}");
            cache.validate();
        }
    }
}
