//! Where the blocks of a file have their addresses, and the pools of frames for their sizes.

use std::ops::Range;

use hotset_core::classify::Class;
use hotset_core::policy::dynamic::DynPolicy;
use hotset_core::view::View;

use crate::arena::PoolSize;
use crate::arena::block_index::Block;

/// Up to 2^32 blocks of one file in one space, which share the high half of their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressRange {
    pub high: u64,
    /// The first of the blocks.
    pub first: u64,
    pub bytes: u64,
    pub pool: u8,
}

impl AddressRange {
    /// The blocks that the bytes `range` of the file are in, as far as they are among these.
    pub fn blocks(self, file: u32, range: &Range<u64>) -> impl Iterator<Item = Block> + use<> {
        let AddressRange { high, first, bytes, pool } = self;
        let from = (range.start / bytes).max(first);
        let to = range.end.div_ceil(bytes).min(first + (1 << 32));
        (from..to).map(move |number| Block {
            address: high << 32 | (number - first),
            file: Some(file),
            start: number * bytes,
            bytes: bytes as u32,
            pool: Some(pool),
        })
    }
}

/// A pool for each part, or one for all.
pub(crate) fn pool_sizes(view: &View, policy: &dyn DynPolicy, block: u64, capacity: u32) -> Vec<PoolSize> {
    let Some(parts) = &view.parts else { return vec![PoolSize { block, frames: capacity }] };
    let frames = |part: usize| {
        let class = parts.of_class.iter().position(|&of| usize::from(of) == part);
        class.map_or(0, |class| policy.partitioned().map_or(u32::MAX, |policy| policy.room(class as Class)))
    };
    parts.block_bytes.iter().enumerate().map(|(part, &block)| PoolSize { block, frames: frames(part) }).collect()
}
