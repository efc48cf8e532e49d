//! Which block is where: what reading ahead needs to know of the files.

use std::collections::HashMap;

use hotset_core::policy::Slot;

/// Blocks of a trace by their addresses, a file in the high half and a block's number in the low one.
pub(super) struct Files {
    slots: HashMap<u64, Slot>,
    /// By file: its length in blocks, as far as the trace shows it.
    lengths: HashMap<u32, u32>,
}

impl Files {
    /// `addresses` by slot.
    pub fn of(addresses: &[u64]) -> Files {
        let mut lengths = HashMap::new();
        for &address in addresses {
            let length = lengths.entry((address >> 32) as u32).or_insert(0);
            *length = (address as u32).saturating_add(1).max(*length);
        }
        Files { slots: addresses.iter().copied().zip(0..).collect(), lengths }
    }

    /// The length of a file in blocks: it ends with the last block that the trace refers to.
    pub fn length(&self, file: u32) -> u32 {
        self.lengths.get(&file).copied().unwrap_or(0)
    }

    /// The slot of a block that the trace refers to.
    pub fn slot(&self, address: u64) -> Option<Slot> {
        self.slots.get(&address).copied()
    }
}
