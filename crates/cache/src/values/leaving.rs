//! Slots whose values have left in a batch, until they are cleared.
//!
//! An evicted value was not used for long, so the processor would wait for its entry, and then for its cell of the
//! index. So the removal is delayed in two steps: the entry is fetched when its value leaves, the cell a few evictions
//! later, and it is cleared a few after that.

use hotset_core::policy::Slot;

/// Departures between two steps.
const STEP: usize = 4;
const NONE: Slot = Slot::MAX;

/// The last slots that have left, and whether the policy has forgotten them too.
#[derive(Debug)]
pub struct Leaving {
    slots: [Slot; STEP * 2],
    forgotten: [bool; STEP * 2],
    /// Where the next one goes, behind which the first one is.
    next: usize,
}

/// What there is to do when one more slot leaves.
pub struct Due {
    /// The policy has forgotten this slot: its cell is looked for soon.
    pub seek: Option<Slot>,
    /// This slot is to be cleared, and to be free if the policy has forgotten it.
    pub clear: Option<(Slot, bool)>,
}

impl Leaving {
    /// None.
    pub fn new() -> Leaving {
        Leaving { slots: [NONE; STEP * 2], forgotten: [false; STEP * 2], next: 0 }
    }

    /// True if the slot is among them. Looks at all in one go.
    #[inline(always)]
    pub fn has(&self, slot: Slot) -> bool {
        self.slots.iter().fold(false, |found, &other| found | (other == slot))
    }

    /// True if the slot is among them and forgotten.
    #[inline(always)]
    pub fn has_forgotten(&self, slot: Slot) -> bool {
        self.has(slot) && self.place(slot).is_some_and(|at| self.forgotten[at])
    }

    /// One more, which is not among them.
    pub fn push(&mut self, slot: Slot) -> Due {
        let (first, middle) = (self.next, (self.next + STEP) % self.slots.len());
        let clear = self.at(first);
        (self.slots[first], self.forgotten[first]) = (slot, false);
        self.next = (first + 1) % self.slots.len();
        Due { seek: self.at(middle).and_then(|(slot, forgotten)| forgotten.then_some(slot)), clear }
    }

    /// The policy has forgotten it, too.
    pub fn forget(&mut self, slot: Slot) {
        if let Some(at) = self.place(slot) {
            self.forgotten[at] = true;
        }
    }

    /// Takes it out, if it is among them.
    pub fn take(&mut self, slot: Slot) -> Option<(Slot, bool)> {
        let at = self.place(slot)?;
        let taken = self.at(at);
        self.slots[at] = NONE;
        taken
    }

    /// Takes any out.
    pub fn pop(&mut self) -> Option<(Slot, bool)> {
        let slot = *self.slots.iter().find(|&&slot| slot != NONE)?;
        self.take(slot)
    }

    fn at(&self, at: usize) -> Option<(Slot, bool)> {
        (self.slots[at] != NONE).then_some((self.slots[at], self.forgotten[at]))
    }

    #[cold]
    fn place(&self, slot: Slot) -> Option<usize> {
        self.slots.iter().position(|&other| other == slot)
    }
}
