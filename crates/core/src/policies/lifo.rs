//! LIFO: evict the block that entered last.
//!
//! Idea: what filled the cache first stays; newcomers take turns in the place that is left. On a pure loop it keeps as much as MRU,
//! and like FIFO it does nothing on a hit.
//!
//! Paper: the stack discipline that LIFO+ of APR builds on (Y. Lee, thesis, Seoul National University 2020).
//!
//! Deviations: the victim is chosen before the new block enters.
//!
//! Cost: a hit reads one word; a miss writes three. Memory: 12 to 20 bytes a block (4 a slot, 8 to 16 in the queue).
//!
//! When not to use it: wherever the working set changes; the first blocks never leave.

use crate::parts::queue::{ABSENT, Places, Queue};
use crate::policy::{Effects, Info, Needs, Outcome, Policy, Reference, Setup, Slot};
use crate::spec::SpecError;

/// The LIFO policy.
#[derive(Debug)]
pub struct Lifo {
    capacity: u32,
    places: Places,
    queue: Queue,
}

impl Policy for Lifo {
    const INFO: Info = Info {
        name: "lifo",
        aliases: &[],
        family: "loop",
        summary: "evict the block that entered last",
        params: &[],
        offline: false,
        needs: Needs::NOTHING,
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let places = Places::new(setup.slots);
        Ok(Lifo { capacity: setup.capacity, queue: Queue::within(0, setup.capacity, &places), places })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        if self.places.tag(slot) != ABSENT {
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

impl Lifo {
    /// Takes the victim out.
    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        if let Some(victim) = self.queue.pop_youngest(&mut self.places) {
            fx.discard(victim);
        }
    }
}
