//! Reading a memory trace into blocks.

use std::collections::{BTreeMap, VecDeque};

use hotset_core::policy::{Object, Slot};
use hotset_trace::memory::{MemoryBatch, MemoryReader, ObjectEvent, ObjectOp, PageRun};
use rustc_hash::FxHashMap;

use super::body::{LONG, MOST_STEPS, Packer, Step};
use super::held::{Block, Event, HeldMemory, MOST_PLACES, WRITTEN};
use super::objects::LiveObjects;
use crate::error::SimError;
use crate::progress::Progress;

/// Reads a memory trace to its end, into at most `memory_bytes` bytes.
pub fn hold(reader: &mut dyn MemoryReader, memory_bytes: u64, progress: &dyn Progress) -> Result<HeldMemory, SimError> {
    let mut builder = Builder::new(reader.memory_meta().page_bytes)?;
    let mut batch = MemoryBatch::default();
    loop {
        reader.read_memory(&mut batch)?;
        if batch.is_empty() {
            return builder.finish();
        }
        builder.pending.extend(batch.events.drain(..));
        let before = builder.held.references;
        for &run in &batch.runs {
            builder.push(run)?;
        }
        builder.held.instructions = batch.instructions;
        progress.advance(builder.held.references - before);
        if builder.held.memory_bytes() + builder.ids.memory_bytes() > memory_bytes {
            return Err(SimError::MemoryTrace { pages: builder.held.pages(), mebibytes: memory_bytes >> 20 });
        }
    }
}

struct Builder {
    held: HeldMemory,
    page_shift: u32,
    ids: Ids,
    /// By page: the block that it was seen in last, and its place there.
    seen: Vec<(u32, u8)>,
    packer: Packer,
    pending: VecDeque<ObjectEvent>,
    live: LiveObjects,
    /// Where the entries of the block at hand begin.
    entries_begin: usize,
    /// The state before the current block.
    begun: Block,
}

/// Numbers pages in the order of their first references.
#[derive(Default)]
struct Ids {
    /// Address and page, by the low bits of the address.
    recent: Vec<(u64, Slot)>,
    all: FxHashMap<u64, Slot>,
    sorted: BTreeMap<u64, Slot>,
}

const RECENT: usize = 4096;

impl Ids {
    fn memory_bytes(&self) -> u64 {
        self.all.capacity() as u64 * 17 + self.sorted.len() as u64 * 32
    }
}

impl Builder {
    fn new(page_bytes: u32) -> Result<Builder, SimError> {
        let packer = Packer::new().map_err(SimError::Packer)?;
        let begun =
            Block { first_step: 0, steps: 0, first_reference: 0, first_instruction: 0, entries_end: 0, body_end: 0 };
        Ok(Builder {
            held: HeldMemory { page_bytes: page_bytes.into(), ..HeldMemory::default() },
            page_shift: page_bytes.trailing_zeros(),
            ids: Ids { recent: vec![(u64::MAX, 0); RECENT], ..Ids::default() },
            seen: Vec::new(),
            packer,
            pending: VecDeque::new(),
            live: LiveObjects::default(),
            entries_begin: 0,
            begun,
        })
    }

    /// Appends a run, cut where events happen within it.
    #[inline(always)]
    fn push(&mut self, run: PageRun) -> Result<(), SimError> {
        let page = self.page(run.page)?;
        self.held.writes += run.writes;
        if self.pending.front().is_some_and(|event| event.at < self.held.references.saturating_add(run.references)) {
            return self.push_cut(page, run);
        }
        self.step(page, run.references, run.writes > 0)
    }

