//! An index from keys to slots.
//!
//! An array of cells (open addressing, linear probing), each with half of a key's hash and its slot. A look-up reads
//! one cache line, which can be fetched before it is needed, and compares halves of hashes there; neither growing nor
//! removing reads keys. `hashbrown` does not expose the position of an entry, so it allows no fetch in advance.
//!
//! Memory: 8 bytes a cell; between three eighths and three quarters of the cells are taken.

use hotset_core::parts::prefetch::prefetch;
use hotset_core::policy::Slot;

/// One cell.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The upper half of the key's hash.
    hash: u32,
    /// Its slot; `NONE` where the cell is free.
    slot: Slot,
}

const NONE: Slot = Slot::MAX;
const FREE: Cell = Cell { hash: 0, slot: NONE };
/// Cells of the smallest index, as a power of two.
const LEAST_BITS: u32 = 4;

/// Slots by the hashes of their keys. The caller compares the keys.
#[derive(Clone, Debug)]
pub struct KeyIndex {
    /// A power of two of them, of which one is free at least.
    cells: Vec<Cell>,
    taken: usize,
}

impl KeyIndex {
    /// An empty index.
    pub fn new() -> KeyIndex {
        KeyIndex { cells: vec![FREE; 1 << LEAST_BITS], taken: 0 }
    }

    /// Slots in the index.
    pub fn len(&self) -> usize {
        self.taken
    }

    /// Fetches the cells in which the key of this hash is looked for first.
    pub fn prefetch(&self, hash: u64) {
        prefetch(&self.cells, self.home(upper(hash)));
    }

    /// A slot of this hash that `is_it`. A caller that accepts any slot gets a guess, without reading a key.
    pub fn find(&self, hash: u64, is_it: impl Fn(Slot) -> bool) -> Option<Slot> {
        self.place(upper(hash), is_it).ok().map(|at| self.cells[at].slot)
    }

    /// The slot of this hash that `is_it`, or else the one that `new` gives, which is added; and whether it was.
    pub fn find_or_add(&mut self, hash: u64, is_it: impl Fn(Slot) -> bool, new: impl FnOnce() -> Slot) -> (Slot, bool) {
        if (self.taken + 1) * 4 > self.cells.len() * 3 {
            self.grow();
        }
        match self.place(upper(hash), is_it) {
            Ok(at) => (self.cells[at].slot, false),
            Err(free) => {
                let slot = new();
                self.taken += 1;
                self.cells[free] = Cell { hash: upper(hash), slot };
                (slot, true)
            }
        }
    }

    /// Takes a slot out, if it is in the index.
    pub fn remove(&mut self, hash: u64, slot: Slot) {
        let Ok(mut hole) = self.place(upper(hash), |other| other == slot) else { return };
        self.taken -= 1;
        // An entry behind the hole that is searched from a cell at or before the hole moves up.
        let mut at = self.next(hole);
        while self.cells[at].slot != NONE {
            if self.distance(self.home(self.cells[at].hash), at) >= self.distance(hole, at) {
                self.cells[hole] = self.cells[at];
                hole = at;
            }
            at = self.next(at);
        }
        self.cells[hole] = FREE;
    }

    /// Where a slot is, or else the free cell where the search ends.
    fn place(&self, hash: u32, is_it: impl Fn(Slot) -> bool) -> Result<usize, usize> {
        let mut at = self.home(hash);
        loop {
            let cell = self.cells[at];
            if cell.slot == NONE {
                return Err(at);
            }
            if cell.hash == hash && is_it(cell.slot) {
                return Ok(at);
            }
            at = self.next(at);
        }
    }

    fn grow(&mut self) {
        let twice = vec![FREE; self.cells.len() * 2];
        for cell in std::mem::replace(&mut self.cells, twice) {
            if cell.slot != NONE
                && let Err(free) = self.place(cell.hash, |_| false)
            {
                self.cells[free] = cell;
            }
        }
    }

    /// The cell where a search begins.
    fn home(&self, hash: u32) -> usize {
        (hash as usize * self.cells.len()) >> u32::BITS
    }

    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.cells.len() - 1)
    }

    /// How many cells `to` lies behind `from`.
    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.cells.len() - 1)
    }
}

/// The half of a hash that the index keeps.
fn upper(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotset_core::random::Rng;
    use std::collections::HashMap;

    /// Hashes that collide: in the first cell, at the end of the row, and wholly.
    fn hash(key: u32) -> u64 {
        let half = match key % 4 {
            0 => key,
            1 => u32::MAX - key / 64,
            2 => 7,
            _ => key.wrapping_mul(0x9e37_79b1),
        };
        u64::from(half) << 32
    }

    #[test]
    fn does_what_a_map_does_where_hashes_collide() {
        let mut random = Rng::new(1);
        let (mut index, mut model) = (KeyIndex::new(), HashMap::new());
        for round in 0..20_000 {
            let key = random.below(if round < 10_000 { 40 } else { 400 });
            let found = index.find(hash(key), |slot| slot == key);
            assert_eq!(found, model.get(&key).copied(), "{key} in round {round}");
            if found.is_some() && random.below(3) > 0 {
                index.remove(hash(key), key);
                model.remove(&key);
            } else if found.is_none() {
                assert_eq!(index.find_or_add(hash(key), |slot| slot == key, || key), (key, true));
                model.insert(key, key);
            }
            assert_eq!(index.len(), model.len());
        }
        for (&key, &slot) in &model {
            assert_eq!(index.find_or_add(hash(key), |other| other == slot, || unreachable!()), (slot, false));
            assert_eq!(index.find(hash(key), |other| other == slot), Some(slot));
            assert!(index.find(hash(key), |_| true).is_some());
        }
        index.remove(hash(9999), 9999);
        assert_eq!(index.len(), model.len(), "removing a missing key changes nothing");
    }
}
