//! A set of slots: one bit each.

use crate::policy::Slot;

/// A set of slots below a bound.
#[derive(Debug, Default)]
pub struct SlotSet(Vec<u64>);

impl SlotSet {
    /// The empty set, for slots below `slots`.
    pub fn new(slots: u32) -> SlotSet {
        SlotSet(vec![0; slots.div_ceil(64) as usize])
    }

    /// Grows to hold slots below `slots`.
    pub fn grow(&mut self, slots: u32) {
        let words = slots.div_ceil(64) as usize;
        if words > self.0.len() {
            self.0.resize(words, 0);
        }
    }

    /// True if `slot` is in the set.
    #[inline(always)]
    pub fn contains(&self, slot: Slot) -> bool {
        self.0[slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    /// Puts `slot` into the set.
    #[inline(always)]
    pub fn insert(&mut self, slot: Slot) {
        self.0[slot as usize / 64] |= 1 << (slot % 64);
    }

    /// Takes `slot` out of the set.
    #[inline(always)]
    pub fn remove(&mut self, slot: Slot) {
        self.0[slot as usize / 64] &= !(1 << (slot % 64));
    }

    /// The slots in the set, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        let slots = 0..self.0.len() as Slot * 64;
        slots.filter(|&slot| self.contains(slot))
    }
}
