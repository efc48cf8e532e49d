//! Numbers for blocks of any size of any part of a file.

use hashbrown::HashMap;

use super::names::Object;
use crate::error::SimError;
use crate::intern::Interner;

/// What a block is a block of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Space {
    pub object: Object,
    /// The inode, not the data.
    pub inode: bool,
    /// The part of the cache that the block belongs to.
    pub part: u8,
}

/// Cuts byte ranges into numbered blocks. Numbers are dense, in the order of first appearance.
pub(super) struct Cutter {
    interner: Interner,
    /// A number for each space, and for each 2^32 blocks of it.
    spaces: HashMap<(Space, u32), u32>,
    keys: Vec<u64>,
}

impl Cutter {
    pub fn new() -> Cutter {
        Cutter { interner: Interner::new(), spaces: HashMap::new(), keys: Vec::new() }
    }

    /// Appends the numbers of the blocks of `block` bytes that bytes `offset..offset + length` touch.
    pub fn cut(
        &mut self,
        space: Space,
        block: u64,
        offset: u64,
        length: u64,
        ids: &mut Vec<u32>,
    ) -> Result<(), SimError> {
        if length == 0 {
            return Ok(());
        }
        let last = offset.saturating_add(length - 1) / block;
        self.keys.clear();
        for number in offset / block..=last {
            let next = self.spaces.len() as u32;
            let at = *self.spaces.entry((space, (number >> 32) as u32)).or_insert(next);
            self.keys.push(u64::from(at) << 32 | number & 0xffff_ffff);
        }
        Ok(self.interner.intern(&self.keys, ids)?)
    }

    /// Blocks numbered so far.
    pub fn distinct(&self) -> u32 {
        self.interner.len()
    }

    /// For each block, its space in the high 32 bits and its number there in the low ones.
    pub fn into_addresses(self) -> Vec<u64> {
        self.interner.into_keys()
    }
}
