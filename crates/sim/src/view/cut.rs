//! Numbers for blocks of any size of any part of a file.

use std::ops::Range;

use hotset_core::view::{Space, Spaces};

use crate::error::SimError;
use crate::expand::PIECE;
use crate::intern::Interner;

/// The blocks of `block` bytes that bytes `offset..offset + length` touch, a piece at a time.
pub(super) fn pieces(block: u64, offset: u64, length: u64) -> impl Iterator<Item = Range<u64>> {
    let end = match length {
        0 => offset / block,
        // No number is left for a block that ends with the last byte there is.
        length => (offset.saturating_add(length - 1) / block).saturating_add(1),
    };
    (offset / block..end).step_by(PIECE).map(move |first| first..end.min(first.saturating_add(PIECE as u64)))
}

/// Numbers blocks. Numbers are dense, in the order of first appearance.
pub(super) struct Cutter {
    interner: Interner,
    spaces: Spaces,
    keys: Vec<u64>,
}

impl Cutter {
    pub fn new() -> Cutter {
        Cutter { interner: Interner::new(), spaces: Spaces::default(), keys: Vec::new() }
    }

    /// Appends the numbers of these blocks of `space`.
    pub fn number(&mut self, space: Space, blocks: Range<u64>, ids: &mut Vec<u32>) -> Result<(), SimError> {
        self.keys.clear();
        self.keys.extend(blocks.map(|number| self.spaces.address(space, number)));
        Ok(self.interner.intern(&self.keys, ids)?)
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> u64 {
        self.interner.memory_bytes()
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
