//! Where every page is referenced, by block: what OPT knows.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use hotset_core::policy::{NextUses, Slot};

use super::body::{Body, Unpacker};
use super::held::{HeldMemory, WRITTEN};

/// For every page the entries of the blocks that reference it.
#[derive(Debug)]
pub(super) struct Uses {
    /// Where those of a page begin in `entries`; one more at the end.
    begins: Vec<usize>,
    entries: Vec<u32>,
}

impl Uses {
    /// Sorts the entries of all blocks, of which there are fewer than 2^32, by page.
    pub fn new(trace: &HeldMemory) -> Uses {
        let pages = || trace.entries.iter().map(|&entry| (entry & !WRITTEN) as usize);
        let mut begins = vec![0; trace.addresses.len() + 1];
        pages().for_each(|page| begins[page + 1] += 1);
        for page in 0..trace.addresses.len() {
            begins[page + 1] += begins[page];
        }
        let mut next = begins.clone();
        let mut entries = vec![0; trace.entries.len()];
        for (entry, page) in pages().enumerate() {
            entries[next[page]] = entry as u32;
            next[page] += 1;
        }
        Uses { begins, entries }
    }

    /// The step that references `page` first behind a block.
    pub fn after(&self, trace: &HeldMemory, page: Slot, block: usize) -> Option<u64> {
        let of_page = &self.entries[self.begins[page as usize]..self.begins[page as usize + 1]];
        let behind = trace.blocks[block].entries_end;
        let &entry = of_page.get(of_page.partition_point(|&entry| (entry as usize) < behind))?;
        let block = trace.blocks.partition_point(|block| block.entries_end <= entry as usize);
        Some(trace.blocks[block].first_step + u64::from(trace.firsts[entry as usize]))
    }
}

/// A cell's knowledge of the future. The last queried block stays unpacked: queries are near the current position.
pub(super) struct Ahead {
    trace: Arc<HeldMemory>,
    uses: Arc<Uses>,
    unpacked: Mutex<Unpacked>,
}

struct Unpacked {
    unpacker: Unpacker,
    block: Option<usize>,
    body: Body,
}

impl Ahead {
    pub fn new(trace: &Arc<HeldMemory>, uses: &Arc<Uses>) -> io::Result<Ahead> {
        let unpacked = Unpacked { unpacker: Unpacker::new()?, block: None, body: Body::default() };
        Ok(Ahead { trace: trace.clone(), uses: uses.clone(), unpacked: Mutex::new(unpacked) })
    }
}

impl NextUses for Ahead {
    fn after(&self, page: Slot, time: u64) -> Option<u64> {
        let trace = &self.trace;
        let block = trace.blocks.partition_point(|block| block.first_step <= time).checked_sub(1)?;
        let places = &trace.entries[trace.entry_range(block)];
        let in_block = places.iter().position(|&entry| entry & !WRITTEN == page).and_then(|place| {
            let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
            let Unpacked { unpacker, block: last, body } = &mut *unpacked;
            if *last != Some(block) {
                trace.unpack(block, unpacker, body);
                *last = Some(block);
            }
            let next = (time - trace.blocks[block].first_step) as usize + 1;
            let ahead = body.places().get(next..)?.iter().position(|&other| usize::from(other) == place)?;
            Some(time + 1 + ahead as u64)
        });
        in_block.or_else(|| self.uses.after(trace, page, block))
    }
}
