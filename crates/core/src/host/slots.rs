//! The slot of each block.
//!
//! A slot is reused after the policy has forgotten it. The table therefore has the size of what the policy tracks,
//! including ghosts. The slots of a file are linked, so that the blocks of a truncated or changed file are found
//! without a search.

use std::hash::Hasher;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Place;
use rustc_hash::FxHasher;

use crate::policy::Slot;

/// No slot.
const NONE: Slot = Slot::MAX;

/// A slot's block.
#[derive(Clone, Debug)]
struct Entry<T> {
    /// The block's address, which is unique.
    address: u64,
    /// Its file; `None` if it belongs to no file.
    file: Option<u32>,
    value: T,
    /// The neighbours in the list of the file's slots.
    previous: Slot,
    next: Slot,
}

/// The slots by block address, with a value of the host for each: 24 bytes, a word of the table, and the value.
#[derive(Clone, Debug)]
pub struct Slots<T> {
    table: HashTable<Slot>,
    entries: Vec<Entry<T>>,
    free: Vec<Slot>,
    /// The first slot of each file.
    heads: Vec<Slot>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots { table: HashTable::new(), entries: Vec::new(), free: Vec::new(), heads: Vec::new() }
    }
}

fn hash(address: u64) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(address);
    hasher.finish()
}

impl<T> Slots<T> {
    /// Returns the slot of the block with this address, if it has one.
    pub fn find(&self, address: u64) -> Option<Slot> {
        self.table.find(hash(address), |&slot| self.entries[slot as usize].address == address).copied()
    }

    /// Returns the slot of the block of `file` with this address. A new block gets a free slot and `value`.
    pub fn slot(&mut self, address: u64, file: Option<u32>, value: impl FnOnce() -> T) -> Slot {
        let entries = &self.entries;
        let same = |&slot: &Slot| entries[slot as usize].address == address;
        let rehash = |&slot: &Slot| hash(entries[slot as usize].address);
        let slot = match self.table.entry(hash(address), same, rehash) {
            Place::Occupied(place) => return *place.get(),
            Place::Vacant(place) => {
                let slot = self.free.pop().unwrap_or(entries.len() as Slot);
                place.insert(slot);
                slot
            }
        };
        let entry = Entry { address, file, value: value(), previous: NONE, next: NONE };
        match self.entries.get_mut(slot as usize) {
            Some(free) => *free = entry,
            None => self.entries.push(entry),
        }
        self.link(slot);
        slot
    }

    /// Frees the slot for another block.
    pub fn forget(&mut self, slot: Slot) {
        let address = self.entries[slot as usize].address;
        if let Ok(place) = self.table.find_entry(hash(address), |&other| other == slot) {
            place.remove();
            self.unlink(slot);
            self.free.push(slot);
        }
    }

    /// Returns the address of the block in `slot`.
    pub fn address(&self, slot: Slot) -> u64 {
        self.entries[slot as usize].address
    }

    /// Returns the host's value for `slot`.
    pub fn value(&self, slot: Slot) -> &T {
        &self.entries[slot as usize].value
    }

    /// Returns the host's value for `slot`, mutably.
    pub fn value_mut(&mut self, slot: Slot) -> &mut T {
        &mut self.entries[slot as usize].value
    }

    /// True if a block of the file has a slot.
    pub fn has(&self, file: u32) -> bool {
        self.heads.get(file as usize).is_some_and(|&head| head != NONE)
    }

    /// Returns the slots of a file.
    pub fn of_file(&self, file: u32) -> Vec<Slot> {
        let head = self.heads.get(file as usize).copied().unwrap_or(NONE);
        let known = |slot: Slot| (slot != NONE).then_some(slot);
        std::iter::successors(known(head), |&slot| known(self.entries[slot as usize].next)).collect()
    }

    /// Returns every slot that is in use.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.table.iter().copied()
    }

    fn link(&mut self, slot: Slot) {
        let Some(file) = self.entries[slot as usize].file else { return };
        let file = file as usize;
        if file >= self.heads.len() {
            self.heads.resize(file + 1, NONE);
        }
        let next = std::mem::replace(&mut self.heads[file], slot);
        self.entries[slot as usize].next = next;
        if let Some(next) = self.entries.get_mut(next as usize) {
            next.previous = slot;
        }
    }

    fn unlink(&mut self, slot: Slot) {
        let Entry { file, previous, next, .. } = self.entries[slot as usize];
        let Some(file) = file else { return };
        match self.entries.get_mut(previous as usize) {
            Some(before) => before.next = next,
            None => self.heads[file as usize] = next,
        }
        if let Some(after) = self.entries.get_mut(next as usize) {
            after.previous = previous;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use crate::random::Rng;

    use super::*;

    /// Compares the table with a map while slots are added and freed.
    #[test]
    fn slots_are_found_used_again_and_listed_by_file() {
        let mut index = Slots::default();
        let mut model: HashMap<u64, Slot> = HashMap::new();
        let mut random = Rng::new(1);
        for _ in 0..20_000 {
            let (file, number) = (random.below(5), u64::from(random.below(40)));
            let address = u64::from(file) << 32 | number;
            assert_eq!(index.find(address), model.get(&address).copied());
            if random.below(2) == 0 {
                let slot = index.slot(address, Some(file), || number);
                assert_eq!(*model.entry(address).or_insert(slot), slot);
                assert_eq!((index.address(slot), *index.value(slot)), (address, number));
            } else if let Some(slot) = model.remove(&address) {
                index.forget(slot);
            }
            assert_eq!(model.values().collect::<HashSet<_>>().len(), model.len(), "two blocks in a slot");
            let listed: HashSet<Slot> = index.of_file(file).into_iter().collect();
            let expected: HashSet<Slot> =
                model.iter().filter(|(address, _)| (**address >> 32) as u32 == file).map(|(_, &slot)| slot).collect();
            assert_eq!(listed, expected);
        }
        assert!(index.entries.len() <= 200, "slots are used again");
    }
}
