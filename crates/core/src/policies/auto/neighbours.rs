//! Blocks that come one after the other, as storage reads them: what a hit saves depends on whether the next ones hit.

use crate::policy::Slot;

const NOBODY: Slot = Slot::MAX;

/// By slot, the block before it in its file and the block behind it, where one was referenced right after the other. If
/// a block has a neighbour, it is that one's neighbour.
#[derive(Debug)]
pub(super) struct Neighbours {
    before: Vec<Slot>,
    behind: Vec<Slot>,
}

impl Neighbours {
    pub(super) fn new(slots: u32) -> Neighbours {
        let mut neighbours = Neighbours { before: Vec::new(), behind: Vec::new() };
        neighbours.grow(slots);
        neighbours
    }

    pub(super) fn grow(&mut self, slots: u32) {
        for side in [&mut self.before, &mut self.behind] {
            side.resize(side.len().max(slots as usize), NOBODY);
        }
    }

    /// A block was referenced right after the one before it.
    #[inline(always)]
    pub(super) fn join(&mut self, before: Slot, slot: Slot) {
        if self.behind[before as usize] != slot {
            self.cut(before);
            let known_before = self.before[slot as usize];
            if known_before != NOBODY {
                self.cut(known_before);
            }
            self.behind[before as usize] = slot;
            self.before[slot as usize] = before;
        }
    }

    /// Another block has the slot.
    pub(super) fn leave(&mut self, slot: Slot) {
        self.cut(slot);
        let before = self.before[slot as usize];
        if before != NOBODY {
            self.cut(before);
        }
    }

    /// Parts a block from the one behind it.
    fn cut(&mut self, slot: Slot) {
        let behind = std::mem::replace(&mut self.behind[slot as usize], NOBODY);
        if behind != NOBODY {
            self.before[behind as usize] = NOBODY;
        }
    }

    /// The neighbours of a block that are known, at most two.
    #[inline(always)]
    pub(super) fn of(&self, slot: Slot) -> impl Iterator<Item = Slot> + use<> {
        [self.before[slot as usize], self.behind[slot as usize]].into_iter().filter(|&other| other != NOBODY)
    }

    pub(super) fn validate(&self) {
        for (slot, &behind) in (0..).zip(&self.behind) {
            assert!(behind == NOBODY || self.before[behind as usize] == slot, "a neighbour on one side");
        }
        let count = |side: &[Slot]| side.iter().filter(|&&other| other != NOBODY).count();
        assert_eq!(count(&self.before), count(&self.behind), "a neighbour on the other side");
    }
}