    #[cold]
    fn push_cut(&mut self, page: Slot, run: PageRun) -> Result<(), SimError> {
        let (mut left, mut writes) = (run.references, run.writes);
        while let Some(event) = self.pending.pop_front() {
            let before = event.at.saturating_sub(self.held.references);
            if before >= left {
                self.pending.push_front(event);
                break;
            }
            if before > 0 {
                // Which of the references write is not known; the first may as well.
                self.step(page, before, writes > 0)?;
                writes = writes.saturating_sub(before);
                left -= before;
            }
            self.event(&event)?;
        }
        self.step(page, left, writes > 0)
    }

    #[inline(always)]
    fn page(&mut self, address: u64) -> Result<Slot, SimError> {
        let recent = &mut self.ids.recent[address as usize % RECENT];
        if recent.0 == address {
            return Ok(recent.1);
        }
        let next = self.seen.len();
        let page = *self.ids.all.entry(address).or_insert(next as Slot);
        *recent = (address, page);
        if page as usize == next {
            if page == WRITTEN {
                return Err(SimError::TooManyBlocks);
            }
            self.seen.push((u32::MAX, 0));
            self.held.addresses.push(address);
            self.ids.sorted.insert(address, page);
        }
        Ok(page)
    }

    #[inline(always)]
    fn step(&mut self, page: Slot, references: u64, writes: bool) -> Result<(), SimError> {
        let is_new = self.seen[page as usize].0 != self.held.blocks.len() as u32;
        let places = self.held.entries.len() - self.entries_begin;
        if self.packer.len() == MOST_STEPS || (is_new && places == MOST_PLACES) {
            self.close()?;
        }
        let block = self.held.blocks.len() as u32;
        let seen = &mut self.seen[page as usize];
        if seen.0 != block {
            *seen = (block, (self.held.entries.len() - self.entries_begin) as u8);
            self.held.entries.push(page);
            self.held.firsts.push(self.packer.len() as u16);
        }
        let place = seen.1;
        if writes {
            self.held.entries[self.entries_begin + usize::from(place)] |= WRITTEN;
        }
        if references >= u64::from(LONG) {
            self.held.long.push((self.held.steps, references));
        }
        self.packer.push(Step { place, count: references.min(LONG.into()) as u8, writes });
        self.held.steps += 1;
        self.held.references = self.held.references.saturating_add(references);
        Ok(())
    }

    /// Ends the block at hand, if it has begun.
    fn close(&mut self) -> Result<(), SimError> {
        if self.packer.len() > 0 {
            let steps = self.packer.len() as u32;
            self.packer.finish(&mut self.held.bodies).map_err(SimError::Packer)?;
            let (entries_end, body_end) = (self.held.entries.len(), self.held.bodies.len());
            self.held.blocks.push(Block { steps, entries_end, body_end, ..self.begun });
            self.entries_begin = entries_end;
        }
        self.begun.first_step = self.held.steps;
        self.begun.first_reference = self.held.references;
        self.begun.first_instruction = self.held.instructions;
        Ok(())
    }

    /// Takes an event in. One that frees pages stands between two blocks, so that it need not be looked for within
    /// them.
    fn event(&mut self, event: &ObjectEvent) -> Result<(), SimError> {
        let mut born = None;
        if event.op == ObjectOp::Free {
            let Some(bytes) = self.live.remove(event.address) else {
                self.held.unknown_frees += 1;
                return Ok(());
            };
            let (first, end) = (bytes.start.div_ceil(self.held.page_bytes), bytes.end >> self.page_shift);
            if first < end && self.ids.sorted.range(first..end).next().is_some() {
                self.close()?;
            }
        } else {
            let is_global = event.op == ObjectOp::Global;
            let object = Object { id: self.held.objects, bytes: event.bytes, is_global };
            self.held.objects += 1;
            self.live.insert(event.address, object);
            born = Some(object);
        }
        self.held.events.push(Event { at: self.held.steps, address: event.address, born });
        Ok(())
    }

    fn finish(mut self) -> Result<HeldMemory, SimError> {
        self.close()?;
        self.held.by_address = self.ids.sorted.into_values().collect();
        Ok(self.held)
    }
}
