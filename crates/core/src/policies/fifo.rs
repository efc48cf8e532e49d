//! FIFO: evict the block that entered first.
//!
//! Idea: a queue in order of entry. A hit changes nothing, so it costs nothing: caches that must be touched without a lock use it,
//! and many modern policies (CLOCK, SIEVE, S3-FIFO) are FIFO queues with a second look.
//!
//! Paper: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 1966; Belady, Nelson,
//! Shedler, "An anomaly in space-time characteristics of certain programs running in a paging machine", CACM 1969.
//!
//! Deviations: none.
//!
//! Cost: a hit reads one word; a miss writes three. Memory: 12 to 20 bytes a block (4 a slot, 8 to 16 in the queue).
//!
//! When not to use it: when blocks differ much in popularity; the popular ones leave as early as the others. More memory can mean
//! more misses (Belady's anomaly).

use crate::parts::queue::{ABSENT, Places, Queue};
use crate::policy::{Effects, Info, Needs, Outcome, Policy, Reference, Setup, Slot};
use crate::spec::SpecError;

/// The FIFO policy.
#[derive(Debug)]
pub struct Fifo {
    capacity: u32,
    places: Places,
    queue: Queue,
}

impl Policy for Fifo {
    const INFO: Info = Info {
        name: "fifo",
        aliases: &[],
        family: "simple",
        summary: "evict the block that entered first",
        params: &[],
        offline: false,
        needs: Needs::NOTHING,
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let places = Places::new(setup.slots);
        Ok(Fifo { capacity: setup.capacity, queue: Queue::within(0, setup.capacity, &places), places })
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

impl Fifo {
    /// Takes the victim out.
    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        if let Some(victim) = self.queue.pop_oldest(&mut self.places) {
            fx.discard(victim);
        }
    }
}
