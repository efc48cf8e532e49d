//! One paging policy with one size of memory over a trace.

use std::sync::Arc;

use hotset_core::paging::{ACCESSED, DIRTY, Fault, Machine, PRESENT, Page, PageTable, PagingPolicy};

use super::body::{Body, LONG, Unpacker};
use super::held::{HeldMemory, WRITTEN};
use super::objects::LiveObjects;
use super::uses::Uses;

/// What becomes of the pages of an object that is freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frees {
    /// Pages that lie wholly in it lose their content and their frames, as when memory goes back to the system.
    #[default]
    Drop,
    /// Nothing, as when the program keeps freed memory for later.
    Keep,
}

/// What a cell counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// References, repeats counted.
    pub references: u64,
    /// References that found their page missing.
    pub faults: u64,
    /// Those of them after memory was full for the first time.
    pub faults_after_fill: u64,
    /// References and instructions made up to the fault that filled memory for the first time; `None` if it never was full.
    pub filled_at: Option<(u64, u64)>,
    /// Faults on pages that had been evicted before.
    pub refaults: u64,
    /// References made between these evictions and the faults, summed up.
    pub refault_distance: u128,
    /// Pages that were written to meanwhile when they were evicted.
    pub write_backs: u64,
}

/// A running cell whose policy is known only at run time.
pub(super) trait Cell: Send {
    /// Replays a block.
    fn run(&mut self, block: usize);
    fn tally(&self) -> Tally;
}

pub(super) struct PolicyCell<P> {
    trace: Arc<HeldMemory>,
    uses: Option<Arc<Uses>>,
    policy: P,
    frames: u32,
    frees: Frees,
    table: PageTable,
    live: LiveObjects,
    next_event: usize,
    unpacker: Unpacker,
    body: Body,
    /// By page: references made when it was evicted last, plus 1; 0 if it never was, or was freed since.
    evicted_at: Vec<u64>,
    tally: Tally,
}

/// The machine while a fault is handled.
struct Sight<'a> {
    trace: &'a HeldMemory,
    uses: Option<&'a Uses>,
    table: &'a mut PageTable,
    body: &'a Body,
    block: usize,
    /// The step that faults, within the block.
    step: usize,
}

impl Machine for Sight<'_> {
    #[inline(always)]
    fn test_and_clear(&mut self, page: Page) -> bool {
        self.table.test_and_clear(page)
    }

    fn next_use(&mut self, page: Page) -> Option<u64> {
        let places = &self.trace.entries[self.trace.entry_range(self.block)];
        let place = places.iter().position(|&entry| entry & !WRITTEN == page);
        let rest = &self.body.places()[self.step + 1..];
        let ahead = place.and_then(|place| rest.iter().position(|&other| usize::from(other) == place));
        match ahead {
            Some(ahead) => Some(self.trace.blocks[self.block].first_step + (self.step + 1 + ahead) as u64),
            None => self.uses.expect("offline policies are told the uses").after(self.trace, page, self.block),
        }
    }
}

impl<P: PagingPolicy> PolicyCell<P> {
    pub fn new(
        trace: Arc<HeldMemory>,
        uses: Option<Arc<Uses>>,
        policy: P,
        frames: u32,
        frees: Frees,
    ) -> std::io::Result<PolicyCell<P>> {
        let pages = trace.pages();
        Ok(PolicyCell {
            uses,
            policy,
            frames,
            frees,
            table: PageTable::new(pages),
            live: LiveObjects::default(),
            next_event: 0,
            unpacker: Unpacker::new()?,
            body: Body::default(),
            evicted_at: vec![0; pages as usize],
            tally: Tally { references: trace.references, ..Tally::default() },
            trace,
        })
    }

    /// Sets the bits of the block's pages, if all of them are resident.
    #[inline(always)]
    fn passes(&mut self, block: usize) -> bool {
        let entries = &self.trace.entries[self.trace.entry_range(block)];
        let table = self.table.entries_mut();
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
            if self.table.is_present(page) {
                bits |= ACCESSED;
            } else {
                self.fault(page, block, index, &body, reference);
            }
            self.table.entries_mut()[page as usize] |= bits;
            reference += u64::from(step.count);
            if step.count == LONG {
                reference += trace.long_count(trace.blocks[block].first_step + index as u64) - u64::from(LONG);
            }
        }
        self.body = body;
    }

    fn fault(&mut self, page: Page, block: usize, step: usize, body: &Body, reference: u64) {
        let trace = Arc::clone(&self.trace);
        let time = trace.blocks[block].first_step + step as u64;
        self.apply_events(time);
        let begin = trace.addresses[page as usize] * trace.page_bytes;
        let object = self.live.owner(begin..begin.saturating_add(trace.page_bytes));
        self.table.entries_mut()[page as usize] = PRESENT | ACCESSED;
        let uses = self.uses.as_deref();
        let mut sight = Sight { trace: &trace, uses, table: &mut self.table, body, block, step };
        let victim = self.policy.fault(Fault { page, time, object }, &mut sight);
        self.tally.faults += 1;
        self.tally.faults_after_fill += u64::from(self.tally.filled_at.is_some());
        if let Some(victim) = victim {
            self.tally.write_backs += u64::from(self.table.drop_page(victim));
            self.evicted_at[victim as usize] = reference + 1;
        }
        if let Some(evicted) = self.evicted_at[page as usize].checked_sub(1) {
            self.tally.refaults += 1;
            self.tally.refault_distance += u128::from(reference - evicted);
        }
        if self.tally.filled_at.is_none() && self.policy.len() == self.frames {
            self.tally.filled_at = Some((reference + 1, trace.blocks[block].first_instruction));
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
            self.policy.free(page);
            self.table.drop_page(page);
            self.evicted_at[page as usize] = 0;
        }
    }
}

impl<P: PagingPolicy> Cell for PolicyCell<P> {
    fn run(&mut self, block: usize) {
        self.apply_events(self.trace.blocks[block].first_step);
        if !self.passes(block) {
            self.walk(block);
        }
    }

    fn tally(&self) -> Tally {
        self.tally.clone()
    }
}
