//! One thread and one shard: a cache returns the inserted values, and those that the simulator predicts stay.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hotset::{Builder, Cache, Facts, Stats};
use hotset_core::policy::{PolicySpec, Setting};
use hotset_core::random::Rng;
use hotset_core::registry;
use hotset_core::request::{Op, Request};
use hotset_sim::grid::{self, Plan};
use hotset_sim::sweep::Sweep;
use hotset_sim::{BlockSize, Options, Silent, Tally, prepare};
use hotset_trace::{Addressing, Batch, Meta, OpenOptions, Tables, TraceError, TraceReader, formats, open};

/// Every policy that runs on values, by name.
fn policies() -> impl Iterator<Item = &'static str> {
    let is_live = |name: &&str| one::<u32, u32>(name, 64).build().is_ok();
    registry::all().map(|entry| entry.info.name).filter(is_live)
}

/// A cache of one shard with hashes that are the same in every run.
fn one<K, V>(policy: &str, capacity: u64) -> Builder<K, V> {
    Cache::builder(policy).capacity(capacity).shards(1).hash_seed(1).log_events(1)
}

/// Steps of all kinds, held against a map that forgets nothing.
fn exercise(policy: &str, cache: &Cache<u32, u64>, mut capacity: u64, weigh: fn(u64) -> u64) {
    let mut model: HashMap<u32, u64> = HashMap::new();
    let mut random = Rng::new(7);
    for step in 0..6000 {
        // A set that is used again and again, and others.
        let key = if random.below(3) > 0 { random.below(40) } else { random.below(400) };
        match random.below(100) {
            0..4 => {
                let (removed, known) = (cache.remove(&key), model.remove(&key));
                assert!(removed.is_none() || removed == known, "{policy}: {removed:?} was removed, not {known:?}");
                assert_eq!(cache.peek(&key), None, "{policy}");
            }
            4 if step % 7 == 0 => {
                capacity = u64::from(20 + random.below(100));
                cache.resize(capacity).unwrap();
            }
            choice => {
                let found = cache.get(&key);
                assert!(found.is_none() || found.as_ref() == model.get(&key), "{policy}: {key} is not {found:?}");
                if found.is_none() || choice < 10 {
                    let value = step * 1000 + u64::from(key);
                    let was_there = cache.contains(&key);
                    // The policy may evict it when it sees the hits before.
                    assert!(!cache.insert(key, value) || was_there, "{policy}");
                    model.insert(key, value);
                    assert!(cache.peek(&key).is_none_or(|now| now == value), "{policy}");
                }
            }
        }
        assert!(cache.weight() <= capacity && cache.len() as u64 <= capacity, "{policy}");
        if step % 50 == 0 {
            cache.validate();
            let there = (0..400).filter_map(|key| cache.peek(&key)).map(weigh);
            assert_eq!(there.sum::<u64>(), cache.weight(), "{policy}");
        }
    }
    assert!(cache.weight() > capacity / 3, "{policy} uses its room: {} of {capacity}", cache.weight());
}

#[test]
fn what_is_found_is_what_was_put_in_under_every_policy() {
    assert!(policies().count() > 25, "most policies run on values");
    for policy in policies() {
        exercise(policy, &one(policy, 60).build().unwrap(), 60, |_| 1);
    }
}

#[test]
fn values_that_weigh_differently_fit_together_under_every_policy() {
    fn weigh(value: u64) -> u64 {
        [1, 1, 2, 7, 30][value as usize % 5]
    }
    for policy in policies() {
        let cache = one(policy, 90).weigher(|_, &value| weigh(value)).build().unwrap();
        exercise(policy, &cache, 90, weigh);
    }
}

