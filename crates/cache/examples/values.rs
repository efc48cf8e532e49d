//! What a reference to a cache of values costs, beside the usual LRU of a hash map and a list: nanoseconds for a skewed
//! set of keys, of which each is looked up and put in where it is not found. The least of some rounds, one cache after
//! the other in each.

use std::collections::HashMap;
use std::time::Instant;

use hotset_cache::Cache;
use hotset_core::parts::random::Random;

const KEYS: u32 = 1_000_000;
const CAPACITY: u32 = 100_000;
const REFERENCES: usize = 1_000_000;
const ROUNDS: usize = 5;

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

/// Nanoseconds of a reference and hits in percent; `refer` tells whether it was one.
fn measure(keys: &[u64], mut refer: impl FnMut(u64) -> bool) -> (f64, f64) {
    let started = Instant::now();
    let hits = keys.iter().filter(|&&key| refer(key)).count();
    let nanos = started.elapsed().as_nanos() as f64 / keys.len() as f64;
    (nanos, 100.0 * hits as f64 / keys.len() as f64)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = Random::new(1);
    // The third power of an even draw: a few keys are asked for again and again.
    let mut draw = || (f64::from(random.below(1 << 30)) / f64::from(1 << 30)).powi(3);
    let keys: Vec<u64> = (0..REFERENCES).map(|_| (draw() * f64::from(KEYS)) as u64).collect();
    let mut rows = vec![("HashMap and list, lru", Vec::new())];
    rows.extend(POLICIES.map(|name| (name, Vec::new())));
    for _ in 0..ROUNDS {
        for (name, told) in &mut rows {
            told.push(if POLICIES.contains(name) {
                let mut cache = Cache::new(name, CAPACITY)?;
                measure(&keys, |key| {
                    let is_hit = cache.get(&key).is_some();
                    if !is_hit {
                        cache.insert(key, key);
                    }
                    is_hit
                })
            } else {
                let mut usual = Usual::new();
                measure(&keys, |key| {
                    let is_hit = usual.get(key).is_some();
                    if !is_hit {
                        usual.insert(key, key);
                    }
                    is_hit
                })
            });
        }
    }
    println!("{CAPACITY} of {KEYS} keys, {REFERENCES} references, the least of {ROUNDS} rounds");
    for (name, told) in rows {
        let least = told.iter().map(|(nanos, _)| *nanos).fold(f64::INFINITY, f64::min);
        println!("{name:<22} {least:>6.0} ns   {:.2} % hits", told[0].1);
    }
    Ok(())
}
