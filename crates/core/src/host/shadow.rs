//! Shadow caches: the hit ratios that a running cache would have at other sizes and under other policies.
//!
//! Idea: a block is in the sample if a hash of its address is below a threshold. A cache of `rate` times the capacity
//! serves the sample as the whole cache serves all references (miniature simulation: Waldspurger, Saemundsson, Ahmad,
//! Park, USENIX ATC 2017). Each shadow is such a cache without data.
//!
//! Correction: the sample has too many or too few of the hot blocks. The running cache errs alike on the sample, so an
//! estimate for another policy is the measured hit ratio, plus what the shadow hits more of the sample than the running
//! cache. An estimate for the running policy is the measured hit ratio, plus what its shadow hits more than its shadow
//! of the running size, since a small cache may also learn more slowly.
//!
//! A policy that has computations for a background thread ([`Learning::take_work`](crate::policy::Learning::take_work))
//! has no shadows, because these computations cost a small cache as much as a large one.
//!
//! Cost: a hash of each reference; for one in `1 / rate`, a reference of each shadow. The rate follows from the size of
//! a block, because a reference to a larger block takes longer: 5 to 8 ns for each block of 4K, 60 to 90 ns for each of
//! 64K, 120 to 170 ns for each of 128K. Memory: about 200 bytes for each entry of a shadow with its ghosts, 6 MB at
//! most.

use serde::{Deserialize, Serialize};

use super::{Build, Hosted, Payload, Refusal, Slots};
use crate::policy::{Args, Outcome, PolicySpec, Reference, Setting, Slot};
use crate::random::mix;
use crate::view::View;

/// Sizes of the shadows of each policy, in parts of the running cache.
const FACTORS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// Policies that have shadows besides the running one.
const OTHERS: [&str; 3] = ["lru", "lirs", "s3-fifo"];
/// Entries of that shadow, if the rate allows them.
const ENTRIES: f64 = 1024.0;
/// With fewer entries there are no shadows, because their estimates would be wrong by several points.
const LEAST_ENTRIES: f64 = 64.0;
/// Bytes of a block from which on every block is in the sample.
const WHOLE: f64 = 524_288.0;
/// Counts are halved after so many sampled references for each entry of the largest shadow, so that estimates follow
/// the present load.
const TURNS: f64 = 8.0;

/// The shadows of a running cache.
pub struct Shadows {
    rate: f64,
    /// Blocks of the running cache, now and when the counts began.
    capacity: u32,
    begun_with: u32,
    /// A block is in the sample if its hash is below this.
    threshold: u64,
    seed: u64,
    /// The running policy.
    policy: String,
    /// Of the running policy, by [`FACTORS`]; empty if it computes in the background.
    own: Vec<Shadow>,
    /// Of the other policies.
    others: Vec<Shadow>,
    /// References of the running cache that are in the sample, since the counts were halved last.
    sampled: u64,
    /// Their hits in the running cache.
    sampled_hits: u64,
    /// The same for all references of the running cache, and their hits.
    references: u64,
    hits: u64,
}

struct Shadow {
    factor: f64,
    policy: String,
    hosted: Hosted<Ghosts>,
    hits: u64,
}

/// Blocks of a shadow, which has no data of them.
#[derive(Default)]
struct Ghosts {
    /// With the clock of the last reference while the block is resident.
    slots: Slots<Option<u64>>,
    now: u64,
    ages: Ages,
}

impl Payload for Ghosts {
    fn admit(&mut self, _slot: Slot) {}

    fn release(&mut self, slot: Slot) {
        if let Some(last) = self.slots.value_mut(slot).take() {
            self.ages.count(self.now.saturating_sub(last));
        }
    }

    fn forget(&mut self, slot: Slot) {
        self.slots.forget(slot);
    }
}

/// Evictions by the time since the last reference to the evicted block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ages {
    /// `counts[i]`: evictions within [`Ages::BOUNDS`]`[i]` seconds and above the bound before; the last has no bound.
    pub counts: [u64; Ages::BOUNDS.len() + 1],
    /// Seconds of all evictions.
    pub sum_seconds: f64,
}

impl Ages {
    /// Seconds.
    pub const BOUNDS: [u64; 10] = [1, 4, 15, 60, 240, 900, 3600, 14_400, 43_200, 86_400];

    fn count(&mut self, nanoseconds: u64) {
        let at = Ages::BOUNDS.iter().position(|&bound| nanoseconds <= bound * 1_000_000_000);
        self.counts[at.unwrap_or(Ages::BOUNDS.len())] += 1;
        self.sum_seconds += nanoseconds as f64 / 1e9;
    }
}

