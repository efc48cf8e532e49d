//! From blocks to slots: by the block's dense number, or through a hash table where numbers would not fit in memory.

use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use hotset_core::policy::Slot;

use crate::intern::mix;

/// Finds the slot of a block. Results never depend on which directory is used.
pub(crate) trait Directory: Send {
    /// What names a block in a window.
    type Key: Copy + Send + Sync;
    /// The slot of `key`; a block that is not known gets a free one.
    fn slot(&mut self, key: Self::Key) -> Slot;
    /// The policy knows nothing of `slot` any more.
    fn forget(&mut self, slot: Slot);
    /// Slots handed out so far are below this.
    fn slots(&self) -> u32;
    /// Where the block lies: its file in the high 32 bits, its number in the file in the low ones.
    fn address(&self, key: Self::Key) -> u64;
    /// The slot of `key` if finding it needs no look-up, so that it is worth fetching ahead.
    fn slot_ahead(key: Self::Key) -> Option<Slot>;
}

/// A block's number is its slot: nothing to look up, nothing to recycle.
pub(crate) struct Dense {
    /// Addresses by number.
    pub addresses: Arc<[u64]>,
}

impl Directory for Dense {
    type Key = u32;

    #[inline(always)]
    fn slot(&mut self, key: u32) -> Slot {
        key
    }

    #[inline(always)]
    fn forget(&mut self, _slot: Slot) {}

    #[inline(always)]
    fn slots(&self) -> u32 {
        self.addresses.len() as u32
    }

    #[inline(always)]
    fn address(&self, key: u32) -> u64 {
        self.addresses[key as usize]
    }

    #[inline(always)]
    fn slot_ahead(key: u32) -> Option<Slot> {
        Some(key)
    }
}

/// A hash table from keys to slots; slots are recycled when forgotten, so memory follows the cache and not the
/// footprint.
#[derive(Default)]
pub(crate) struct Hashed {
    table: HashTable<Slot>,
    keys: Vec<u64>,
    free: Vec<Slot>,
}

impl Directory for Hashed {
    type Key = u64;

    fn slot(&mut self, key: u64) -> Slot {
        let keys = &mut self.keys;
        let found = self.table.entry(mix(key), |&slot| keys[slot as usize] == key, |&slot| mix(keys[slot as usize]));
        match found {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let slot = self.free.pop().unwrap_or(keys.len() as Slot);
                entry.insert(slot);
                if slot as usize == keys.len() {
                    keys.push(key);
                } else {
                    keys[slot as usize] = key;
                }
                slot
            }
        }
    }

    fn forget(&mut self, slot: Slot) {
        let key = self.keys[slot as usize];
        if let Ok(entry) = self.table.find_entry(mix(key), |&other| other == slot) {
            entry.remove();
            self.free.push(slot);
        }
    }

    fn slots(&self) -> u32 {
        self.keys.len() as u32
    }

    fn address(&self, key: u64) -> u64 {
        key
    }

    fn slot_ahead(_key: u64) -> Option<Slot> {
        None
    }
}
