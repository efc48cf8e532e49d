//! Blocks of files in frames: what lies in a cache of files.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::mpsc::Sender;

use hotset_core::policy::{Note, PartRoom, Repartition, Slot};

use crate::arena::block_index::{Block, BlockIndex, Entry};
use crate::arena::{Arena, Frame};
use crate::decide::unwritten::{LONGEST, Unwritten, WHOLE, Waiting, overlap};
use crate::error::CacheError;
use crate::source::files::FileNumber;
use crate::tier::Tier;
use hotset_core::host::Payload;

/// Where blocks are, and their data.
pub(crate) struct Frames {
    pub index: BlockIndex,
    pub arena: Arena,
    pub division: Division,
    pub inodes: Inodes,
    pub unwritten: Unwritten,
    /// The simulator's counts, where writes are not written through.
    pub write_backs: WriteBacks,
    /// Where blocks go that leave, if there is a second level.
    pub tier: Option<Tier>,
}

/// Blocks that were to go to the source: those that were written and have left since, and those that were written and
/// are not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteBacks {
    /// Of data.
    pub data: u64,
    /// Of inodes and directories, of which the cache has no data: the source keeps them itself.
    pub metadata: u64,
}

impl WriteBacks {
    fn count(&mut self, block: &Block) {
        match block.pool {
            Some(_) => self.data += 1,
            None => self.metadata += 1,
        }
    }
}

/// The inodes that have left.
#[derive(Default)]
pub(crate) struct Inodes {
    /// `None` until a host collects them.
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

