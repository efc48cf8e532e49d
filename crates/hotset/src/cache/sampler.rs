//! Estimates of other sizes and policies: a sample of the references, replayed on demand.
//!
//! Idea: a key is in the sample if a hash of it is below a threshold. A cache of `rate` times the capacity serves the
//! sample as the whole cache serves all references (miniature simulation: Waldspurger, Saemundsson, Ahmad, Park, USENIX
//! ATC 2017). The cache stores the last sampled references only; an estimate replays them in a small cache.
//!
//! Correction: the sample has too many or too few of the hot keys, and the cache errs alike on it. An estimate for
//! another policy is the hit ratio of all references while the second half of the sample was taken, plus what the small
//! cache hits more there than the cache itself. An estimate for the running policy takes a small cache of the running
//! size instead, since a small cache may also learn more slowly.
//!
//! Cost: a multiplication for each reference; a lock and two stores for each sampled one. Memory: 1 MiB.

use std::collections::VecDeque;
use std::hash::Hash;

use hotset_core::policy::PolicySpec;
use hotset_core::policy::Setting;

use crate::cache::Cache;
use crate::engine::Engine;
use crate::error::SetupError;
use crate::sync::{self, Mutex};

/// References that are kept.
const RING: usize = 1 << 16;
/// Share of the keys that is sampled, if the small cache then has enough entries.
const RATE: f64 = 1.0 / 32.0;
/// Entries of the small cache: at most, and at least.
const ENTRIES: [f64; 2] = [2048.0, 256.0];
/// Sampled references from one count of all references to the next.
const MARK: usize = 4096;
/// References that an estimate needs.
const LEAST: usize = 2048;
/// The sizes of a curve, in parts of the running cache.
const FACTORS: [f64; 6] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0];

/// The sample.
pub(crate) struct Sampler {
    rate: f64,
    threshold: u64,
    ring: Mutex<Ring>,
}

#[derive(Default)]
struct Ring {
    events: Vec<Event>,
    /// The place of the next event once the ring is full: the oldest one.
    next: usize,
    /// Hits and misses of all references, after every [`MARK`] events, of as many events as the ring has.
    marks: VecDeque<[u64; 2]>,
    /// Events so far.
    count: usize,
}

#[derive(Clone, Copy)]
struct Event {
    hash: u64,
    weight: u32,
    is_hit: bool,
}

/// An estimate of a hit ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The capacity.
    pub capacity: u64,
    /// Hits of each reference.
    pub hit_ratio: f64,
}

impl Sampler {
    /// A sample for a cache of this capacity. In a cache of weights the number of values is unknown.
    pub fn new(capacity: u64, weighs: bool) -> Sampler {
        let [most, least] = ENTRIES.map(|entries| entries / capacity.max(1) as f64);
        let rate = if weighs { RATE } else { RATE.min(most).max(least).min(1.0) };
        Sampler { rate, threshold: (rate * u64::MAX as f64) as u64, ring: Mutex::default() }
    }

