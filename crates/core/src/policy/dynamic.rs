//! Policies chosen at run time inside of others: the same policies behind one virtual call a reference.

use super::{Done, Effects, Explanation, Extra, Note, Outcome, Policy, Reference, Slot, Work};
use crate::classify::Class;

/// A [`Policy`] whose type is forgotten. The calls are the policy's own.
pub trait DynPolicy: Send {
    /// [`Policy::access`].
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut dyn Effects) -> Outcome;
    /// [`Policy::prefetch`].
    fn prefetch(&self, slot: Slot);
    /// [`Policy::remove`].
    fn remove(&mut self, slot: Slot, fx: &mut dyn Effects);
    /// [`Policy::resize`].
    fn resize(&mut self, capacity: u32, fx: &mut dyn Effects);
    /// [`Policy::grow`].
    fn grow(&mut self, slots: u32);
    /// [`Policy::contains`].
    fn contains(&self, slot: Slot) -> bool;
    /// [`Policy::len`].
    fn len(&self) -> u32;
    /// [`Policy::is_empty`].
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// [`Policy::room`].
    fn room(&self, class: Class) -> u32;
    /// [`Policy::piece`].
    fn piece(&self, class: Class) -> u32;
    /// [`Policy::keeps`].
    fn keeps(&self, reference: &Reference) -> bool;
    /// [`Policy::keep_order`].
    fn keep_order(&mut self) -> bool;
    /// [`Policy::position`].
    fn position(&self, slot: Slot) -> Option<u32>;
    /// [`Policy::at`].
    fn at(&self, position: u32) -> Option<Slot>;
    /// [`Policy::take_work`].
    fn take_work(&mut self) -> Option<Work>;
    /// [`Policy::finish_work`].
    fn finish_work(&mut self, done: Done);
    /// [`Policy::explain`].
    fn explain(&self) -> Vec<Explanation>;
    /// [`Policy::validate`].
    fn validate(&self);
}

impl<P: Policy> DynPolicy for P {
    fn access(&mut self, slot: Slot, reference: Reference, mut fx: &mut dyn Effects) -> Outcome {
        Policy::access(self, slot, reference, &mut fx)
    }

    fn prefetch(&self, slot: Slot) {
        Policy::prefetch(self, slot);
    }

    fn remove(&mut self, slot: Slot, mut fx: &mut dyn Effects) {
        Policy::remove(self, slot, &mut fx);
    }

    fn resize(&mut self, capacity: u32, mut fx: &mut dyn Effects) {
        Policy::resize(self, capacity, &mut fx);
    }

    fn grow(&mut self, slots: u32) {
        Policy::grow(self, slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        Policy::contains(self, slot)
    }

    fn len(&self) -> u32 {
        Policy::len(self)
    }

    fn room(&self, class: Class) -> u32 {
        Policy::room(self, class)
    }

    fn piece(&self, class: Class) -> u32 {
        Policy::piece(self, class)
    }

    fn keeps(&self, reference: &Reference) -> bool {
        Policy::keeps(self, reference)
    }

    fn keep_order(&mut self) -> bool {
        Policy::keep_order(self)
    }

    fn position(&self, slot: Slot) -> Option<u32> {
        Policy::position(self, slot)
    }

    fn at(&self, position: u32) -> Option<Slot> {
        Policy::at(self, position)
    }

    fn take_work(&mut self) -> Option<Work> {
        Policy::take_work(self)
    }

    fn finish_work(&mut self, done: Done) {
        Policy::finish_work(self, done);
    }

    fn explain(&self) -> Vec<Explanation> {
        Policy::explain(self)
    }

    fn validate(&self) {
        Policy::validate(self);
    }
}

impl Effects for &mut dyn Effects {
    fn evict(&mut self, slot: Slot) {
        (**self).evict(slot);
    }

    fn forget(&mut self, slot: Slot) {
        (**self).forget(slot);
    }

    fn fetch(&mut self, slot: Slot, why: Extra) {
        (**self).fetch(slot, why);
    }

    fn take_accessed(&mut self, slot: Slot) -> bool {
        (**self).take_accessed(slot)
    }

    fn storage_busy(&self) -> Option<u64> {
        (**self).storage_busy()
    }

    fn discard(&mut self, slot: Slot) {
        (**self).discard(slot);
    }

    fn note(&mut self, note: &Note) {
        (**self).note(note);
    }
}
