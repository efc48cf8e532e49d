//! From blocks to slots: by the block's dense number, or through a hash table where numbers would not fit in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::hash_table::Entry;
use hashbrown::{HashMap, HashTable};
use hotset_core::policy::Slot;

use crate::window::{Event, What, Window};
use hotset_core::random::mix;

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
    /// The same for a slot that was handed out.
    fn address_of(&self, slot: Slot) -> u64;
    /// The slot of `key`, if it has one.
    fn find(&self, key: Self::Key) -> Option<Slot>;
    /// Appends the slots of the block and of those behind it in its file.
    fn find_from(&mut self, key: Self::Key, found: &mut Vec<Slot>);
    /// The slots of the blocks that `event` invalidates.
    fn slots_of(&mut self, window: &Window<Self::Key>, event: &Event) -> Vec<Slot> {
        let mut found = Vec::new();
        for &key in &window.event_keys[event.keys.clone()] {
            match event.what {
                What::RemoveFrom => self.find_from(key, &mut found),
                What::Remove | What::Elsewhere(_) => found.extend(self.find(key)),
            }
        }
        found
    }
    /// A slot for a block that the trace never refers to.
    fn place(&mut self, address: u64) -> Slot;
    /// The slot of `key` if finding it needs no look-up, so that it is worth fetching ahead.
    fn slot_ahead(key: Self::Key) -> Option<Slot>;
}

/// A block's number is its slot: nothing to look up, nothing to recycle.
pub(crate) struct Dense {
    /// Addresses by number.
    addresses: Arc<[u64]>,
    /// Addresses of blocks that the trace never refers to: their slots follow on those of the trace.
    others: Vec<u64>,
}

impl Dense {
    pub fn new(addresses: Arc<[u64]>) -> Dense {
        Dense { addresses, others: Vec::new() }
    }
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
        (self.addresses.len() + self.others.len()) as u32
    }

    #[inline(always)]
    fn address(&self, key: u32) -> u64 {
        self.addresses[key as usize]
    }

    fn address_of(&self, slot: Slot) -> u64 {
        let slot = slot as usize;
        self.addresses.get(slot).copied().unwrap_or_else(|| self.others[slot - self.addresses.len()])
    }

    fn find(&self, key: u32) -> Option<Slot> {
        Some(key)
    }

    fn find_from(&mut self, _key: u32, _found: &mut Vec<Slot>) {
        unreachable!("once blocks are numbered each is named")
    }

    fn place(&mut self, address: u64) -> Slot {
        self.others.push(address);
        self.slots() - 1
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
    /// The blocks of each file, once something was invalidated.
    files: Option<Files>,
}

/// By the high half of addresses: known blocks by the low half.
type Files = HashMap<u32, BTreeMap<u32, Slot>>;

fn note(files: &mut Files, key: u64, slot: Slot) {
    files.entry((key >> 32) as u32).or_default().insert(key as u32, slot);
}

impl Hashed {
    #[cold]
    fn index(&self) -> Files {
        let mut files = Files::new();
        self.table.iter().for_each(|&slot| note(&mut files, self.keys[slot as usize], slot));
        files
    }

    #[cold]
    fn forget_in(files: &mut Files, key: u64) {
        let high = (key >> 32) as u32;
        if let Some(blocks) = files.get_mut(&high) {
            blocks.remove(&(key as u32));
            if blocks.is_empty() {
                files.remove(&high);
            }
        }
    }
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
                if let Some(files) = &mut self.files {
                    note(files, key, slot);
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
            if let Some(files) = &mut self.files {
                Hashed::forget_in(files, key);
            }
        }
    }

    fn slots(&self) -> u32 {
        self.keys.len() as u32
    }

    fn address(&self, key: u64) -> u64 {
        key
    }

    fn address_of(&self, slot: Slot) -> u64 {
        self.keys[slot as usize]
    }

    fn find(&self, key: u64) -> Option<Slot> {
        self.table.find(mix(key), |&slot| self.keys[slot as usize] == key).copied()
    }

    fn find_from(&mut self, key: u64, found: &mut Vec<Slot>) {
        if self.files.is_none() {
            self.files = Some(self.index());
        }
        let blocks = self.files.as_ref().and_then(|files| files.get(&((key >> 32) as u32)));
        found.extend(blocks.into_iter().flat_map(|blocks| blocks.range(key as u32..).map(|(_, &slot)| slot)));
    }

    fn place(&mut self, address: u64) -> Slot {
        self.slot(address)
    }

    fn slot_ahead(_key: u64) -> Option<Slot> {
        None
    }
}
