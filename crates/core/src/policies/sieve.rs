//! SIEVE: FIFO with a hand that stays where it found its last victim.
//!
//! Idea: a hit only marks the block. The hand moves from the oldest end towards the newest one, clears marks and evicts
//! the first unmarked block; blocks it spares keep their place, so new blocks are sifted quickly while old popular ones
//! are left alone.
//!
//! Paper: Zhang, Yang, Yue, Vigfusson, Rashmi, "SIEVE is simpler than LRU", NSDI 2024, algorithm 1.
//!
//! Provenance: equal to libCacheSim 0.3.5, whose authors are the paper's, on twelve public traces. Caffeine's simulator
//! 3.2.0 differs on six of ten, by at most 1.17 points, for a reason that was not looked into.
//!
//! Deviations: none in what it does. The list is kept as two queues, what lies behind the hand and what lies ahead of
//! it, so that the hand moves by taking a block from one to the other and nothing is ever removed from the middle.
//!
//! Cost: a hit writes one word; a miss looks at one block, and at one more for each that is spared, O(1) amortised over
//! the hits. Memory: 20 to 36 bytes a block (4 a slot, 8 to 16 in each queue).
//!
//! When not to use it: block traces with loops or scans larger than the cache; it was made for web objects.

use crate::parts::queue::{ABSENT, Places, Queue};
use crate::policy::{Args, Discard, Effects, Hits, Info, Outcome, Policy, Reference, Requirements, Setup, Slot};
use crate::spec::SpecError;

/// The SIEVE policy.
#[derive(Debug)]
pub struct Sieve {
    capacity: u32,
    places: Places,
    /// From the hand to the newest end of the list.
    ahead: Queue,
    /// From the oldest end of the list to the hand. Older than everything ahead.
    behind: Queue,
}

impl Policy for Sieve {
    const INFO: Info = Info {
        name: "sieve",
        family: "recency",
        summary: "FIFO with a hand that evicts the first unmarked block and stays there",
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let places = Places::new(setup.slots);
        Ok(Sieve {
            capacity: setup.capacity,
            ahead: Queue::within(0, setup.capacity, &places),
            behind: Queue::within(1, setup.capacity, &places),
            places,
        })
    }

    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements { hits: Hits::Bit, ..Requirements::of(capacity) })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        if self.places.tag(slot) != ABSENT {
            self.places.mark(slot);
            return Outcome::Hit;
        }
        if self.len() == self.capacity {
            self.evict(fx);
        }
        self.ahead.push(&mut self.places, slot);
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        let tag = self.places.tag(slot);
        if tag == ABSENT {
            return;
        }
        let queue = if tag == self.ahead.tag() { &mut self.ahead } else { &mut self.behind };
        queue.take(&mut self.places, slot);
        self.wrap();
        fx.forget(slot);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.len() > capacity {
            self.evict(fx);
        }
        self.ahead.grow(&mut self.places, capacity);
        self.behind.grow(&mut self.places, capacity);
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        self.ahead.grow(&mut self.places, self.capacity);
        self.behind.grow(&mut self.places, self.capacity);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.places.tag(slot) != ABSENT
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.ahead.len() + self.behind.len()
    }

    fn validate(&self) {
        self.ahead.validate(&self.places);
        self.behind.validate(&self.places);
        assert!(self.len() <= self.capacity);
        assert!(self.behind.is_empty() || !self.ahead.is_empty(), "the hand points past the newest end");
    }
}

impl Sieve {
    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        while let Some(slot) = self.ahead.oldest(&self.places) {
            let spared = self.places.is_marked(slot) | fx.take_accessed(slot);
            self.ahead.take(&mut self.places, slot);
            if spared {
                self.behind.push(&mut self.places, slot);
            }
            self.wrap();
            if !spared {
                fx.discard(slot);
                return;
            }
        }
    }

    /// Past the newest end the hand goes back to the oldest one.
    #[inline(always)]
    fn wrap(&mut self) {
        if self.ahead.is_empty() {
            std::mem::swap(&mut self.ahead, &mut self.behind);
        }
    }
}
