//! ACME: keep what the best of five virtual caches would keep.
//!
//! Idea: LRU, MRU, LFU, FIFO and Random each manage a virtual cache, as large as the real one, that sees all references
//! but holds no data. Each miss of one lowers its weight. The real cache evicts what the cache with the greatest weight
//! has evicted; with `refetch=on` it also reads what that cache holds and it lacks, so that it follows a change of
//! expert at once and not by misses alone.
//!
//! Papers: Ari, Amer, Gramacy, Miller, Brandt, Long, "ACME: adaptive caching using multiple experts", WDAS 2002;
//! Gramacy, Warmuth, Brandt, Ari, "Adaptive caching by refetching", NIPS 2002.
//!
//! Provenance: not checked against the papers, whose texts were not at hand, nor against another program: the model
//! checks the code, not the reading.
//!
//! Deviations and readings: the pool is what makes sense for blocks of one size; the papers' are larger. A reference
//! that some virtual caches miss multiplies their weights by `beta`; then each gives up the part `share` of its weight,
//! which is spread evenly, and the sum is made 1. Of equal weights the first in the order above counts. The virtual
//! caches see a reference before the real one. Of the blocks that the best virtual cache lacks, of which a full cache
//! always has one, that leaves which that cache evicted first. A block that was read ahead counts as evicted then by
//! the caches that lack it. At most one block is read ahead after each reference: of those that the real cache lacks
//! the one that left it last, at the expense of one that leaves as above, also on a hit.
//!
//! Cost: five policies decide on every reference, and each of their victims is looked up in all five, that is the
//! algorithm: the rate is a thirtieth to a fifteenth of LRU's. Memory: 57 bytes a slot; 260 to 410 bytes a block of
//! capacity.
//!
//! When not to use it: where one policy is known to be right, that policy is as good and much faster. Reading ahead
//! pays only where storage has time to spare.

use super::fifo::Fifo;
use super::lfu::Lfu;
use super::lru::Lru;
use super::mru::Mru;
use super::random::Random;
use crate::parts::large;
use crate::parts::prefetch::prefetch;
use crate::parts::queue::{Places, Queue, Tag};
use crate::policy::{
    Args, Catalog, Effects, Extra, Info, Note, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

/// Virtual caches.
const EXPERTS: usize = 5;

/// Does the same for each expert of the pool, in its order, and gives an array of the results.
macro_rules! each {
    ($pool:expr, $expert:ident => $work:expr) => {{
        let Pool { lru, mru, lfu, fifo, random } = $pool;
        [
            {
                let $expert = lru;
                $work
            },
            {
                let $expert = mru;
                $work
            },
            {
                let $expert = lfu;
                $work
            },
            {
                let $expert = fifo;
                $work
            },
            {
                let $expert = random;
                $work
            },
        ]
    }};
}

/// The ACME policy.
#[derive(Debug)]
pub struct Acme {
    capacity: u32,
    beta: f64,
    share: f64,
    refetch: bool,
    /// Sum to 1.
    weights: [f64; EXPERTS],
    len: u32,
    known: Known,
    pool: Pool,
}

#[derive(Debug)]
struct Pool {
    lru: Expert<Lru>,
    mru: Expert<Mru>,
    lfu: Expert<Lfu>,
    fifo: Expert<Fifo>,
    random: Expert<Random>,
}

impl Policy for Acme {
    const INFO: Info = Info {
        name: "acme",
        family: "adaptive",
        summary: "keep what the best of five virtual caches would: LRU, MRU, LFU, FIFO or Random",
        params: &[
            Param {
                key: "beta",
                kind: ParamKind::Real { min: 0.01, max: 1.0 },
                default: "0.9",
                doc: "factor that a miss applies to the weight of a virtual cache",
            },
            Param {
                key: "share",
                kind: ParamKind::Real { min: 0.0, max: 1.0 },
                default: "0.001",
                doc: "part of all weights that is spread evenly at each reference",
            },
            Param {
                key: "refetch",
                kind: ParamKind::Switch,
                default: "off",
                doc: "read blocks that the best virtual cache holds and the real one lacks, one a reference",
            },
        ],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Ok(Acme {
            capacity: setup.capacity,
            beta: setup.args.real("beta"),
            share: setup.args.real("share"),
            refetch: setup.args.switch("refetch"),
            weights: [1.0 / EXPERTS as f64; EXPERTS],
            len: 0,
            known: Known::new(setup.slots),
            pool: Pool {
                lru: Expert::new(setup)?,
                mru: Expert::new(setup)?,
                lfu: Expert::new(setup)?,
                fifo: Expert::new(setup)?,
                random: Expert::new(setup)?,
            },
        })
    }

    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements { identities: (EXPERTS as u64 + 1) * u64::from(capacity) + 1, ..Requirements::of(capacity) })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let missed = each!(&mut self.pool, expert => expert.access(slot, reference, &mut self.known, fx));
        self.weigh(missed);
        let hit = self.known.is_resident(slot);
        if !hit {
            if self.len == self.capacity {
                self.evict(fx);
            }
            self.known.enter(slot);
            self.len += 1;
        }
        if self.refetch {
            self.fetch(fx);
        }
        if hit { Outcome::Hit } else { Outcome::Admitted }
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.known.prefetch(slot);
        each!(&self.pool, expert => expert.cache.prefetch(slot));
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if !self.known.contains(slot) {
            return;
        }
        self.len -= u32::from(self.known.is_resident(slot));
        each!(&mut self.pool, expert => expert.remove(slot));
        self.known.clear(slot);
        fx.forget(slot);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        each!(&mut self.pool, expert => expert.resize(capacity, &mut self.known, fx));
        while self.len > capacity {
            self.evict(fx);
        }
    }

    fn grow(&mut self, slots: u32) {
        self.known.grow(slots);
        each!(&mut self.pool, expert => expert.grow(slots, self.capacity));
    }

    fn contains(&self, slot: Slot) -> bool {
        self.known.is_resident(slot)
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.len
    }

    fn validate(&self) {
        each!(&self.pool, expert => expert.validate(&self.known));
        let slots = || 0..self.known.0.len() as Slot;
        let holders = |slot: Slot| each!(&self.pool, expert => u8::from(expert.cache.contains(slot))).iter().sum();
        assert!(slots().all(|slot| self.known.holders(slot) == holders(slot)), "a holder is miscounted");
        assert_eq!(slots().filter(|&slot| self.known.is_resident(slot)).count(), self.len as usize);
        assert!(self.len <= self.capacity);
        assert!(self.weights.iter().all(|&weight| weight >= 0.0));
        assert!((self.weights.iter().sum::<f64>() - 1.0).abs() < 1e-9, "the weights do not sum to 1");
    }
}

