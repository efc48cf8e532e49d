//! Blocks that come one after the other, as storage reads them: what a hit saves depends on whether the next ones hit.

use crate::parts::large;
use crate::policy::Slot;

const NOBODY: Slot = Slot::MAX;
const BEFORE: usize = 0;
const BEHIND: usize = 1;

/// By slot, the block before it in its file and the block behind it, where one was referenced right after the other. If
/// a block has a neighbour, it is that one's neighbour.
#[derive(Debug)]
pub(super) struct Neighbours(Vec<[Slot; 2]>);

impl Neighbours {
    pub(super) fn new(slots: u32) -> Neighbours {
        Neighbours(large::filled([NOBODY; 2], slots as usize))
    }

    pub(super) fn grow(&mut self, slots: u32) {
        self.0.resize(self.0.len().max(slots as usize), [NOBODY; 2]);
    }

    /// A block was referenced right after the one before it.
    #[inline(always)]
    pub(super) fn join(&mut self, before: Slot, slot: Slot) {
        if self.0[before as usize][BEHIND] != slot {
            self.cut(before);
            self.cut_before(slot);
            self.0[before as usize][BEHIND] = slot;
            self.0[slot as usize][BEFORE] = before;
        }
    }

    /// Another block has the slot.
    pub(super) fn leave(&mut self, slot: Slot) {
        self.cut(slot);
        self.cut_before(slot);
    }

    /// Parts a block from the one behind it.
    fn cut(&mut self, slot: Slot) {
        let behind = std::mem::replace(&mut self.0[slot as usize][BEHIND], NOBODY);
        if behind != NOBODY {
            self.0[behind as usize][BEFORE] = NOBODY;
        }
    }

    /// Parts a block from the one before it.
    fn cut_before(&mut self, slot: Slot) {
        let before = self.0[slot as usize][BEFORE];
        if before != NOBODY {
            self.cut(before);
        }
    }

    /// The neighbours of a block that are known, at most two.
    #[inline(always)]
    pub(super) fn of(&self, slot: Slot) -> impl Iterator<Item = Slot> + use<> {
        self.0[slot as usize].into_iter().filter(|&other| other != NOBODY)
    }

    pub(super) fn validate(&self) {
        for (slot, &[_, behind]) in (0..).zip(&self.0) {
            assert!(behind == NOBODY || self.0[behind as usize][BEFORE] == slot, "a neighbour on one side");
        }
        let count = |side: usize| self.0.iter().filter(|sides| sides[side] != NOBODY).count();
        assert_eq!(count(BEFORE), count(BEHIND), "a neighbour on the other side");
    }
}
