//! Where every page is referenced, by block: what OPT knows.

use hotset_core::paging::Page;

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
    pub fn after(&self, trace: &HeldMemory, page: Page, block: usize) -> Option<u64> {
        let of_page = &self.entries[self.begins[page as usize]..self.begins[page as usize + 1]];
        let behind = trace.blocks[block].entries_end;
        let &entry = of_page.get(of_page.partition_point(|&entry| (entry as usize) < behind))?;
        let block = trace.blocks.partition_point(|block| block.entries_end <= entry as usize);
        Some(trace.blocks[block].first_step + u64::from(trace.firsts[entry as usize]))
    }
}