#[test]
fn one_call_for_a_reference_or_many_does_the_same_as_two() {
    let keys: Vec<u64> = keys()[..20_000].to_vec();
    for policy in policies() {
        let weighed = || one(policy, 9000).weigher(|key: &u64, _: &u64| 1 + key % 90).build().unwrap();
        let plain = || one(policy, 150).build().unwrap();
        let small = || one(policy, 5).build().unwrap();
        for make in [&plain as &dyn Fn() -> Cache<u64, u64>, &small, &weighed] {
            let [one, other, many] = [make(), make(), make()];
            let mut expected = Vec::new();
            for &key in &keys {
                let is_there = other.get(&key).is_some();
                if !is_there {
                    other.insert(key, key);
                }
                assert_eq!(one.access(key, key), is_there, "{policy}");
                expected.push(is_there);
            }
            let parts = keys.chunks(999).flat_map(|part| many.access_many(part.iter().map(|&key| (key, key))));
            assert!(parts.eq(expected.iter().copied()), "{policy}");
            let sorted = |cache: &Cache<u64, u64>| {
                let mut there: Vec<(u64, u64)> = cache.iter().collect();
                there.sort_unstable();
                there
            };
            for cache in [&one, &many] {
                assert_eq!((sorted(cache), cache.len()), (sorted(&other), sorted(&other).len()), "{policy}");
                assert_eq!(hits_and_misses(&cache.stats()), hits_and_misses(&other.stats()), "{policy}");
                cache.validate();
            }
            assert!(sorted(&one).iter().all(|&(key, value)| key == value));
        }
    }
}

#[test]
fn a_value_too_heavy_is_not_kept_and_takes_the_old_one_with_it() {
    let cache = one("lru", 10).weigher(|_: &&str, value: &u64| *value).build().unwrap();
    assert!(!cache.insert("a", 4) && !cache.insert("b", 5));
    assert_eq!((cache.insert("a", 11), cache.peek("a"), cache.peek("b")), (true, None, Some(5)));
    // The heaviest there may be is alone.
    assert_eq!((cache.insert("c", 10), cache.len(), cache.get("c")), (false, 1, Some(10)));
    assert_eq!((cache.stats().rejected, cache.heaviest()), (1, 10));
    cache.validate();
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let refused = |policy: &str, capacity| one::<u32, u32>(policy, capacity).build().err().unwrap().to_string();
    assert!(refused("lrv", 10).contains("did you mean lru"));
    let none = "a cache of 0 values is not possible; expected 1 to 2147483648, and at least one a shard";
    assert_eq!(refused("lru", 0), none);
    let many = "lru would track up to 1000000001 keys at once, of 134217728 at most; expected a smaller capacity";
    assert_eq!(refused("lru", 1_000_000_000), many);
    assert!(refused("opt", 10).starts_with("opt must know the future"));
    assert!(refused("virtual(lru,quantum=auto)", 10).contains("follows the load of the storage"));
    assert!(refused("bypass(lru,texture)", 1000).starts_with("bypass(lru,texture) treats kinds of files apart"));
    let shards = |shards| one::<u32, u32>("lru", 10).shards(shards).build().err().unwrap().to_string();
    assert_eq!(shards(3), "`shards`: 3 is not possible; expected a power of two up to 1024");
    assert_eq!(shards(16), none);
    let cache = one::<u32, u32>("lru", 10).build().unwrap();
    assert!(cache.resize(0).is_err() && cache.resize(1 << 40).is_err());
    cache.insert(1, 2);
    assert_eq!(cache.get(&1), Some(2), "it is as it was");
}

#[test]
fn large_capacities_of_bytes_are_possible() {
    for policy in policies() {
        let cache = one::<u32, u32>(policy, 1 << 40).weigher(|_, _| 1 << 20).build().unwrap();
        for key in 0..100 {
            cache.insert(key, key);
        }
        cache.validate();
        // It divides its capacity by itself.
        if policy != "virtual" {
            assert_eq!((cache.weight(), cache.len()), (100 << 20, 100), "{policy}");
        }
    }
}

/// A trace of one file, whose blocks are keys.
struct Keys(Option<Batch>, Meta, Tables);

impl TraceReader for Keys {
    fn meta(&self) -> &Meta {
        &self.1
    }

    fn tables(&self) -> &Tables {
        &self.2
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        *batch = self.0.take().unwrap_or_default();
        Ok(())
    }
}

