//! Which block is where: from addresses to slots, and from slots to frames.
//!
//! A slot is used again once the policy has forgotten it, so the tables are as large as what the policy knows, ghosts
//! included. The slots of a file are linked, so that a file that is cut or changed is found again without a search.

use std::ops::Range;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Place;
use hotset_core::policy::Slot;
use rustc_hash::FxHasher;
use std::hash::Hasher;

use crate::arena::Frame;

/// No slot.
const NONE: Slot = Slot::MAX;

/// A block: its address, and what it is a block of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Its address, which no other block has.
    pub address: u64,
    /// The file; `None` for what belongs to none.
    pub file: Option<u32>,
    /// The first byte in the file.
    pub start: u64,
    /// Bytes.
    pub bytes: u32,
    /// The pool of its frames; `None` for inodes and directories, of which no data is kept.
    pub pool: Option<u8>,
}

impl Block {
    /// Its bytes in the file.
    pub fn range(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.bytes.into())
    }
}

/// What is known of a slot.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub block: Block,
    /// Where its data is, if it is resident.
    pub frame: Option<Frame>,
    /// The bytes of the frame that are the file's; the others are not known.
    pub valid: Range<u32>,
    /// The application that has brought it in.
    pub app: u32,
    /// Slots of the same file.
    previous: Slot,
    next: Slot,
}

/// The table.
#[derive(Default)]
pub(crate) struct BlockIndex {
    table: HashTable<Slot>,
    entries: Vec<Entry>,
    free: Vec<Slot>,
    /// By file, its first slot.
    heads: Vec<Slot>,
}

fn hash(address: u64) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(address);
    hasher.finish()
}

impl BlockIndex {
    /// The slot of the block with this address, if it has one.
    pub fn find(&self, address: u64) -> Option<Slot> {
        self.table.find(hash(address), |&slot| self.entries[slot as usize].block.address == address).copied()
    }

    /// The slot of `block`; one that is not known gets a free one.
    pub fn slot(&mut self, block: &Block) -> Slot {
        let entries = &self.entries;
        let same = |&slot: &Slot| entries[slot as usize].block.address == block.address;
        let rehash = |&slot: &Slot| hash(entries[slot as usize].block.address);
        let slot = match self.table.entry(hash(block.address), same, rehash) {
            Place::Occupied(place) => return *place.get(),
            Place::Vacant(place) => {
                let slot = self.free.pop().unwrap_or(entries.len() as Slot);
                place.insert(slot);
                slot
            }
        };
        let entry = Entry { block: *block, frame: None, valid: 0..0, app: 0, previous: NONE, next: NONE };
        match self.entries.get_mut(slot as usize) {
            Some(free) => *free = entry,
            None => self.entries.push(entry),
        }
        self.link(slot);
        slot
    }

    /// The slot may be given to another block.
    pub fn forget(&mut self, slot: Slot) {
        let address = self.entries[slot as usize].block.address;
        if let Ok(place) = self.table.find_entry(hash(address), |&other| other == slot) {
            place.remove();
            self.unlink(slot);
            self.free.push(slot);
        }
    }

    pub fn entry(&self, slot: Slot) -> &Entry {
        &self.entries[slot as usize]
    }

    pub fn entry_mut(&mut self, slot: Slot) -> &mut Entry {
        &mut self.entries[slot as usize]
    }

    /// True if a slot stands for a block of the file.
    pub fn has(&self, file: u32) -> bool {
        self.heads.get(file as usize).is_some_and(|&head| head != NONE)
    }

    /// The slots of a file.
    pub fn of_file(&self, file: u32) -> Vec<Slot> {
        let head = self.heads.get(file as usize).copied().unwrap_or(NONE);
        let known = |slot: Slot| (slot != NONE).then_some(slot);
        std::iter::successors(known(head), |&slot| known(self.entries[slot as usize].next)).collect()
    }

    /// Every slot that stands for a block.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.table.iter().copied()
    }

    fn link(&mut self, slot: Slot) {
        let Some(file) = self.entries[slot as usize].block.file else { return };
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
        let Entry { block, previous, next, .. } = self.entries[slot as usize].clone();
        let Some(file) = block.file else { return };
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

    use hotset_core::parts::random::Random;

    use super::*;

    /// Held against a map, with slots that come and go.
    #[test]
    fn slots_are_found_used_again_and_listed_by_file() {
        let mut index = BlockIndex::default();
        let mut model: HashMap<u64, Slot> = HashMap::new();
        let mut random = Random::new(1);
        for _ in 0..20_000 {
            let (file, number) = (random.below(5), u64::from(random.below(40)));
            let address = u64::from(file) << 32 | number;
            let block = Block { address, file: Some(file), start: number * 512, bytes: 512, pool: Some(0) };
            assert_eq!(index.find(address), model.get(&address).copied());
            if random.below(2) == 0 {
                let slot = index.slot(&block);
                assert_eq!(*model.entry(address).or_insert(slot), slot);
                assert_eq!(index.entry(slot).block, block);
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