    /// True if the key of this hash is in the sample.
    #[inline(always)]
    pub fn has(&self, hash: u64) -> bool {
        hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) <= self.threshold
    }

    /// Adds a reference. `totals` returns the hits and misses of the cache; no lock of a shard may be held.
    #[cold]
    pub fn push(&self, hash: u64, weight: u64, is_hit: bool, totals: impl FnOnce() -> [u64; 2]) {
        let mut ring = sync::lock(&self.ring);
        let event = Event { hash, weight: u32::try_from(weight).unwrap_or(u32::MAX), is_hit };
        if ring.events.len() < RING {
            ring.events.push(event);
        } else {
            let at = ring.next;
            ring.events[at] = event;
            ring.next = (at + 1) % RING;
        }
        ring.count += 1;
        if ring.count.is_multiple_of(MARK) {
            ring.marks.push_back(totals());
            if ring.marks.len() > RING / MARK {
                ring.marks.pop_front();
            }
        }
    }

    /// Returns the hits and misses of all references at the middle of the ring.
    fn middle(&self) -> [u64; 2] {
        let ring = sync::lock(&self.ring);
        let back = ring.events.len() / 2 / MARK;
        let at = ring.marks.len().checked_sub(back + 1).filter(|_| back > 0);
        at.map_or([0; 2], |at| ring.marks[at])
    }

    /// Returns the references, oldest first.
    fn events(&self) -> Vec<Event> {
        let ring = sync::lock(&self.ring);
        ring.events[ring.next..].iter().chain(&ring.events[..ring.next]).copied().collect()
    }

    /// Returns the hits of the second half of the events in a small cache of this policy, for a cache of `capacity`.
    fn replay(&self, events: &[Event], spec: &PolicySpec, capacity: u64, weighs: bool) -> Result<f64, SetupError> {
        let small = (capacity as f64 * self.rate).round().max(1.0) as u64;
        let builder = Cache::<u64, u32>::builder(&spec.to_string()).capacity(small).shards(1).hash_seed(1);
        let builder = if weighs { builder.weigher(|_, &weight| weight.into()) } else { builder };
        let cache = builder.build()?;
        let hits = events.iter().map(|event| cache.access(event.hash, event.weight)).skip(events.len() / 2);
        Ok(ratio(hits))
    }
}

/// Returns the share of what is true.
fn ratio(hits: impl Iterator<Item = bool>) -> f64 {
    let (mut all, mut found) = (0u64, 0u64);
    for is_hit in hits {
        (all, found) = (all + 1, found + u64::from(is_hit));
    }
    found as f64 / all.max(1) as f64
}

impl<K: Hash + Eq, V, P: Engine> Cache<K, V, P> {
    /// Estimates the hit ratio under the running policy at an eighth to four times the capacity, from a sample of the
    /// last references. Takes some milliseconds a size, without a lock. Fails if the cache keeps no sample
    /// ([`Builder::sampled`](crate::Builder::sampled)), or if there are too few references yet.
    pub fn curve(&self) -> Result<Vec<Estimate>, SetupError> {
        let capacity = self.capacity();
        let sizes = FACTORS.map(|factor| ((capacity as f64 * factor) as u64).max(1));
        self.estimate(&self.inner.recipe.spec, &sizes)
    }

    /// Estimates the hit ratio under another policy or capacity, as [`curve`](Cache::curve) does.
    pub fn what_if(&self, policy: &str, capacity: u64) -> Result<Estimate, SetupError> {
        let spec = PolicySpec::parse(policy)?.set_in(Setting::Serving);
        Ok(self.estimate(&spec, &[capacity])?[0])
    }

    fn estimate(&self, spec: &PolicySpec, sizes: &[u64]) -> Result<Vec<Estimate>, SetupError> {
        let sampler = self.inner.sampler.as_ref().ok_or(SetupError::NotSampled)?;
        let events = sampler.events();
        if events.len() < LEAST {
            return Err(SetupError::FewSamples { found: events.len(), expected: LEAST });
        }
        let recipe = &self.inner.recipe;
        let (middle, totals) = (sampler.middle(), self.inner.totals());
        let [hits, misses] = [0, 1].map(|which| totals[which].saturating_sub(middle[which]));
        let measured = hits as f64 / (hits + misses).max(1) as f64;
        let same = match *spec == recipe.spec {
            true => sampler.replay(&events, spec, self.capacity(), recipe.weighs)?,
            false => ratio(events.iter().map(|event| event.is_hit).skip(events.len() / 2)),
        };
        let estimate = |&capacity: &u64| {
            let other = sampler.replay(&events, spec, capacity, recipe.weighs)?;
            Ok(Estimate { capacity, hit_ratio: (measured + other - same).clamp(0.0, 1.0) })
        };
        sizes.iter().map(estimate).collect()
    }
}
