//! Which block is where: from addresses to slots, and from slots to frames.

use std::ops::{Deref, DerefMut, Range};

use hotset_core::host::Slots;
use hotset_core::policy::Slot;

use crate::arena::Frame;

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

/// The block of a slot and its state.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub block: Block,
    /// Where its data is, if it is resident.
    pub frame: Option<Frame>,
    /// The bytes of the frame that are the file's; the others are not known.
    pub valid: Range<u32>,
    /// The application that has brought it in.
    pub app: u32,
    /// It was written since it came in, and not since it went to the source.
    pub is_dirty: bool,
    /// The bytes of the frame that wait to be written to the source.
    pub waiting: Range<u32>,
    /// It was referenced again since it came from the source.
    pub is_reused: bool,
}

/// The blocks that the policy knows.
#[derive(Default)]
pub(crate) struct BlockIndex(Slots<Entry>);

impl BlockIndex {
    /// The slot of `block`; one that is not known gets a free one.
    pub fn slot(&mut self, block: &Block) -> Slot {
        let entry = || Entry {
            block: *block,
            frame: None,
            valid: 0..0,
            app: 0,
            is_dirty: false,
            waiting: 0..0,
            is_reused: false,
        };
        self.0.slot(block.address, block.file, entry)
    }

    pub fn entry(&self, slot: Slot) -> &Entry {
        self.0.value(slot)
    }

    pub fn entry_mut(&mut self, slot: Slot) -> &mut Entry {
        self.0.value_mut(slot)
    }
}

impl Deref for BlockIndex {
    type Target = Slots<Entry>;

    fn deref(&self) -> &Slots<Entry> {
        &self.0
    }
}

impl DerefMut for BlockIndex {
    fn deref_mut(&mut self) -> &mut Slots<Entry> {
        &mut self.0
    }
}
