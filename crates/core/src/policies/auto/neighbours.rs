//! Blocks that come one after the other, as storage reads them: the saving of a hit depends on whether the next ones
//! hit.

use crate::policy::Slot;

const NOBODY: Slot = Slot::MAX;
const BEFORE: usize = 0;
const BEHIND: usize = 1;

/// By row of the resident blocks, the block before it in its file and the block behind it, where both are resident and
/// one was referenced right after the other. If a block has a neighbour, it is that one's neighbour. `row` tells the
/// row of a resident block.
#[derive(Debug)]
pub(super) struct Neighbours(Vec<[Slot; 2]>);

impl Neighbours {
    /// Of no blocks.
    pub(super) fn new() -> Neighbours {
        Neighbours(Vec::new())
    }

    pub(super) fn reserve(&mut self, rows: usize) {
        self.0.reserve_exact(rows.saturating_sub(self.0.len()));
    }

    /// A block comes in, in the next row.
    pub(super) fn come_in(&mut self) {
        self.0.push([NOBODY; 2]);
    }

    /// The block at an index leaves; the last one fills the gap.
    pub(super) fn go_out(&mut self, at: u32, row: impl Fn(Slot) -> u32) {
        [BEFORE, BEHIND].into_iter().for_each(|side| self.cut(at, side, &row));
        self.0.swap_remove(at as usize);
    }

    /// A block was referenced right after the one before it.
    #[inline(always)]
    pub(super) fn join(&mut self, before: Slot, slot: Slot, row: impl Fn(Slot) -> u32) {
        let (first, second) = (row(before), row(slot));
        if self.0[first as usize][BEHIND] != slot {
            self.cut(first, BEHIND, &row);
            self.cut(second, BEFORE, &row);
            self.0[first as usize][BEHIND] = slot;
            self.0[second as usize][BEFORE] = before;
        }
    }

    /// Separates the block at an index from the one on this side.
    fn cut(&mut self, at: u32, side: usize, row: impl Fn(Slot) -> u32) {
        let other = std::mem::replace(&mut self.0[at as usize][side], NOBODY);
        if other != NOBODY {
            self.0[row(other) as usize][1 - side] = NOBODY;
        }
    }

    /// The neighbours of the block at an index, at most two.
    #[inline(always)]
    pub(super) fn of(&self, at: u32) -> impl Iterator<Item = Slot> + use<> {
        self.0[at as usize].into_iter().filter(|&other| other != NOBODY)
    }

    /// Panics unless each neighbour of the block at an index has that block as its neighbour on the other side.
    pub(super) fn validate(&self, rows: &[Slot], row: impl Fn(Slot) -> u32) {
        assert_eq!(self.0.len(), rows.len());
        for (sides, &slot) in self.0.iter().zip(rows) {
            for (side, &other) in sides.iter().enumerate().filter(|&(_, &other)| other != NOBODY) {
                assert_eq!(self.0[row(other) as usize][1 - side], slot, "a neighbour on one side");
            }
        }
    }
}
