//! MRU: evict the block that was used most recently, before the new one enters.
//!
//! Idea: in a loop longer than the cache, the block just used is the one that will be needed last. Keeping the others gives the
//! loop's best possible hit ratio, where LRU has none.
//!
//! Paper: Chou and DeWitt, "An evaluation of buffer management strategies for relational database systems", VLDB 1985.
//!
//! Deviations: the victim is chosen before the new block enters, which would otherwise evict itself.
//!
//! Cost: O(1) amortised. Memory: 12 to 20 bytes a block (4 a slot, 8 to 16 in the queue).
//!
//! When not to use it: anything but loops. Blocks that are dead stay for ever.

use crate::parts::queue::{ABSENT, Places, Queue};
use crate::policy::{Effects, Info, Needs, Outcome, Policy, Reference, Setup, Slot};
use crate::spec::SpecError;

/// The MRU policy.
#[derive(Debug)]
pub struct Mru {
    capacity: u32,
    places: Places,
    queue: Queue,
}

impl Policy for Mru {
    const INFO: Info = Info {
        name: "mru",
        aliases: &[],
        family: "loop",
        summary: "evict the most recently used block, for loops larger than the cache",
        params: &[],
        offline: false,
        needs: Needs::NOTHING,
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let places = Places::new(setup.slots);
        Ok(Mru { capacity: setup.capacity, queue: Queue::within(0, setup.capacity, &places), places })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        if self.places.tag(slot) != ABSENT {
            self.queue.renew(&mut self.places, slot);
            return Outcome::Hit;
        }
        if self.queue.len() == self.capacity {
            self.evict(fx);
        }
        self.queue.push(&mut self.places, slot);
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.places.tag(slot) != ABSENT {
            self.queue.take(&mut self.places, slot);
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.queue.len() > capacity {
            self.evict(fx);
        }
        self.queue.grow(&mut self.places, capacity);
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        self.queue.grow(&mut self.places, self.capacity);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.places.tag(slot) != ABSENT
    }

    fn len(&self) -> u32 {
        self.queue.len()
    }

    fn validate(&self) {
        self.queue.validate(&self.places);
        assert!(self.queue.len() <= self.capacity);
    }
}

impl Mru {
    /// Takes the victim out.
    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        if let Some(victim) = self.queue.pop_youngest(&mut self.places) {
            fx.discard(victim);
        }
    }
}
