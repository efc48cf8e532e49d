//! One policy with one size of memory over a trace.

use std::sync::Arc;

use hotset_core::policy::dynamic::DynPolicy;
use hotset_core::policy::{Effects, Extra, Note, Outcome, Reference, Slot};

use super::body::{Body, LONG, Unpacker};
use super::held::{HeldMemory, WRITTEN};
use super::objects::LiveObjects;
use super::table::{ACCESSED, DIRTY, PRESENT, PageTable};

/// What becomes of the pages of an object that is freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frees {
    /// Pages that lie wholly in it lose their content and their frames, as when memory goes back to the system.
    #[default]
    Drop,
    /// Nothing, as when the program keeps freed memory for later.
    Keep,
}

/// The counts of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PagingTally {
    /// References, repeats counted.
    pub references: u64,
    /// References that found their page missing.
    pub faults: u64,
    /// Those of them after memory was full for the first time.
    pub faults_after_fill: u64,
    /// References and instructions made up to the fault that filled memory for the first time; `None` if it never was
    /// full.
    pub filled_at: Option<(u64, u64)>,
    /// Faults on pages that had been evicted before.
    pub refaults: u64,
    /// References made between these evictions and the faults, summed up.
    pub refault_distance: u128,
    /// Pages that were written to meanwhile when they were evicted.
    pub write_backs: u64,
}

/// A running cell. Its policy is called for references to pages that are not resident, on which one virtual call is
/// lost.
pub(super) struct Cell {
    trace: Arc<HeldMemory>,
    policy: Box<dyn DynPolicy>,
    frames: u32,
    frees: Frees,
    memory: Memory,
    live: LiveObjects,
    next_event: usize,
    unpacker: Unpacker,
    body: Body,
    tally: PagingTally,
}

/// The memory as the policy sees it.
struct Memory {
    table: PageTable,
    /// By page: references made when it was evicted last, plus 1; 0 if it never was, or was freed since.
    evicted_at: Vec<u64>,
    /// References made.
    now: u64,
    write_backs: u64,
}

impl Effects for Memory {
    fn evict(&mut self, page: Slot) {
        self.write_backs += u64::from(self.table.drop_page(page));
        self.evicted_at[page as usize] = self.now + 1;
    }

    /// Pages keep their numbers.
    fn forget(&mut self, _page: Slot) {}

    fn fetch(&mut self, page: Slot, _why: Extra) {
        self.table.entries_mut()[page as usize] = PRESENT;
    }

    #[inline(always)]
    fn take_accessed(&mut self, page: Slot) -> bool {
        self.table.test_and_clear(page)
    }

    fn storage_busy(&self) -> Option<u64> {
        None
    }

    fn note(&mut self, _note: &Note) {}
}

impl Cell {
    pub fn new(trace: Arc<HeldMemory>, policy: Box<dyn DynPolicy>, frames: u32, frees: Frees) -> std::io::Result<Cell> {
        let pages = trace.pages();
        Ok(Cell {
            policy,
            frames,
            frees,
            memory: Memory {
                table: PageTable::new(pages),
                evicted_at: vec![0; pages as usize],
                now: 0,
                write_backs: 0,
            },
            live: LiveObjects::default(),
            next_event: 0,
            unpacker: Unpacker::new()?,
            body: Body::default(),
            tally: PagingTally { references: trace.references, ..PagingTally::default() },
            trace,
        })
    }

    /// Replays a block.
    pub fn run(&mut self, block: usize) {
        self.apply_events(self.trace.blocks[block].first_step);
        if !self.passes(block) {
            self.walk(block);
        }
    }

    /// The counts so far.
    pub fn tally(&self) -> PagingTally {
        PagingTally { write_backs: self.memory.write_backs, ..self.tally.clone() }
    }

    /// Sets the bits of the block's pages, if all of them are resident.
    #[inline(always)]
    fn passes(&mut self, block: usize) -> bool {
        let entries = &self.trace.entries[self.trace.entry_range(block)];
        let table = self.memory.table.entries_mut();
        let present = entries.iter().fold(PRESENT, |all, &entry| all & table[(entry & !WRITTEN) as usize]);
        if present == 0 {
            return false;
        }
        for &entry in entries {
            table[(entry & !WRITTEN) as usize] |= ACCESSED | if entry & WRITTEN != 0 { DIRTY } else { 0 };
        }
        true
    }

    /// Goes through the block step by step.
    fn walk(&mut self, block: usize) {
        let trace = Arc::clone(&self.trace);
        let mut body = std::mem::take(&mut self.body);
        trace.unpack(block, &mut self.unpacker, &mut body);
        let places = &trace.entries[trace.entry_range(block)];
        let mut reference = trace.blocks[block].first_reference;
        for (index, step) in body.steps().enumerate() {
            let page = places[usize::from(step.place)] & !WRITTEN;
            // The repeats of the reference that faults are the same access: the policy says whether it counts.
            let mut bits = if step.writes { DIRTY } else { 0 };
            if self.memory.table.is_present(page) {
                bits |= ACCESSED;
            } else {
                self.fault(page, block, index, reference);
            }
            self.memory.table.entries_mut()[page as usize] |= bits;
            reference += u64::from(step.count);
            if step.count == LONG {
                reference += trace.long_count(trace.blocks[block].first_step + index as u64) - u64::from(LONG);
            }
        }
        self.body = body;
    }

    fn fault(&mut self, page: Slot, block: usize, step: usize, made: u64) {
        let time = self.trace.blocks[block].first_step + step as u64;
        self.apply_events(time);
        let (address, page_bytes) = (self.trace.addresses[page as usize], self.trace.page_bytes);
        let begin = address * page_bytes;
        let reference = Reference {
            time,
            file: (address >> 32) as u32,
            block: address as u32,
            object: self.live.owner(begin..begin.saturating_add(page_bytes)),
            ..Reference::default()
        };
        self.memory.now = made;
        if self.policy.access(page, reference, &mut self.memory) == Outcome::Admitted {
            self.memory.table.entries_mut()[page as usize] = PRESENT;
        }
        self.tally.faults += 1;
        self.tally.faults_after_fill += u64::from(self.tally.filled_at.is_some());
        if let Some(evicted) = self.memory.evicted_at[page as usize].checked_sub(1) {
            self.tally.refaults += 1;
            self.tally.refault_distance += u128::from(made - evicted);
        }
        if self.tally.filled_at.is_none() && self.policy.len() == self.frames {
            self.tally.filled_at = Some((made + 1, self.trace.blocks[block].first_instruction));
        }
    }

    /// Applies the events before a step.
    #[inline(always)]
    fn apply_events(&mut self, step: u64) {
        while let Some(&event) = self.trace.events.get(self.next_event).filter(|event| event.at <= step) {
            self.next_event += 1;
            match event.born {
                Some(object) => self.live.insert(event.address, object),
                None => self.free(event.address),
            }
        }
    }

    #[cold]
    fn free(&mut self, address: u64) {
        let Some(bytes) = self.live.remove(address) else { return };
        if self.frees == Frees::Keep {
            return;
        }
        let size = self.trace.page_bytes;
        let trace = Arc::clone(&self.trace);
        for &page in trace.pages_between(bytes.start.div_ceil(size), bytes.end / size) {
            self.policy.remove(page, &mut self.memory);
            self.memory.table.drop_page(page);
            self.memory.evicted_at[page as usize] = 0;
        }
    }
}
