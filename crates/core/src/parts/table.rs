//! The resident blocks side by side, in no order: drawing one at random and looking at it touches one place.

use super::large;
use super::prefetch::prefetch;
use crate::policy::Slot;

const ABSENT: u32 = u32::MAX;

/// Slots with what is known of each.
#[derive(Debug)]
pub struct Table<T> {
    rows: Vec<(Slot, T)>,
    /// By slot: its place in `rows`, or `ABSENT`.
    index: Vec<u32>,
}

impl<T> Table<T> {
    /// An empty table of slots below `slots`, of which at most `bound` are in it at once.
    pub fn new(slots: u32, bound: u32) -> Table<T> {
        let mut table = Table { rows: Vec::new(), index: large::filled(ABSENT, slots as usize) };
        table.grow(slots, bound);
        table
    }

    /// Grows to hold slots below `slots`, of which at most `bound` are in the table.
    pub fn grow(&mut self, slots: u32, bound: u32) {
        self.index.resize(self.index.len().max(slots as usize), ABSENT);
        let bound = self.index.len().min(bound as usize);
        self.rows.reserve_exact(bound.saturating_sub(self.rows.len()));
    }

    /// The number of slots that it can hold.
    pub fn slots(&self) -> u32 {
        self.index.len() as u32
    }

    /// Slots in the table.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.rows.len() as u32
    }

    /// True if no slot is in the table.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Fetches the place of `slot`.
    #[inline(always)]
    pub fn prefetch(&self, slot: Slot) {
        prefetch(&self.index, slot as usize);
    }

    /// True if `slot` is in the table.
    #[inline(always)]
    pub fn contains(&self, slot: Slot) -> bool {
        self.index[slot as usize] != ABSENT
    }

    /// The known facts of `slot`.
    #[inline(always)]
    pub fn get(&self, slot: Slot) -> Option<&T> {
        self.rows.get(self.index[slot as usize] as usize).map(|row| &row.1)
    }

    /// The same, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        self.rows.get_mut(self.index[slot as usize] as usize).map(|row| &mut row.1)
    }

    /// The slot at an index below [`Table::len`], and its known facts.
    #[inline(always)]
    pub fn row(&self, at: u32) -> &(Slot, T) {
        &self.rows[at as usize]
    }

    /// Adds `slot`, which is not in the table, as the last row.
    #[inline(always)]
    pub fn push(&mut self, slot: Slot, value: T) {
        debug_assert!(!self.contains(slot));
        self.index[slot as usize] = self.len();
        self.rows.push((slot, value));
    }

    /// Takes `slot` out, if it is in; the last row fills the gap.
    #[inline(always)]
    pub fn take(&mut self, slot: Slot) -> Option<T> {
        let at = self.index[slot as usize];
        if at == ABSENT {
            return None;
        }
        let (_, value) = self.rows.swap_remove(at as usize);
        if let Some(&(moved, _)) = self.rows.get(at as usize) {
            self.index[moved as usize] = at;
        }
        self.index[slot as usize] = ABSENT;
        Some(value)
    }

    /// Panics unless places and rows agree.
    pub fn validate(&self) {
        assert!(self.rows.iter().enumerate().all(|(at, row)| self.index[row.0 as usize] == at as u32), "a wrong place");
        assert_eq!(self.index.iter().filter(|&&at| at != ABSENT).count(), self.rows.len(), "places without a row");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_row_fills_a_gap() {
        let mut table = Table::new(5, 3);
        (2..5).for_each(|slot| table.push(slot, slot * 10));
        assert_eq!((table.take(2), table.take(2)), (Some(20), None));
        table.validate();
        assert_eq!([0, 1].map(|at| *table.row(at)), [(4, 40), (3, 30)]);
        *table.get_mut(3).unwrap() += 1;
        assert_eq!((table.take(3), table.take(4), table.len()), (Some(31), Some(40), 0));
        assert!(table.get_mut(4).is_none());
    }
}
