//! Numbers for blocks of any size of any part of a file.

use hotset_core::view::{Space, Spaces};

use crate::error::SimError;
use crate::intern::Interner;

/// Cuts byte ranges into numbered blocks. Numbers are dense, in the order of first appearance.
pub(super) struct Cutter {
    interner: Interner,
    spaces: Spaces,
    keys: Vec<u64>,
}

impl Cutter {
    pub fn new() -> Cutter {
        Cutter { interner: Interner::new(), spaces: Spaces::default(), keys: Vec::new() }
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
        self.keys.extend((offset / block..=last).map(|number| self.spaces.address(space, number)));
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
