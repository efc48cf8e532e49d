//! Several threads: a random schedule of all calls, whose answers are checked against the history of each key.
//!
//! A value is its key and a version. A key's versions are drawn from one counter when an insertion begins. The history
//! keeps, for each key, the newest version whose insertion has ended, and the newest that a removal has covered. A read
//! that begins later may find neither an older version (a lost update) nor a removed one.
//!
//! `HOTSET_OPERATIONS` sets the number of operations, 10^7 divided among the policies by default, `HOTSET_SEED` the
//! seed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use hotset::{Cache, Facts, Stats};
use hotset_core::random::Rng;

const THREADS: u64 = 4;
const KEYS: u32 = 600;

/// What a key has seen.
#[derive(Default)]
struct History {
    /// The last version that was drawn.
    drawn: AtomicU64,
    /// Versions up to this one are older than an insertion or removal that has ended.
    over: AtomicU64,
}

#[derive(Clone, Debug)]
struct Value {
    key: u32,
    version: u64,
}

struct World {
    cache: Cache<u32, Value>,
    keys: Vec<History>,
    weigh: fn(u32) -> u64,
}

impl World {
    fn new(policy: &str, shards: usize, weigh: fn(u32) -> u64, capacity: u64) -> World {
        let builder = Cache::builder(policy).capacity(capacity).shards(shards);
        let cache = builder.weigher(move |&key, _: &Value| weigh(key)).build().unwrap();
        World { cache, keys: (0..KEYS).map(|_| History::default()).collect(), weigh }
    }

    /// Draws a version for a key.
    fn draw(&self, key: u32) -> Value {
        Value { key, version: self.keys[key as usize].drawn.fetch_add(1, Ordering::SeqCst) + 1 }
    }

    /// Checks a value that was found by a call that began when versions up to `over` were over.
    fn check(&self, key: u32, over: u64, found: Option<Value>) {
        if let Some(value) = found {
            assert_eq!(value.key, key);
            assert!(value.version > over, "{key}: version {} though {over} was over", value.version);
        }
    }

    fn over(&self, key: u32) -> u64 {
        self.keys[key as usize].over.load(Ordering::SeqCst)
    }

    /// Versions before `version` are over: its insertion has ended, and only this thread inserts the key.
    fn end(&self, key: u32, version: u64) {
        self.keys[key as usize].over.fetch_max(version, Ordering::SeqCst);
    }

    /// One operation. Each key is changed by one thread only; all threads read all keys.
    fn step(&self, random: &mut Rng, thread: u64) {
        let own = |random: &mut Rng| random.below(KEYS / THREADS as u32) * THREADS as u32 + thread as u32;
        let any = |random: &mut Rng| random.below(KEYS).min(random.below(KEYS));
        match random.below(1000) {
            0..600 => {
                let key = any(random);
                let over = self.over(key);
                self.check(key, over, self.cache.get(&key));
            }
            600..700 => {
                let key = own(random);
                let value = self.draw(key);
                let version = value.version;
                self.cache.insert(key, value);
                self.end(key, version - 1);
            }
            700..880 => {
                // The version is drawn when the load begins: a change that ends later is newer.
                let key = own(random);
                let over = self.over(key);
                let found = self.cache.get_or_insert_with(key, || self.draw(key)).unwrap();
                self.check(key, over, Some(found));
            }
            880..960 => {
                let key = own(random);
                let drawn = self.keys[key as usize].drawn.load(Ordering::SeqCst);
                self.cache.remove(&key);
                assert!(!self.cache.contains(&key), "{key} was removed, and only this thread inserts it");
                self.end(key, drawn);
            }
            960..990 => {
                let key = own(random);
                let value = self.draw(key);
                let version = value.version;
                let life = Some(Duration::from_micros(random.below(200).into()));
                self.cache.insert_with(key, value, Facts { life, ..Facts::default() });
                self.end(key, version - 1);
            }
            990..996 => {
                let key = own(random);
                // Not possible where pins would take all of a shard.
                let _ = self.cache.pin(&key);
                self.cache.unpin(&key);
            }
            996 => self.cache.resize(u64::from(100 + random.below(400))).unwrap(),
            997 => _ = self.cache.invalidate_if(|key, _| key % 97 == 5).unwrap(),
            998 => assert!(self.cache.iter().all(|(key, value)| key == value.key)),
            _ => _ = self.cache.remove_expired(),
        }
    }

