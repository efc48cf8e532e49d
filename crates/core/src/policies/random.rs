//! Random: evict any block, each as likely as the others.
//!
//! Idea: no order is kept at all, so nothing can fool it: on a loop just longer than the cache it hits where LRU and
//! FIFO never do.
//!
//! Paper: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 1966.
//!
//! Provenance: libCacheSim 0.3.5 draws other blocks; one draw each differs by at most 3.1 points on twelve public
//! traces.
//!
//! Deviations: none. The draw is from a seeded generator, so that the same seed gives the same victims.
//!
//! Cost: a hit reads one word; a miss writes four. Memory: 8 bytes a block (4 a slot, 4 in the table of residents).
//!
//! When not to use it: when recency or frequency tell anything, which they mostly do.

use crate::parts::large;
use crate::parts::prefetch::prefetch;
use crate::policy::{Args, Discard, Effects, Hits, Info, Outcome, Policy, Reference, Requirements, Setup, Slot};
use crate::random::Rng as Generator;
use crate::spec::SpecError;

const ABSENT: u32 = u32::MAX;

/// The Random policy.
#[derive(Debug)]
pub struct Random {
    capacity: u32,
    /// The resident slots, in no order that matters.
    resident: Vec<Slot>,
    /// By slot: its index in `resident`, or `ABSENT`.
    index: Vec<u32>,
    generator: Generator,
}

impl Policy for Random {
    const INFO: Info = Info {
        name: "random",
        family: "simple",
        summary: "evict any block, each as likely as the others",
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Ok(Random {
            capacity: setup.capacity,
            resident: Vec::with_capacity(setup.capacity as usize),
            index: large::filled(ABSENT, setup.slots as usize),
            generator: Generator::new(setup.seed),
        })
    }

    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements { hits: Hits::Nothing, ..Requirements::of(capacity) })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        if self.contains(slot) {
            return Outcome::Hit;
        }
        if self.len() == self.capacity {
            self.evict(fx);
        }
        self.index[slot as usize] = self.len();
        self.resident.push(slot);
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        prefetch(&self.index, slot as usize);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.contains(slot) {
            self.take(self.index[slot as usize]);
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.len() > capacity {
            self.evict(fx);
        }
        self.resident.reserve((capacity - self.len()) as usize);
    }

    fn grow(&mut self, slots: u32) {
        self.index.resize((slots as usize).max(self.index.len()), ABSENT);
    }

    #[inline(always)]
    fn contains(&self, slot: Slot) -> bool {
        self.index[slot as usize] != ABSENT
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.resident.len() as u32
    }

    fn validate(&self) {
        assert!(self.len() <= self.capacity);
        assert!(self.resident.iter().enumerate().all(|(at, &slot)| self.index[slot as usize] == at as u32));
        assert_eq!(self.index.iter().filter(|&&index| index != ABSENT).count(), self.resident.len());
    }
}

impl Random {
    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let drawn = self.generator.below(self.resident.len() as u32);
        let victim = self.take(drawn);
        fx.discard(victim);
    }

    /// Takes the resident at `at` out; the last one fills the gap.
    #[inline(always)]
    fn take(&mut self, at: u32) -> Slot {
        let slot = self.resident.swap_remove(at as usize);
        if let Some(&moved) = self.resident.get(at as usize) {
            self.index[moved as usize] = at;
        }
        self.index[slot as usize] = ABSENT;
        slot
    }
}
