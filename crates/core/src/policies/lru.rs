//! LRU: evict the block that was used least recently.
//!
//! Idea: what was used lately will be used soon. One queue in order of last use; a hit moves to the young end,
//! the victim is at the old end.
//!
//! Paper: Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal 1970.
//!
//! Deviations: none.
//!
//! Cost: O(1) amortised; a hit writes one word and appends to a log, a miss reads one word more.
//! Memory: 12 bytes a block (4 a slot, 8 in the log).
//!
//! When not to use it: loops longer than the cache (every reference misses) and scans (they flush the working set).

use crate::parts::queue::{ABSENT, Places, Queue};
use crate::policy::{Effects, Info, Needs, Outcome, Policy, Reference, Setup, Slot};
use crate::spec::SpecError;

/// The LRU policy.
#[derive(Debug)]
pub struct Lru {
    capacity: u32,
    places: Places,
    queue: Queue,
}

impl Policy for Lru {
    const INFO: Info = Info {
        name: "lru",
        aliases: &[],
        family: "recency",
        summary: "evict the least recently used block",
        params: &[],
        offline: false,
        needs: Needs::NOTHING,
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let places = Places::new(setup.slots);
        Ok(Lru { capacity: setup.capacity, queue: Queue::within(0, setup.capacity, &places), places })
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

    fn keep_order(&mut self) -> bool {
        self.queue.count_ranks();
        true
    }

    /// From the youngest to the oldest.
    #[inline(always)]
    fn position(&self, slot: Slot) -> Option<u32> {
        self.contains(slot).then(|| self.queue.rank(&self.places, slot))
    }

    #[inline(always)]
    fn at(&self, position: u32) -> Option<Slot> {
        self.queue.at_rank(position)
    }

    fn validate(&self) {
        self.queue.validate(&self.places);
        assert!(self.queue.len() <= self.capacity);
    }
}

impl Lru {
    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        if let Some(victim) = self.queue.pop_oldest(&mut self.places) {
            fx.discard(victim);
        }
    }
}
