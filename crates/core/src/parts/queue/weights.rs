//! What slots count in the lengths of queues, known when the program is compiled: queues of slots that are alike pay
//! nothing for those that are not.

use std::fmt;

use crate::policy::Slot;

/// What slots count in the lengths of queues.
pub trait Weights: fmt::Debug + Default + Send + 'static {
    /// True if each counts as one, whatever its given weight: then one entry replaces one.
    const ARE_ALIKE: bool;
    /// What `slot` counts.
    fn of(&self, slot: Slot) -> u32;
    /// Gives a weight, at least 1, to one of so many slots.
    fn set(&mut self, slot: Slot, weight: u32, slots: usize);
}

/// Each slot counts as one.
#[derive(Debug, Default)]
pub struct Alike;

/// Weights of the first slots; all others weigh 1. 4 bytes a slot.
#[derive(Debug, Default)]
pub struct SlotWeights(Vec<u32>);

impl Weights for Alike {
    const ARE_ALIKE: bool = true;

    #[inline(always)]
    fn of(&self, _: Slot) -> u32 {
        1
    }

    fn set(&mut self, _: Slot, _: u32, _: usize) {}
}

impl Weights for SlotWeights {
    const ARE_ALIKE: bool = false;

    #[inline(always)]
    fn of(&self, slot: Slot) -> u32 {
        self.0.get(slot as usize).map_or(1, |&weight| weight)
    }

    fn set(&mut self, slot: Slot, weight: u32, slots: usize) {
        if self.0.len() < slots {
            self.0.resize(slots, 1);
        }
        self.0[slot as usize] = weight;
    }
}
