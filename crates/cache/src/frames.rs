//! Blocks of files in frames: what lies in a cache of files.

use std::collections::HashMap;
use std::ops::Range;

use hotset_core::policy::{Note, Slot};

use crate::arena::{Arena, Frame};
use crate::block_index::{Block, BlockIndex};
use crate::division::Division;
use crate::error::CacheError;
use crate::files::FileNumber;
use hotset_core::host::Payload;

/// Where blocks are, and their data.
pub(crate) struct Frames {
    pub index: BlockIndex,
    pub arena: Arena,
    pub division: Division,
    pub inodes: Inodes,
}

/// The inodes that have left.
#[derive(Default)]
pub(crate) struct Inodes {
    /// Until somebody wants to know they are not written down.
    left: Option<Vec<FileNumber>>,
}

impl Inodes {
    pub fn follow(&mut self) {
        self.left.get_or_insert_default();
    }

    pub fn take(&mut self) -> Vec<FileNumber> {
        self.left.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The block has left: that of an inode if it belongs to a file, and none of its data is kept.
    fn left(&mut self, block: &Block) {
        if let (Some(left), Some(file), None) = (&mut self.left, block.file, block.pool) {
            left.push(file);
        }
    }
}

impl Payload for Frames {
    /// Makes sure that a resident block has a frame.
    fn admit(&mut self, slot: Slot) {
        let entry = self.index.entry_mut(slot);
        if let (None, Some(pool)) = (entry.frame, entry.block.pool) {
            entry.frame = self.arena.take(pool);
            entry.valid = 0..0;
        }
    }

    /// Gives the frame of `slot` back, if it has one.
    fn release(&mut self, slot: Slot) {
        let entry = self.index.entry_mut(slot);
        if let (Some(frame), Some(pool)) = (entry.frame.take(), entry.block.pool) {
            self.arena.release(pool, frame);
        }
        self.index.entry_mut(slot).valid = 0..0;
        self.inodes.left(&self.index.entry(slot).block);
    }

    fn forget(&mut self, slot: Slot) {
        self.index.forget(slot);
    }

    fn note(&mut self, note: &Note) {
        if let Note::Division(decision) = note {
            self.division.note(decision);
        }
    }
}

impl Frames {
    /// The bytes `range` of the file out of the block in `slot`, if all of them are there.
    pub fn data(&self, slot: Slot, range: &Range<u64>) -> Option<&[u8]> {
        let entry = self.index.entry(slot);
        let (from, to) = (range.start - entry.block.start, range.end - entry.block.start);
        let known = entry.valid.start as u64 <= from && to <= entry.valid.end as u64;
        let (frame, pool) = (entry.frame.filter(|_| known)?, entry.block.pool?);
        Some(&self.arena.frame(pool, frame)[from as usize..to as usize])
    }

    /// Puts `bytes`, which are the file's from `offset` on, into the block in `slot`, as far as they belong there and
    /// it is resident.
    pub fn fill(&mut self, slot: Slot, offset: u64, bytes: &[u8]) {
        let entry = self.index.entry_mut(slot);
        let (Some(frame), Some(pool)) = (entry.frame, entry.block.pool) else { return };
        let (from, to) = (offset.max(entry.block.start), (offset + bytes.len() as u64).min(entry.block.range().end));
        if from >= to {
            return;
        }
        let within = (from - entry.block.start) as u32..(to - entry.block.start) as u32;
        let bytes = &bytes[(from - offset) as usize..(to - offset) as usize];
        self.arena.frame_mut(pool, frame)[within.start as usize..within.end as usize].copy_from_slice(bytes);
        // What was known stays known if there is no gap.
        let joined = within.start <= entry.valid.end && entry.valid.start <= within.end && !entry.valid.is_empty();
        entry.valid = match joined {
            true => entry.valid.start.min(within.start)..entry.valid.end.max(within.end),
            false => within,
        };
    }

    /// Copies the bytes of `frame` into the frame of `slot`, of which `valid` are known.
    pub fn move_in(&mut self, slot: Slot, pool: u8, frame: Frame, valid: Range<u32>) {
        let entry = self.index.entry_mut(slot);
        if let Some(own) = entry.frame {
            self.arena.copy(pool, frame, own);
            entry.valid = valid;
        }
    }

    /// The bytes `range` of the file are not in the block in `slot` any more.
    pub fn invalidate(&mut self, slot: Slot, range: &Range<u64>) {
        let entry = self.index.entry_mut(slot);
        let clip = |at: u64| at.clamp(entry.block.start, entry.block.range().end) - entry.block.start;
        let gone = clip(range.start) as u32..clip(range.end) as u32;
        if gone.is_empty() || gone.end <= entry.valid.start || entry.valid.end <= gone.start {
            return;
        }
        // What is left in front is kept, what is left behind is not: one range is known of each block.
        entry.valid.end = gone.start.max(entry.valid.start);
    }

    /// All inodes leave.
    pub fn release_inodes(&mut self) {
        let Frames { index, inodes, .. } = self;
        index.slots().for_each(|slot| inodes.left(&index.entry(slot).block));
    }

    /// Changes how many frames a pool has.
    pub fn resize(&mut self, pool: u8, frames: u32) -> Result<(), CacheError> {
        if frames >= self.arena.size(pool).frames {
            return self.arena.extend(pool, frames);
        }
        let of_pool = |&slot: &Slot| self.index.entry(slot).block.pool == Some(pool);
        let framed = self.index.slots().filter(of_pool);
        let owners: HashMap<Frame, Slot> =
            framed.filter_map(|slot| Some((self.index.entry(slot).frame?, slot))).collect();
        let used: Vec<Frame> = owners.keys().copied().collect();
        let index = &mut self.index;
        self.arena.cut(pool, frames, &used, |from, to| index.entry_mut(owners[&from]).frame = Some(to))
    }
}