    fn run(&self, operations: u64, seed: u64) {
        thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || {
                    let mut random = Rng::new(seed << 8 | thread);
                    for step in 0..operations / THREADS {
                        self.step(&mut random, thread);
                        if step % 4096 == 0 {
                            self.cache.validate();
                        }
                    }
                });
            }
        });
        self.cache.validate();
        let total: u64 = self.cache.iter().map(|(key, _)| (self.weigh)(key)).sum();
        assert!(total <= self.cache.weight() && self.cache.weight() <= self.cache.capacity());
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn answers_agree_with_the_history_of_each_key() {
    let policies = ["fifo", "sieve", "clock", "lru", "s3-fifo", "lirs", "arc", "w-tinylfu", "2q", "car"];
    let operations = setting("HOTSET_OPERATIONS", 10_000_000) / (2 * policies.len() as u64);
    for (at, policy) in policies.into_iter().enumerate() {
        for (shards, weigh) in [(1, (|_| 1) as fn(u32) -> u64), (4, |key| 1 + u64::from(key % 7))] {
            let world = World::new(policy, shards, weigh, 300);
            world.run(operations, setting("HOTSET_SEED", 1) + at as u64);
        }
    }
}

#[test]
fn a_cache_goes_to_other_threads() {
    fn assert_shared<T: Send + Sync + Clone>(_: &T) {}
    let cache: Cache<String, Vec<u8>> = Cache::builder("lirs").build().unwrap();
    assert_shared(&cache);
}

/// The hits of threads that take the references of one list by turns.
fn hits(policy: &str, keys: &[u32], threads: u64) -> Stats {
    let cache = Cache::<u32, u32>::builder(policy).capacity(2000).shards(1).hash_seed(1).build().unwrap();
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(key) = keys.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    cache.get_or_insert_with(*key, || *key).unwrap();
                }
            });
        }
    });
    cache.validate();
    cache.stats()
}

/// Four threads use one shard. Threads change the order of references that are close to each other. With one thread,
/// such changes move the hits of SIEVE by up to 0.27 points of 41.5. So the hits of four threads must be within 0.1
/// points of those of one thread, with the order of the list or with another in which each four references rotate.
#[test]
fn hits_under_threads_are_those_of_one_thread() {
    let mut random = Rng::new(1);
    let keys: Vec<u32> = (0..1_000_000).map(|_| (random.unit().powi(3) * 20_000.0) as u32).collect();
    for policy in ["sieve", "lru", "s3-fifo", "lirs", "arc", "w-tinylfu"] {
        let orders = (0..6).map(|order| {
            let mut keys = keys.clone();
            for group in keys.chunks_exact_mut(4).filter(|_| order > 0) {
                group.rotate_left(random.below(4) as usize);
            }
            100.0 * hits(policy, &keys, 1).hit_ratio()
        });
        let orders: Vec<f64> = orders.collect();
        let [least, most] = [f64::min, f64::max].map(|of| orders.iter().copied().reduce(of).unwrap());
        let threads = hits(policy, &keys, 4);
        let ratio = 100.0 * threads.hit_ratio();
        println!("{policy}: {least:.3} to {most:.3}; threads {ratio:.3}, {} events dropped", threads.dropped_events);
        assert!((least - 0.1..most + 0.1).contains(&ratio), "{policy}: {ratio:.3}, not in {orders:.3?}");
    }
}