/// An estimate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Size in parts of the running cache.
    pub factor: f64,
    /// The policy, as specs are printed.
    pub policy: String,
    /// Hits of each reference.
    pub hit_ratio: f64,
}

impl Shadows {
    /// Shadows of a cache of `build.capacity` blocks of `block` bytes. `None` if the sample of such a cache would be
    /// too small, if the policy has a view, or if it follows the load of the storage.
    pub fn new(build: &Build, block: u64) -> Result<Option<Shadows>, Refusal> {
        let rate = (block as f64 / WHOLE).min(ENTRIES / f64::from(build.capacity)).min(1.0);
        if entries(build.capacity, 1.0, rate) < LEAST_ENTRIES
            || build.load
            || build.in_bytes
            || build.requirements()?.view != View::default()
        {
            return Ok(None);
        }
        let shadow = |spec: &PolicySpec, args: &Args, factor: f64| -> Result<Shadow, Refusal> {
            let capacity = entries(build.capacity, factor, rate).round() as u32;
            // A sampled block has no neighbours whose cost it could share.
            let build = Build { spec, args, capacity, costs: false, ..*build };
            let hosted = Hosted::new(&build, |_| Ok::<_, Refusal>(Ghosts::default()))?;
            Ok(Shadow { factor, policy: spec.to_string(), hosted, hits: 0 })
        };
        let own: Result<Vec<_>, _> = FACTORS.map(|factor| shadow(build.spec, build.args, factor)).into_iter().collect();
        let mut others = Vec::new();
        for name in OTHERS.into_iter().filter(|name| *name != build.spec.info().name) {
            let spec = PolicySpec::parse(name)?.set_in(Setting::Serving);
            for factor in FACTORS {
                others.push(shadow(&spec, &spec.args(Some(block)), factor)?);
            }
        }
        Ok(Some(Shadows {
            rate,
            capacity: build.capacity,
            begun_with: build.capacity,
            threshold: (rate * u64::MAX as f64) as u64,
            seed: build.seed,
            policy: build.spec.to_string(),
            own: own?,
            others,
            sampled: 0,
            sampled_hits: 0,
            references: 0,
            hits: 0,
        }))
    }

    fn samples(&self, address: u64) -> bool {
        mix(address ^ self.seed) <= self.threshold
    }

    /// Takes a reference to the block with this address, which was a hit or a miss in the running cache.
    #[inline]
    pub fn reference(&mut self, address: u64, reference: &Reference, hit: bool) {
        self.references += 1;
        self.hits += u64::from(hit);
        if self.samples(address) {
            self.refer(address, reference, hit);
        }
    }

