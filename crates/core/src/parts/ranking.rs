//! Slots in the order of keys that only grow, where new slots have greater keys than the new slots before them.
//!
//! New slots are in a queue, and most leave from there: only those that were used again, whose keys were raised, cost
//! the work of a heap. The least of all is the lesser of the two at their ends.

use super::queue::{Places, Queue, Tag};
use super::slot_heap::{Key, SlotHeap};
use crate::policy::Slot;

/// Tag of the slots in the queue.
pub const NEW: Tag = 0;
/// Tag of the slots in the heap.
pub const USED: Tag = 1;

/// Slots by key.
#[derive(Debug)]
pub struct Ranking<K> {
    /// Where each slot is. The owner may use other tags.
    pub places: Places,
    new: Queue,
    used: SlotHeap<K>,
}

impl<K: Key> Ranking<K> {
    /// An empty ranking of slots below `slots`, of which at most `bound` are in it at once.
    pub fn new(slots: u32, bound: u32) -> Ranking<K> {
        let mut ranking =
            Ranking { places: Places::new(slots), new: Queue::new(NEW, 0), used: SlotHeap::new(USED, slots) };
        ranking.grow(slots, bound);
        ranking
    }

    /// Grows to hold slots below `slots`, of which at most `bound` are in the ranking.
    pub fn grow(&mut self, slots: u32, bound: u32) {
        self.places.grow(slots);
        let bound = bound.min(self.places.slots());
        self.new.grow(&mut self.places, bound);
        self.used.grow(slots, bound);
    }

    /// Slots in the ranking.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.new.len() + self.used.len()
    }

    /// True if no slot is in the ranking.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fetches the place and the key of `slot`.
    #[inline(always)]
    pub fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
        self.used.prefetch(slot);
    }

    /// The key of `slot`, in the ranking or not: a slot that left keeps its key.
    #[inline(always)]
    pub fn key(&self, slot: Slot) -> K {
        self.used.key(slot)
    }

    /// Sets the key of `slot`, which is not in the ranking.
    #[inline(always)]
    pub fn set_key(&mut self, slot: Slot, key: K) {
        self.used.set_key(slot, key);
    }

    /// Adds `slot`, which is nowhere, with a key above those of all slots that were pushed before.
    #[inline(always)]
    pub fn push(&mut self, slot: Slot, key: K) {
        self.new.push(&mut self.places, slot);
        self.used.set_key(slot, key);
    }

    /// Adds `slot`, which is nowhere, with any key.
    #[inline(always)]
    pub fn insert(&mut self, slot: Slot, key: K) {
        self.used.insert(&mut self.places, slot, key);
    }

    /// Raises the key of `slot`, which is in the ranking.
    #[inline(always)]
    pub fn raise(&mut self, slot: Slot, key: K) {
        if self.places.tag(slot) == USED {
            self.used.set_key(slot, key);
        } else {
            self.new.take(&mut self.places, slot);
            self.used.insert(&mut self.places, slot, key);
        }
    }

    /// Takes out `slot`, which is in the ranking.
    #[inline(always)]
    pub fn take(&mut self, slot: Slot) {
        if self.places.tag(slot) == USED {
            self.used.take(&mut self.places, slot);
        } else {
            self.new.take(&mut self.places, slot);
        }
    }

    /// The slot with the least key.
    #[inline(always)]
    pub fn least(&mut self) -> Option<Slot> {
        let used = self.used.least(&self.places);
        match (self.new.oldest(&self.places), used) {
            (Some(new), Some(used)) if self.key(used) < self.key(new) => Some(used),
            (new, used) => new.or(used),
        }
    }

    /// Takes out the slot with the least key.
    #[inline(always)]
    pub fn pop_least(&mut self) -> Option<Slot> {
        let least = self.least()?;
        match self.places.tag(least) {
            USED => self.used.pop_least(&mut self.places),
            _ => self.new.pop_oldest(&mut self.places),
        }
    }

    /// Panics on a broken invariant.
    pub fn validate(&self) {
        self.new.validate(&self.places);
        self.used.validate(&self.places);
        assert!(
            self.new.iter().map(|slot| self.key(slot)).is_sorted(),
            "a new slot stands behind one with a greater key"
        );
    }
}