const BLOCK: u64 = 4096;

/// The blocks that a recorded program has used, numbered in order of appearance.
fn keys() -> Vec<u64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/tpcc.hst");
    let mut reader = open(&path, formats::BUILTIN, &OpenOptions::default()).unwrap().reader;
    let (mut numbers, mut keys, mut batch) = (HashMap::new(), Vec::new(), Batch::new());
    while keys.len() < 60_000 {
        reader.read(&mut batch).unwrap();
        if batch.is_empty() {
            break;
        }
        for request in batch.requests.iter().filter(|request| matches!(request.op(), Op::Read | Op::Write)) {
            let blocks = request.offset / BLOCK..(request.offset + u64::from(request.length)).div_ceil(BLOCK);
            keys.extend(blocks.map(|block| {
                let next = numbers.len() as u64;
                *numbers.entry((request.file, block)).or_insert(next)
            }));
        }
    }
    keys
}

/// Policies that do not ask where a block is: to those that do blocks of one file are neighbours, and values are not.
fn blind_policies() -> Vec<&'static str> {
    let is_blind = |name: &&str| {
        let needs = registry::find(name).unwrap().info.needs;
        !needs.address && !needs.object
    };
    let names: Vec<&str> = policies().filter(is_blind).collect();
    assert!(names.len() > 20, "{names:?}");
    names
}

/// The simulator's counts for policies at a capacity.
fn simulated(keys: &[u64], names: &[&str], capacity: u32) -> Vec<Tally> {
    let requests = keys.iter().map(|key| Request { offset: key * BLOCK, length: BLOCK as u32, ..Request::default() });
    let meta = Meta {
        format: "keys",
        addressing: Addressing::Bytes { unit: None },
        has_time: false,
        has_ops: false,
        sample: None,
    };
    let batch = Batch { requests: requests.collect(), ..Batch::default() };
    let reader = Keys(Some(batch), meta, Tables::default());
    let options = Options { block: Some(BlockSize::Bytes(BLOCK)), ..Options::default() };
    let (mut prepared, _) = prepare(Box::new(reader), &options, &Silent).unwrap();
    let plan = |name: &&str| {
        let spec = PolicySpec::parse(name).unwrap().set_in(Setting::Serving);
        Plan { entry: spec.entry(), args: spec.args(Some(BLOCK)), capacity, bytes: None, seed: 1 }
    };
    let plans: Vec<Plan> = names.iter().map(plan).collect();
    grid::run(&mut prepared, &plans, &Silent).unwrap().tallies
}

/// Gets each key, and inserts it where it is not there.
fn run(name: &str, keys: &[u64], capacity: u32) -> Cache<u64, ()> {
    let cache = one(name, capacity.into()).build().unwrap();
    for &key in keys {
        if cache.get(&key).is_none() {
            cache.insert(key, ());
        }
    }
    cache.validate();
    cache
}

#[test]
fn what_is_simulated_is_what_runs() {
    const CAPACITY: u32 = 700;
    let (keys, names) = (keys(), blind_policies());
    for (name, tally) in names.iter().zip(simulated(&keys, &names, CAPACITY)) {
        let counted = (tally.total.hits, tally.total.misses());
        let cache = run(name, &keys, CAPACITY);
        assert_eq!(hits_and_misses(&cache.stats()), counted, "{name} on {} references", keys.len());
    }
}

/// Policies that evict only at misses decide the same, though hits reach them late.
#[test]
fn hits_that_the_policy_sees_late_change_nothing() {
    let keys = keys();
    for name in ["lru", "sieve", "s3-fifo", "lirs", "arc", "2q", "slru", "lfu"] {
        let [late, soon] = [64, 1].map(|events| {
            let cache = one(name, 700).log_events(events).build().unwrap();
            for &key in &keys {
                if cache.get(&key).is_none() {
                    cache.insert(key, ());
                }
            }
            cache.validate();
            cache.stats()
        });
        assert_eq!(late, soon, "{name}");
        assert_eq!(late.dropped_events, 0, "one thread drops none");
    }
}