    /// Frees the frame of `slot`, if it has one. Its dirty bytes are staged outside of the frames. Clean data goes to
    /// the tier.
    fn release(&mut self, slot: Slot) {
        self.send_down(slot);
        self.stage(slot);
        let entry = self.index.entry_mut(slot);
        if std::mem::take(&mut entry.is_dirty) {
            self.write_backs.count(&entry.block);
        }
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
    /// it is resident; gives where in the block they are.
    pub fn fill(&mut self, slot: Slot, offset: u64, bytes: &[u8]) -> Option<Range<u32>> {
        let entry = self.index.entry(slot);
        let (frame, pool) = (entry.frame?, entry.block.pool?);
        let (from, to) = (offset.max(entry.block.start), (offset + bytes.len() as u64).min(entry.block.range().end));
        if from >= to {
            return None;
        }
        let within = (from - entry.block.start) as u32..(to - entry.block.start) as u32;
        let bytes = &bytes[(from - offset) as usize..(to - offset) as usize];
        // Valid bytes stay valid if there is no gap.
        let is_joined = within.start <= entry.valid.end && entry.valid.start <= within.end && !entry.valid.is_empty();
        if !is_joined {
            self.stage(slot);
        }
        self.arena.frame_mut(pool, frame)[within.start as usize..within.end as usize].copy_from_slice(bytes);
        let valid = &mut self.index.entry_mut(slot).valid;
        *valid = if is_joined { hull(valid, &within) } else { within.clone() };
        Some(within)
    }

    /// The same for bytes that were written and that are not in the source: in a dirty block they stay dirty in its
    /// frame, and the range of the file's dirty bytes in it is updated. A frame has one dirty range; bytes that do not
    /// adjoin it are staged outside of the frames, so that only written bytes reach the source.
    pub fn write(&mut self, slot: Slot, offset: u64, bytes: &[u8]) -> Option<Range<u64>> {
        let within = self.fill(slot, offset, bytes)?;
        let Entry { block, is_dirty: true, waiting, .. } = self.index.entry(slot) else { return None };
        let (start, adjoins) = (block.start, waiting.start <= within.end && within.start <= waiting.end);
        if !adjoins {
            self.stage(slot);
        }
        let waiting = &self.index.entry(slot).waiting;
        let waiting = if waiting.is_empty() { within.clone() } else { hull(waiting, &within) };
        self.set_waiting(slot, waiting);
        Some(start + u64::from(within.start)..start + u64::from(within.end))
    }

    /// Passes the block in `slot` to the tier, if it is clean; memory evicts it.
    pub fn send_down(&mut self, slot: Slot) {
        let Some(tier) = &mut self.tier else { return };
        let Entry { block, frame, valid, is_dirty, waiting, is_reused, .. } = self.index.entry(slot);
        if let (Some(frame), Some(pool), Some(file)) = (*frame, block.pool, block.file)
            && !is_dirty
            && waiting.is_empty()
            && valid.start == 0
        {
            tier.leave(file, block.start, &self.arena.frame(pool, frame)[..valid.end as usize], *is_reused);
        }
    }

    /// The blocks that have a frame, by their places in their files.
    pub fn resident(&self) -> Vec<Slot> {
        let mut slots: Vec<Slot> = self.index.slots().filter(|&slot| self.index.entry(slot).frame.is_some()).collect();
        slots.sort_unstable_by_key(|&slot| self.index.entry(slot).block.address);
        slots
    }

    fn set_waiting(&mut self, slot: Slot, waiting: Range<u32>) {
        let Entry { block, waiting: known, .. } = self.index.entry_mut(slot);
        let (before, now) = (known.len() as u64, waiting.len() as u64);
        *known = if waiting.is_empty() { 0..0 } else { waiting };
        if let Some(file) = block.file.filter(|_| before + now > 0) {
            self.unwritten.framed(file, block.start, slot, before, now);
        }
    }

    /// Stages the dirty bytes in the frame of `slot` outside of the frames.
    fn stage(&mut self, slot: Slot) {
        let entry = self.index.entry(slot);
        let (Some(frame), Some(pool), Some(file)) = (entry.frame, entry.block.pool, entry.block.file) else { return };
        let (waiting, start) = (entry.waiting.clone(), entry.block.start);
        if !waiting.is_empty() {
            let bytes = self.arena.frame(pool, frame)[waiting.start as usize..waiting.end as usize].to_vec();
            self.unwritten.stage(file, start + u64::from(waiting.start), bytes);
            self.set_waiting(slot, 0..0);
        }
    }

    /// Stages all dirty bytes of frames. The blocks are clean afterwards.
    pub fn stage_all(&mut self) {
        let waits = |&slot: &Slot| !self.index.entry(slot).waiting.is_empty();
        let dirty: Vec<Slot> = self.index.slots().filter(waits).collect();
        dirty.into_iter().for_each(|slot| self.stage(slot));
    }

    /// The bytes of the file that wait in the frame of `slot` to be written.
    fn waiting(&self, slot: Slot) -> Range<u64> {
        let entry = self.index.entry(slot);
        let at = |within: u32| entry.block.start + u64::from(within);
        at(entry.waiting.start)..at(entry.waiting.end)
    }

    /// Bytes of the file that wait.
    pub fn waiting_bytes(&self, file: FileNumber) -> u64 {
        self.unwritten.of(file).map_or(0, |waiting| {
            let framed = waiting.blocks.iter().map(|&(_, slot)| self.index.entry(slot).waiting.len() as u64);
            framed.sum::<u64>() + waiting.staged_bytes()
        })
    }

    /// True if bytes in `range` of the file are not in the source yet.
    pub fn waits(&self, file: FileNumber, range: &Range<u64>) -> bool {
        self.unwritten.of(file).is_some_and(|waiting| {
            let is_framed =
                waiting.blocks_about(range, self.arena.largest()).any(|slot| overlap(&self.waiting(slot), range));
            is_framed || waiting.first_staged(range).is_some() || waiting.is_writing(range)
        })
    }

    /// Takes the bytes to be written next, in one piece: those of the file from the first dirty one in `range` on. They
    /// count as dirty until [`Unwritten::end_write`]. If they are all dirty bytes of the file, their blocks become
    /// clean; else the blocks keep their state for the scheme, which may never have to write them.
    pub fn begin_write(&mut self, file: FileNumber, range: &Range<u64>) -> Option<(u64, Vec<u8>)> {
        let waiting = self.unwritten.of(file)?;
        let framed = |slot: &Slot| overlap(&self.waiting(*slot), range);
        let largest = self.arena.largest();
        let first_framed = waiting.blocks_about(range, largest).find(framed).map(|slot| self.waiting(slot).start);
        let start = first_framed.into_iter().chain(waiting.first_staged(range)).min()?;
        let run = start..start.saturating_add(LONGEST);
        let within = |slot: &Slot| overlap(&self.waiting(*slot), &run);
        let blocks: Vec<Slot> = waiting.blocks_about(&run, largest).filter(within).collect();
        for slot in blocks {
            self.stage(slot);
            self.index.entry_mut(slot).is_dirty &= *range != WHOLE;
        }
        self.unwritten.begin_write(file, &run)
    }

    /// The file ends at `size`, or is deleted: dirty bytes beyond it are not written.
    pub fn discard(&mut self, file: FileNumber, size: u64) {
        let behind = size..u64::MAX;
        let about = |of: &Waiting| of.blocks_about(&behind, self.arena.largest()).collect();
        let blocks: Vec<Slot> = self.unwritten.of(file).map_or(Vec::new(), about);
        for slot in blocks {
            let Entry { block, waiting, .. } = self.index.entry(slot);
            let end = u64::from(waiting.end).min(size.saturating_sub(block.start)) as u32;
            let left = waiting.start..end.max(waiting.start);
            self.set_waiting(slot, left);
        }
        self.unwritten.discard(file, size);
    }

    /// The block in `slot` is worth nothing any more: it is not to be written, wherever.
    pub fn clean(&mut self, slot: Slot) {
        self.set_waiting(slot, 0..0);
        let entry = self.index.entry_mut(slot);
        (entry.is_dirty, entry.valid) = (false, 0..0);
    }

    /// The block in `slot`, of whichever kind, was written and is not kept, or is.
    pub fn note_write(&mut self, slot: Slot, is_bypassed: bool) {
        let entry = self.index.entry_mut(slot);
        match is_bypassed {
            true => self.write_backs.count(&entry.block),
            false => entry.is_dirty = true,
        }
    }

    /// Copies the bytes of `frame` into the frame of `slot`, of which `valid` are known.
    pub fn move_in(&mut self, slot: Slot, pool: u8, frame: Frame, valid: Range<u32>) {
        let entry = self.index.entry_mut(slot);
        if let Some(own) = entry.frame {
            self.arena.copy(pool, frame, own);
            entry.valid = valid;
        }
    }

    /// Invalidates the bytes `range` of the file in the block in `slot`, except its dirty bytes.
    pub fn invalidate(&mut self, slot: Slot, range: &Range<u64>) {
        let entry = self.index.entry_mut(slot);
        let clip = |at: u64| at.clamp(entry.block.start, entry.block.range().end) - entry.block.start;
        let gone = clip(range.start) as u32..clip(range.end) as u32;
        if gone.is_empty() || gone.end <= entry.valid.start || entry.valid.end <= gone.start {
            return;
        }
        // Each block has one valid range: the bytes in front stay valid, those behind do not.
        entry.valid = match entry.waiting.end <= gone.start {
            true => entry.valid.start..gone.start.max(entry.valid.start),
            false => entry.waiting.clone(),
        };
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

fn hull(one: &Range<u32>, other: &Range<u32>) -> Range<u32> {
    one.start.min(other.start)..one.end.max(other.end)
}

/// The division that holds, and how often it has changed.
#[derive(Default)]
pub(crate) struct Division {
    /// One for each application that there is; empty as long as nothing was divided.
    pub parts: Vec<PartRoom>,
    pub changes: u64,
    pub listener: Option<Sender<Repartition>>,
}

impl Division {
    /// Takes note of a decision. One that leaves everything as it is is none.
    pub fn note(&mut self, decision: &Repartition) {
        if self.parts == decision.parts {
            return;
        }
        self.parts.clone_from(&decision.parts);
        self.changes += 1;
        if let Some(listener) = &self.listener {
            // A receiver that has ended is ignored.
            let _ = listener.send(decision.clone());
        }
    }
}
