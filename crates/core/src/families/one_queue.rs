//! Policies of one queue: FIFO, LIFO, LRU and MRU, which differ in what a hit does and at which end the victim is.

use std::marker::PhantomData;

use crate::parts::queue::{ABSENT, Places, Queue};
use crate::policy::{
    Args, Discard, Effects, Hits, Info, Outcome, Policy, Ranked, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

/// What tells one from another.
pub trait Discipline: 'static {
    /// Name and texts.
    const INFO: Info;
    /// The queue is in order of last use, so a hit moves its block to the MRU end; otherwise in order of entry, and a
    /// hit changes nothing.
    const BY_LAST_USE: bool;
    /// The victim is the youngest, chosen before the new block enters, which would otherwise evict itself; not the
    /// oldest.
    const YOUNGEST_LEAVES: bool;
}

/// A policy of one queue.
#[derive(Debug)]
pub struct OneQueue<D> {
    capacity: u32,
    places: Places,
    queue: Queue,
    discipline: PhantomData<fn() -> D>,
}

impl<D: Discipline> Policy for OneQueue<D> {
    const INFO: Info = D::INFO;

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let places = Places::new(setup.slots);
        let queue = Queue::within(0, setup.capacity, &places);
        Ok(OneQueue { capacity: setup.capacity, queue, places, discipline: PhantomData })
    }

    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let hits = if D::BY_LAST_USE { Hits::Order } else { Hits::Nothing };
        Ok(Requirements { hits, ..Requirements::of(capacity) })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        if self.places.tag(slot) != ABSENT {
            if D::BY_LAST_USE {
                self.queue.renew(&mut self.places, slot);
            }
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

/// For a discipline whose blocks are worth less and less from the youngest to the oldest.
impl<D: Discipline> Ranked for OneQueue<D> {
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
}

impl<D: Discipline> OneQueue<D> {
    /// Takes the victim out.
    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let places = &mut self.places;
        let victim = if D::YOUNGEST_LEAVES { self.queue.pop_youngest(places) } else { self.queue.pop_oldest(places) };
        if let Some(victim) = victim {
            fx.discard(victim);
        }
    }
}