impl Acme {
    #[inline(always)]
    fn weigh(&mut self, missed: [bool; EXPERTS]) {
        if missed.contains(&false) {
            for (weight, missed) in self.weights.iter_mut().zip(missed) {
                *weight *= if missed { self.beta } else { 1.0 };
            }
        }
        let sum: f64 = self.weights.iter().sum();
        let spread = self.share * sum / EXPERTS as f64;
        for weight in &mut self.weights {
            *weight = ((1.0 - self.share) * *weight + spread) / sum;
        }
    }

    /// The expert with the greatest weight.
    #[inline(always)]
    fn best(&self) -> usize {
        (1..EXPERTS).fold(0, |best, other| if self.weights[other] > self.weights[best] { other } else { best })
    }

    /// Evicts what the best expert evicted first, or knows no more of it at all.
    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let oldest = each!(&mut self.pool, expert => expert.rejected.oldest(&expert.places));
        let Some(victim) = oldest[self.best()] else { return };
        each!(&mut self.pool, expert => expert.real_loses(victim));
        self.known.leave(victim);
        self.len -= 1;
        fx.evict(victim);
        if !self.known.contains(victim) {
            fx.forget(victim);
        }
    }

    /// Reads a block that the best expert holds and the real cache lacks.
    fn fetch(&mut self, fx: &mut impl Effects) {
        let youngest = each!(&mut self.pool, expert => expert.missing.youngest());
        let Some(slot) = youngest[self.best()] else { return };
        if self.len == self.capacity {
            self.evict(fx);
        }
        each!(&mut self.pool, expert => expert.real_gets(slot));
        self.known.enter(slot);
        self.len += 1;
        fx.fetch(slot, Extra::Refetch);
    }
}

/// For each slot whether it is resident and how many virtual caches hold it.
#[derive(Debug)]
struct Known(Vec<u8>);

impl Known {
    const RESIDENT: u8 = 128;

    fn new(slots: u32) -> Known {
        Known(large::filled(0, slots as usize))
    }

    fn grow(&mut self, slots: u32) {
        self.0.resize(self.0.len().max(slots as usize), 0);
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        prefetch(&self.0, slot as usize);
    }

    /// True if it is resident or some virtual cache holds it.
    #[inline(always)]
    fn contains(&self, slot: Slot) -> bool {
        self.0[slot as usize] != 0
    }

    #[inline(always)]
    fn is_resident(&self, slot: Slot) -> bool {
        self.0[slot as usize] & Self::RESIDENT != 0
    }

    #[inline(always)]
    fn holders(&self, slot: Slot) -> u8 {
        self.0[slot as usize] & !Self::RESIDENT
    }

    #[inline(always)]
    fn enter(&mut self, slot: Slot) {
        self.0[slot as usize] |= Self::RESIDENT;
    }

    #[inline(always)]
    fn leave(&mut self, slot: Slot) {
        self.0[slot as usize] &= !Self::RESIDENT;
    }

    #[inline(always)]
    fn add_holder(&mut self, slot: Slot) {
        self.0[slot as usize] += 1;
    }

