//! Where blocks are: the resident ones side by side, and ghosts in the order in which they left.

use std::collections::VecDeque;

use super::neighbours::Neighbours;
use crate::parts::large;
use crate::policy::Slot;

/// The resident blocks, and the queue of ghosts. The caller knows which of them a block is, if any.
#[derive(Debug)]
pub(super) struct Places {
    /// The resident blocks, in no order.
    rows: Vec<Slot>,
    /// Ghosts, the oldest first. An entry that is no longer valid counts until it is taken out.
    left: VecDeque<Slot>,
    /// Entries that were taken out of the queue; it may wrap.
    taken: u32,
    /// By slot: the row of a resident block, or the number of a ghost's last entry.
    of: Vec<u32>,
    /// Of the resident blocks, if they are needed.
    neighbours: Option<Neighbours>,
}

impl Places {
    /// Without blocks. `has_neighbours` if it is needed which of the resident ones come one after the other.
    pub(super) fn new(has_neighbours: bool) -> Places {
        let neighbours = has_neighbours.then(Neighbours::new);
        Places { rows: Vec::new(), left: VecDeque::new(), taken: 0, of: Vec::new(), neighbours }
    }

    /// Capacity for slots below `slots`, of which at most so many are resident, and so many entries in the queue.
    pub(super) fn grow(&mut self, slots: u32, resident: u32, ghosts: usize) {
        match self.of.len() {
            0 => self.of = large::filled(0, slots as usize),
            known => self.of.resize(known.max(slots as usize), 0),
        }
        let resident = self.of.len().min(resident as usize);
        self.rows.reserve_exact(resident.saturating_sub(self.rows.len()));
        self.neighbours.iter_mut().for_each(|neighbours| neighbours.reserve(resident));
        self.left.reserve_exact(ghosts.saturating_sub(self.left.len()));
    }

    /// Resident blocks.
    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.rows.len() as u32
    }

    /// The block at an index below [`Places::len`].
    #[inline(always)]
    pub(super) fn row(&self, at: u32) -> Slot {
        self.rows[at as usize]
    }

    /// A block comes in.
    #[inline(always)]
    pub(super) fn come_in(&mut self, slot: Slot) {
        self.of[slot as usize] = self.len();
        self.rows.push(slot);
        self.neighbours.iter_mut().for_each(Neighbours::come_in);
    }

    /// A resident block goes out; the last row fills the gap.
    pub(super) fn go_out(&mut self, slot: Slot) {
        let at = self.of[slot as usize];
        self.neighbours.iter_mut().for_each(|neighbours| neighbours.go_out(at, |other| self.of[other as usize]));
        self.rows.swap_remove(at as usize);
        if let Some(&moved) = self.rows.get(at as usize) {
            self.of[moved as usize] = at;
        }
    }

    /// A resident block was referenced right after the one before it, which is resident, too.
    #[inline(always)]
    pub(super) fn join(&mut self, before: Slot, slot: Slot) {
        let row = |slot: Slot| self.of[slot as usize];
        self.neighbours.iter_mut().for_each(|neighbours| neighbours.join(before, slot, row));
    }

    /// The resident neighbours of a resident block.
    #[inline(always)]
    pub(super) fn beside(&self, slot: Slot) -> impl Iterator<Item = Slot> + '_ {
        self.neighbours.iter().flat_map(move |neighbours| neighbours.of(self.of[slot as usize]))
    }

    /// Entries in the queue of ghosts.
    pub(super) fn left(&self) -> usize {
        self.left.len()
    }

    /// A block that is not resident is a ghost from here on.
    pub(super) fn leave(&mut self, slot: Slot) {
        self.of[slot as usize] = self.taken.wrapping_add(self.left.len() as u32);
        self.left.push_back(slot);
    }

    /// Takes the oldest entry out. Its block, and true if that has no later entry: if it is a ghost, then by this one.
    pub(super) fn take_oldest(&mut self) -> Option<(Slot, bool)> {
        let slot = self.left.pop_front()?;
        let number = self.taken;
        self.taken = number.wrapping_add(1);
        Some((slot, self.of[slot as usize] == number))
    }

    /// Panics unless places are those of rows, and of the last entry of each ghost.
    pub(super) fn validate(&self, is_ghost: impl Fn(Slot) -> bool) {
        assert!((0..).zip(&self.rows).all(|(row, &slot)| self.of[slot as usize] == row), "a wrong row");
        let entry = |slot: Slot| self.left.get(self.of[slot as usize].wrapping_sub(self.taken) as usize);
        let mut ghosts = (0..self.of.len() as Slot).filter(|&slot| is_ghost(slot));
        assert!(ghosts.all(|slot| entry(slot) == Some(&slot)), "a ghost without an entry");
        let row = |slot: Slot| self.of[slot as usize];
        self.neighbours.iter().for_each(|neighbours| neighbours.validate(&self.rows, row));
    }
}