/// A sketch counts keys whose slots were reused long ago. It receives other numbers than in the simulator, so other
/// keys share a counter.
#[test]
fn a_key_is_known_again_when_its_slot_was_another_s() {
    let keys = keys();
    for capacity in [700, 2000, 5000] {
        let counted = simulated(&keys, &["w-tinylfu"], capacity)[0].total.hits as f64;
        let hits = run("w-tinylfu", &keys, capacity).stats().hits as f64;
        assert!((hits - counted).abs() < 0.01 * counted, "{capacity}: {hits} hits, simulated {counted}");
    }
}

/// Objects of many sizes, in caches of bytes: held, streamed and live.
#[test]
fn what_is_simulated_in_bytes_is_what_runs() {
    const BYTES: u64 = 10_000_000;
    let size = |key: u64| 1 + (key * 2_654_435_761 % 1000) as u32 * 20;
    let keys = &keys()[..20_000];
    let request = |&key: &u64| Request { offset: key, length: size(key), ..Request::default() };
    let meta = Meta { format: "keys", addressing: Addressing::Objects, has_time: false, has_ops: false, sample: None };
    let names = blind_policies();
    let plan = |name: &&str| {
        let spec = PolicySpec::parse(name).unwrap().set_in(Setting::Serving);
        Plan { entry: spec.entry(), args: spec.args(None), capacity: 1, bytes: Some(BYTES), seed: 1 }
    };
    let plans: Vec<Plan> = names.iter().map(plan).collect();
    let simulated = [u64::MAX, 1].map(|memory_bytes| {
        let batch = Batch { requests: keys.iter().map(request).collect(), ..Batch::default() };
        let reader = Keys(Some(batch), meta.clone(), Tables::default());
        let options = Options { memory_bytes, keep_sizes: true, ..Options::default() };
        let (mut prepared, _) = prepare(Box::new(reader), &options, &Silent).unwrap();
        let tallies = grid::run(&mut prepared, &plans, &Silent).unwrap().tallies;
        tallies.into_iter().map(|tally| (tally.total, tally.bytes)).collect::<Vec<_>>()
    });
    assert_eq!(simulated[0], simulated[1], "held and streamed");
    for (name, (total, bytes)) in names.iter().zip(&simulated[0]) {
        let cache = one(name, BYTES).weigher(move |&key, &()| size(key).into()).build().unwrap();
        let mut hit = 0;
        for &key in keys {
            match cache.get(&key) {
                Some(()) => hit += u64::from(size(key)),
                None => _ = cache.insert(key, ()),
            }
        }
        let counted = (total.hits, total.misses());
        assert_eq!(hits_and_misses(&cache.stats()), counted, "{name} on {} references", keys.len());
        assert_eq!((bytes.hit, bytes.all), (hit, keys.iter().map(|&key| u64::from(size(key))).sum()));
        cache.validate();
    }
}

/// A clock that tests turn.
#[derive(Clone, Default)]
struct Hand(Arc<AtomicU64>);

impl Hand {
    fn set(&self, seconds: u64) {
        self.0.store(seconds, Ordering::Relaxed);
    }

    fn clock(&self) -> impl Fn() -> Duration + Send + Sync + 'static {
        let hand = self.0.clone();
        move || Duration::from_secs(hand.load(Ordering::Relaxed))
    }
}

#[test]
fn a_value_ends_at_its_time_and_not_before() {
    let hand = Hand::default();
    let cache = one("lru", 10).clock(hand.clock()).build().unwrap();
    cache.insert_with("a", 1, lasting(5));
    cache.insert_with("b", 2, lasting(9));
    cache.insert("c", 3);
    hand.set(4);
    assert_eq!((cache.get("a"), cache.peek("b")), (Some(1), Some(2)));
    hand.set(5);
    assert_eq!((cache.peek("a"), cache.len(), cache.iter().count()), (None, 3, 2));
    assert_eq!((cache.get("a"), cache.len()), (None, 2));
    // A value that is put in again has the end that it is given, or none.
    cache.insert_with("b", 4, lasting(1));
    assert!(!cache.insert_with("a", 5, lasting(0)));
    hand.set(6);
    assert_eq!((cache.remove_expired(), cache.remove_expired(), cache.len()), (2, 0, 1));
    cache.insert_with("c", 6, lasting(1));
    assert!(cache.insert("c", 7));
    hand.set(u64::from(u32::MAX));
    assert_eq!((cache.get("c"), cache.remove("b"), cache.insert("b", 8)), (Some(7), None, false));
    assert_eq!(cache.stats().expired, 3);
    cache.validate();
}