    #[cold]
    fn refer(&mut self, address: u64, reference: &Reference, hit: bool) {
        self.sampled += 1;
        self.sampled_hits += u64::from(hit);
        self.all().for_each(|shadow| shadow.refer(address, reference));
        let has_work = |shadow: &mut Shadow| {
            shadow.hosted.policy.learning_mut().is_some_and(|policy| policy.take_work().is_some())
        };
        if self.own.iter_mut().any(has_work) {
            self.own.clear();
        }
        if self.sampled as f64 >= TURNS * entries(self.capacity, FACTORS[FACTORS.len() - 1], self.rate) {
            self.all().for_each(|shadow| shadow.hits /= 2);
            for count in [&mut self.sampled, &mut self.sampled_hits, &mut self.references, &mut self.hits] {
                *count /= 2;
            }
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Shadow> {
        self.own.iter_mut().chain(&mut self.others)
    }

    /// Removes the block with this address.
    pub fn remove(&mut self, address: u64) {
        if !self.samples(address) {
            return;
        }
        for shadow in self.all() {
            let payload = &mut shadow.hosted.host.payload;
            if let Some(slot) = payload.slots.find(address) {
                // It does not count as an eviction.
                *payload.slots.value_mut(slot) = None;
                shadow.hosted.remove(slot);
            }
        }
    }

    /// Removes the blocks whose addresses have this high half.
    pub fn remove_file(&mut self, file: u32) {
        for shadow in self.all() {
            for slot in shadow.hosted.host.payload.slots.of_file(file) {
                *shadow.hosted.host.payload.slots.value_mut(slot) = None;
                shadow.hosted.remove(slot);
            }
        }
    }

    /// Follows a change of the running cache's capacity. Counts begin anew if it has changed by more than a tenth.
    pub fn resize(&mut self, capacity: u32) {
        self.capacity = capacity;
        let rate = self.rate;
        self.all().for_each(|shadow| {
            shadow.hosted.resize(entries(capacity, shadow.factor, rate).max(1.0) as u32);
        });
        if capacity.abs_diff(self.begun_with) > self.begun_with / 10 {
            self.begin();
        }
    }

    /// Follows a change of the running policy's arguments from `before` to those of `build`.
    pub fn reconfigure(&mut self, before: &Args, build: &Build) {
        self.policy = build.spec.to_string();
        let follows = |shadow: &mut Shadow| {
            let capacity = entries(self.capacity, shadow.factor, self.rate).max(1.0) as u32;
            shadow.policy.clone_from(&self.policy);
            shadow.hosted.reconfigure(before, &Build { capacity, costs: false, ..*build })
        };
        if !self.own.iter_mut().all(follows) {
            self.own.clear();
        }
        self.begin();
    }

    /// Counts anew.
    fn begin(&mut self) {
        self.begun_with = self.capacity;
        (self.sampled, self.sampled_hits, self.references, self.hits) = (0, 0, 0, 0);
        self.all().for_each(|shadow| shadow.hits = 0);
    }

    /// The estimates, of which the first is the measured hit ratio of the running cache. Empty until the sample has
    /// twice as many references as a shadow of that size has entries.
    pub fn estimates(&self) -> Vec<Estimate> {
        if (self.sampled as f64) < 2.0 * entries(self.capacity, 1.0, self.rate).max(LEAST_ENTRIES) {
            return Vec::new();
        }
        let measured = self.hits as f64 / self.references as f64;
        let same = self.own.iter().find(|shadow| shadow.factor == 1.0).map_or(self.sampled_hits, |same| same.hits);
        let estimate = |shadow: &Shadow, base: u64| {
            let more = (shadow.hits as f64 - base as f64) / self.sampled as f64;
            let hit_ratio = (measured + more).clamp(0.0, 1.0);
            Estimate { factor: shadow.factor, policy: shadow.policy.clone(), hit_ratio }
        };
        let now = Estimate { factor: 1.0, policy: self.policy.clone(), hit_ratio: measured };
        let own = self.own.iter().filter(|shadow| shadow.factor != 1.0).map(|shadow| estimate(shadow, same));
        let others = self.others.iter().map(|shadow| estimate(shadow, self.sampled_hits));
        [now].into_iter().chain(own).chain(others).collect()
    }

    /// A sample of the evictions by age: of the running policy, or of LRU if that has no shadow. The cache has the
    /// running size.
    pub fn ages(&self) -> Ages {
        let same = self.own.iter().chain(&self.others).find(|shadow| shadow.factor == 1.0);
        same.map_or(Ages::default(), |same| same.hosted.host.payload.ages)
    }
}

impl Shadow {
    fn refer(&mut self, address: u64, reference: &Reference) {
        let Hosted { host, .. } = &mut self.hosted;
        host.payload.now = reference.clock;
        let slot = host.payload.slots.slot(address, Some((address >> 32) as u32), || None);
        let reference = Reference { time: self.hosted.tick(), cost: 0, cost_apart: 0, ..*reference };
        let (outcome, is_kept) = self.hosted.access(slot, reference);
        self.hits += u64::from(outcome == Outcome::Hit);
        if is_kept {
            *self.hosted.host.payload.slots.value_mut(slot) = Some(reference.clock);
        }
        // Without data, what the policy prefetches is there at once.
        self.hosted.host.missing.clear();
    }
}

/// Entries of a shadow of a cache of `capacity` blocks.
fn entries(capacity: u32, factor: f64, rate: f64) -> f64 {
    f64::from(capacity) * factor * rate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    const CAPACITY: u32 = 4096;
    const BLOCK: u64 = 65536;

    fn build<'a>(spec: &'a PolicySpec, args: &'a crate::policy::Args, capacity: u32) -> Build<'a> {
        Build { spec, args, capacity, in_bytes: false, seed: 1, apps: &[], costs: false, load: false }
    }

    /// A running cache, and the hit ratio of the second half of its references.
    struct Running {
        hosted: Hosted<Ghosts>,
        hits: [u64; 2],
    }

    impl Running {
        fn new(spec: &PolicySpec, capacity: u32) -> Running {
            let args = spec.args(Some(BLOCK));
            let hosted = Hosted::new(&build(spec, &args, capacity), |_| Ok::<_, Refusal>(Ghosts::default())).unwrap();
            Running { hosted, hits: [0; 2] }
        }

        fn access(&mut self, reference: &Reference, half: usize) -> bool {
            let address = u64::from(reference.file) << 32 | u64::from(reference.block);
            let slot = self.hosted.host.payload.slots.slot(address, None, || None);
            let (outcome, _) = self.hosted.access(slot, *reference);
            self.hosted.do_work();
            self.hosted.host.missing.clear();
            self.hits[half] += u64::from(outcome == Outcome::Hit);
            outcome == Outcome::Hit
        }
    }

    /// Half of the references go to a skewed set, half loop over a file of twice the capacity.
    fn load(references: u64) -> impl Iterator<Item = Reference> {
        let mut random = Rng::new(7);
        let mut next = 0;
        (0..references).map(move |time| {
            let (file, block) = if random.below(2) == 0 {
                next = (next + 1) % (2 * CAPACITY);
                (1, next)
            } else {
                let unit = random.unit();
                (0, (unit * unit * unit * 20_000.0) as u32)
            };
            Reference { time, clock: time * 1_000_000, file, block, ..Reference::default() }
        })
    }

    /// Estimates against whole caches.
    #[test]
    fn estimates_are_close_to_whole_caches() {
        const REFERENCES: u64 = 1 << 19;
        for policy in ["lru", "arc", "auto"] {
            let spec = PolicySpec::parse(policy).unwrap().set_in(Setting::Serving);
            let args = spec.args(Some(BLOCK));
            let mut shadows = Shadows::new(&build(&spec, &args, CAPACITY), BLOCK).unwrap().unwrap();
            let mut same = Running::new(&spec, CAPACITY);
            // The shadows of `auto` are dropped, because it computes in the background.
            let stays = |shadow: &&mut Shadow| !shadow.policy.starts_with("auto");
            let known: Vec<(f64, String)> =
                shadows.all().filter(stays).map(|shadow| (shadow.factor, shadow.policy.clone())).collect();
            let running = |(factor, policy): &(f64, String)| {
                Running::new(&PolicySpec::parse(policy).unwrap(), (f64::from(CAPACITY) * factor) as u32)
            };
            let mut whole: Vec<Running> = known.iter().map(running).collect();
            for (at, reference) in load(REFERENCES).enumerate() {
                let half = usize::from(at as u64 >= REFERENCES / 2);
                let hit = same.access(&reference, half);
                for cache in &mut whole {
                    cache.access(&reference, half);
                }
                shadows.reference(u64::from(reference.file) << 32 | u64::from(reference.block), &reference, hit);
            }
            let estimates = shadows.estimates();
            assert_eq!(estimates[0].policy, spec.to_string());
            assert_eq!(estimates.len(), known.len() + usize::from(policy == "auto"));
            for estimate in estimates.iter().filter(|estimate| !estimate.policy.starts_with("auto")) {
                let of = |(factor, policy): &(f64, String)| *factor == estimate.factor && *policy == estimate.policy;
                let cache = &whole[known.iter().position(of).unwrap()];
                let exact = cache.hits[1] as f64 / (REFERENCES / 2) as f64;
                assert!((estimate.hit_ratio - exact).abs() < 0.04, "{policy}: {estimate:?}, exact {exact:.3}");
            }
        }
    }

    #[test]
    fn evictions_are_counted_by_age_and_removals_are_not() {
        let spec = PolicySpec::parse("fifo").unwrap();
        let args = spec.args(Some(BLOCK));
        let mut shadows = Shadows::new(&build(&spec, &args, 1024), 1 << 20).unwrap().unwrap();
        assert!(shadows.estimates().is_empty());
        for block in 0..3000 {
            let reference = Reference { clock: u64::from(block) * 1_000_000_000, block, ..Reference::default() };
            shadows.reference(block.into(), &reference, false);
        }
        // Each block leaves 1,024 seconds after its only reference.
        let ages = shadows.ages();
        assert_eq!((ages.counts[6], ages.counts.iter().sum::<u64>()), (1976, 1976));
        (0..3000).for_each(|block| shadows.remove(block));
        assert_eq!(shadows.ages(), ages);
        assert!(shadows.all().all(|shadow| shadow.hosted.policy.len() == 0));
    }

    #[test]
    fn there_are_none_where_the_sample_would_be_too_small() {
        let spec = PolicySpec::parse("lru").unwrap();
        let args = spec.args(Some(4096));
        let made = |capacity, block| Shadows::new(&build(&spec, &args, capacity), block).unwrap().is_some();
        assert!(!made(8191, 4096) && made(8192, 4096) && made(64, 1 << 20) && !made(63, 1 << 20));
        let viewed = PolicySpec::parse("render").unwrap();
        let args = viewed.args(Some(BLOCK));
        assert!(Shadows::new(&build(&viewed, &args, CAPACITY), BLOCK).unwrap().is_none());
    }
}