    #[inline(always)]
    fn drop_holder(&mut self, slot: Slot) {
        self.0[slot as usize] -= 1;
    }

    fn clear(&mut self, slot: Slot) {
        self.0[slot as usize] = 0;
    }
}

/// Resident, but not in the virtual cache.
const REJECTED: Tag = 0;
/// In the virtual cache, but not resident.
const MISSING: Tag = 1;

/// A virtual cache and where it differs from the real one.
#[derive(Debug)]
struct Expert<P> {
    cache: P,
    places: Places,
    rejected: Queue,
    missing: Queue,
    /// The block that the virtual cache has just evicted.
    evicted: Evicted,
}

impl<P: Policy> Expert<P> {
    fn new(setup: &Setup) -> Result<Expert<P>, SpecError> {
        let args = Args::defaults(P::INFO.params, Catalog::EMPTY, None);
        let mut expert = Expert {
            cache: P::new(&Setup { args: &args, ..setup.clone() })?,
            places: Places::new(setup.slots),
            rejected: Queue::new(REJECTED, 0),
            missing: Queue::new(MISSING, 0),
            evicted: Evicted(Vec::with_capacity(1)),
        };
        expert.fit(setup.capacity);
        Ok(expert)
    }

    /// Rings large enough for all that the queues may come to hold.
    fn fit(&mut self, capacity: u32) {
        let bound = capacity.min(self.places.slots());
        self.rejected.grow(&mut self.places, bound);
        self.missing.grow(&mut self.places, bound);
    }

    fn grow(&mut self, slots: u32, capacity: u32) {
        self.cache.grow(slots);
        self.places.grow(slots);
        self.fit(capacity);
    }

    /// References a block that is resident afterwards; true if the virtual cache missed it.
    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, known: &mut Known, fx: &mut impl Effects) -> bool {
        let missed = self.cache.access(slot, reference, &mut self.evicted) != Outcome::Hit;
        if missed {
            known.add_holder(slot);
        }
        if missed || !known.is_resident(slot) {
            self.agree(slot);
        }
        self.note_evicted(known, fx);
        missed
    }

    fn resize(&mut self, capacity: u32, known: &mut Known, fx: &mut impl Effects) {
        self.cache.resize(capacity, &mut self.evicted);
        self.note_evicted(known, fx);
        self.fit(capacity);
    }

    fn remove(&mut self, slot: Slot) {
        self.cache.remove(slot, &mut self.evicted);
        self.agree(slot);
    }

    #[inline(always)]
    fn note_evicted(&mut self, known: &mut Known, fx: &mut impl Effects) {
        for evicted in self.evicted.0.drain(..) {
            known.drop_holder(evicted);
            if known.is_resident(evicted) {
                self.rejected.push(&mut self.places, evicted);
                continue;
            }
            self.missing.take(&mut self.places, evicted);
            if !known.contains(evicted) {
                fx.forget(evicted);
            }
        }
    }

    /// The block left the real cache.
    #[inline(always)]
    fn real_loses(&mut self, slot: Slot) {
        if self.cache.contains(slot) {
            self.missing.push(&mut self.places, slot);
        } else {
            self.rejected.take(&mut self.places, slot);
        }
    }

    /// The block, which was not referenced, came into the real cache.
    fn real_gets(&mut self, slot: Slot) {
        if self.cache.contains(slot) {
            self.missing.take(&mut self.places, slot);
        } else {
            self.rejected.push(&mut self.places, slot);
        }
    }

    /// The block is in both caches or in none.
    #[inline(always)]
    fn agree(&mut self, slot: Slot) {
        match self.places.tag(slot) {
            REJECTED => self.rejected.take(&mut self.places, slot),
            MISSING => self.missing.take(&mut self.places, slot),
            _ => {}
        }
    }

    fn validate(&self, known: &Known) {
        self.cache.validate();
        self.rejected.validate(&self.places);
        self.missing.validate(&self.places);
        for slot in 0..self.places.slots() {
            let tag = self.places.tag(slot);
            let (real, virtually) = (known.is_resident(slot), self.cache.contains(slot));
            assert_eq!((tag == REJECTED, tag == MISSING), (real && !virtually, !real && virtually), "slot {slot}");
        }
    }
}

#[derive(Debug)]
struct Evicted(Vec<Slot>);

impl Effects for Evicted {
    #[inline(always)]
    fn evict(&mut self, slot: Slot) {
        self.0.push(slot);
    }

    #[inline(always)]
    fn fetch(&mut self, _slot: Slot, _why: Extra) {}

    #[inline(always)]
    fn forget(&mut self, _slot: Slot) {}

    #[inline(always)]
    fn take_accessed(&mut self, _slot: Slot) -> bool {
        false
    }

    fn storage_busy(&self) -> Option<u64> {
        None
    }

    fn note(&mut self, _note: &Note) {}
}
