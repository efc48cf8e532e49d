//! Cost of a reference to a cache of values, compared with the usual LRU of a hash map and a list: nanoseconds for a
//! skewed set of keys, each of which is looked up and inserted if it is missing, by two calls or many at once. The
//! minimum of some rounds, one cache after the other in each.

use std::collections::HashMap;
use std::time::Instant;

use hotset_cache::Cache;
use hotset_core::random::Rng;

const KEYS: u32 = 1_000_000;
const CAPACITY: u32 = 100_000;
const REFERENCES: usize = 1_000_000;
const ROUNDS: usize = 5;
/// References a call where these are many.
const BATCH: usize = 1 << 16;

const POLICIES: [&str; 6] = ["lru", "sieve", "s3-fifo", "arc", "lirs", "w-tinylfu"];

/// No entry.
const NONE: usize = usize::MAX;

/// The least recently used leaves: `std`'s map, and a list whose links are indexes.
struct Usual {
    map: HashMap<u64, usize>,
    /// Key, value, the one used after it and the one used before it.
    entries: Vec<(u64, u64, usize, usize)>,
    newest: usize,
    oldest: usize,
}

impl Usual {
    fn new() -> Usual {
        Usual { map: HashMap::new(), entries: Vec::new(), newest: NONE, oldest: NONE }
    }

    fn unlink(&mut self, at: usize) {
        let (_, _, after, before) = self.entries[at];
        match self.entries.get_mut(after) {
            Some(entry) => entry.3 = before,
            None => self.newest = before,
        }
        match self.entries.get_mut(before) {
            Some(entry) => entry.2 = after,
            None => self.oldest = after,
        }
    }

    fn link(&mut self, at: usize) {
        (self.entries[at].2, self.entries[at].3) = (NONE, self.newest);
        match self.entries.get_mut(self.newest) {
            Some(entry) => entry.2 = at,
            None => self.oldest = at,
        }
        self.newest = at;
    }

    fn get(&mut self, key: u64) -> Option<u64> {
        let at = *self.map.get(&key)?;
        self.unlink(at);
        self.link(at);
        Some(self.entries[at].1)
    }

    fn insert(&mut self, key: u64, value: u64) {
        let at = if self.entries.len() < CAPACITY as usize {
            self.entries.push((key, value, NONE, NONE));
            self.entries.len() - 1
        } else {
            let at = self.oldest;
            self.unlink(at);
            self.map.remove(&self.entries[at].0);
            self.entries[at] = (key, value, NONE, NONE);
            at
        };
        self.map.insert(key, at);
        self.link(at);
    }
}

/// Refers to keys, and counts those that were there.
type Way = dyn Fn(&[u64]) -> usize;

/// Each look-up and insertion a call.
fn step_by_step(policy: &'static str) -> Box<Way> {
    Box::new(move |keys| {
        let mut cache = Cache::new(policy, CAPACITY).expect("a policy that runs on values");
        let mut is_there = |key| {
            let is_hit = cache.get(&key).is_some();
            if !is_hit {
                cache.insert(key, key);
            }
            is_hit
        };
        keys.iter().filter(|&&key| is_there(key)).count()
    })
}

/// Many references a call.
fn at_once(policy: &'static str) -> Box<Way> {
    Box::new(move |keys| {
        let mut cache = Cache::new(policy, CAPACITY).expect("a policy that runs on values");
        let hits = |part: &[u64]| cache.access_many(part.iter().map(|&key| (key, key)));
        keys.chunks(BATCH).flat_map(hits).filter(|&is_hit| is_hit).count()
    })
}

fn usual(keys: &[u64]) -> usize {
    let mut usual = Usual::new();
    let mut is_there = |key| {
        let is_hit = usual.get(key).is_some();
        if !is_hit {
            usual.insert(key, key);
        }
        is_hit
    };
    keys.iter().filter(|&&key| is_there(key)).count()
}

fn main() {
    let mut random = Rng::new(1);
    // The third power of an even draw: a few keys are asked for again and again.
    let mut draw = || (f64::from(random.below(1 << 30)) / f64::from(1 << 30)).powi(3);
    let keys: Vec<u64> = (0..REFERENCES).map(|_| (draw() * f64::from(KEYS)) as u64).collect();
    let mut ways: Vec<(String, Box<Way>)> = vec![("HashMap and list, lru".to_owned(), Box::new(usual))];
    for policy in POLICIES {
        ways.push((policy.to_owned(), step_by_step(policy)));
        ways.push((format!("{policy}, at once"), at_once(policy)));
    }
    let mut least = vec![(f64::INFINITY, 0); ways.len()];
    for _ in 0..ROUNDS {
        for ((_, way), (nanos, hits)) in ways.iter().zip(&mut least) {
            let started = Instant::now();
            *hits = way(&keys);
            *nanos = nanos.min(started.elapsed().as_nanos() as f64 / REFERENCES as f64);
        }
    }
    println!("{CAPACITY} of {KEYS} keys, {REFERENCES} references, the least of {ROUNDS} rounds");
    for ((name, _), (nanos, hits)) in ways.iter().zip(least) {
        println!("{name:<22} {nanos:>6.0} ns   {:.2} % hits", 100.0 * hits as f64 / REFERENCES as f64);
    }
}