#[test]
fn a_value_ends_when_it_idles() {
    let hand = Hand::default();
    let cache = one("sieve", 10).clock(hand.clock()).time_to_idle(Duration::from_secs(5));
    let cache = cache.time_to_live(Duration::from_secs(12)).build().unwrap();
    cache.insert("a", 1);
    cache.insert("b", 2);
    cache.insert_with("c", 3, lasting(20));
    for now in [4, 8] {
        hand.set(now);
        assert_eq!((cache.get("a"), cache.peek("c")), (Some(1), (now < 5).then_some(3)));
    }
    // Idle, idle, and used but over.
    hand.set(12);
    assert_eq!((cache.get("b"), cache.get("c"), cache.get("a"), cache.len()), (None, None, None, 0));
    cache.validate();
}

/// Facts of a value that ends after so many seconds.
fn lasting(seconds: u64) -> Facts {
    Facts { life: Some(Duration::from_secs(seconds)), ..Facts::default() }
}

fn hits_and_misses(stats: &Stats) -> (u64, u64) {
    (stats.hits, stats.misses)
}

/// With the ends that the simulator gives the versions of objects, hits are those that it counts.
#[test]
fn values_end_live_as_in_the_simulator() {
    ends_are_those_of_the_simulator(&blind_policies(), 0);
    // Policies that tell writes apart see an absent key that is written here as read.
    ends_are_those_of_the_simulator(&["lru", "fifo", "arc", "s3-fifo", "sieve", "lirs"], 10);
}

fn ends_are_those_of_the_simulator(policies: &[&str], percent_written: u32) {
    let mut random = Rng::new(11);
    let requests: Vec<(u64, u64, bool, u64)> = (0..20_000)
        .map(|at| {
            let key = u64::from(random.below(300).min(random.below(300)));
            (at / 3, key, random.below(100) < percent_written, [0, 20, 100, 900][key as usize % 4])
        })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    let row = |&(time, key, write, ttl): &(u64, u64, bool, u64)| {
        format!("{time},{key},{},1,{ttl}\n", if write { 'W' } else { 'R' })
    };
    std::fs::write(&path, format!("time_s,id,op,size,ttl\n{}", requests.iter().map(row).collect::<String>())).unwrap();
    let open = || open(&path, formats::BUILTIN, &OpenOptions::default());
    let sweep = Sweep::parse(&policies.join(","), "50 blocks").unwrap();
    let rows = sweep.run("t", open, &Silent).unwrap().rows;
    for (policy, row) in policies.iter().zip(rows) {
        let hand = Hand::default();
        let cache = one(policy, 50).clock(hand.clock()).build().unwrap();
        let mut ends: HashMap<u64, u64> = HashMap::new();
        let mut hits = 0;
        for &(time, key, write, ttl) in &requests {
            hand.set(time);
            let has_ended = ends.get(&key).is_some_and(|&end| end <= time);
            if write || has_ended || !ends.contains_key(&key) {
                match ttl {
                    0 => ends.remove(&key),
                    ttl => ends.insert(key, time + ttl),
                };
            }
            let facts = lasting(ends.get(&key).map_or(u64::from(u32::MAX), |end| end - time));
            if write {
                hits += u64::from(cache.insert_with(key, (), facts));
            } else if cache.get(&key).is_some() {
                hits += 1;
            } else {
                cache.insert_with(key, (), facts);
            }
        }
        assert_eq!(hits, row.counts.hits, "{policy}");
        cache.validate();
    }
}
