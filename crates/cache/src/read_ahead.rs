//! Reading ahead of sequential readers.
//!
//! What is read ahead is not referenced, so the policy does not know it: it waits beside the frames until somebody asks
//! for it, or until newer reads push it out. So hits and misses are those of the policy alone; only the misses are
//! answered sooner, and in longer reads.
//!
//! A scheme may want blocks that nobody has asked for (`virtual`, `demote`): those are resident at once and read in the
//! same way.

use std::collections::HashMap;
use std::ops::Range;

use crate::files::FileNumber;
use crate::in_flight::{InFlight, Share};
use crate::runs::{Run, add_block, announce, run_bytes};
use crate::shared::Shared;
use crate::source::Source;
use crate::state::{Access, State};
use crate::stream::Stream;
use crate::sync::{Arc, Weak};
use crate::transfers::Announced;
use crate::workers::{Limits, Part, Room, Workers};

/// Bytes that may wait to be asked for, at most, and no more than a quarter of what may be in flight.
pub const BUDGET: u64 = 8 << 20;

/// The threads that read ahead. They end with the cache.
pub(crate) struct ReadAhead {
    shared: Arc<Shared>,
    workers: Workers,
    in_flight: InFlight,
}

/// Reads of one file and of all that may be under way: so many files that hang are needed before others are not read
/// ahead any more.
const LIMITS: Limits = Limits { part: 4, device: 64, all: 64 };

impl ReadAhead {
    pub fn new(shared: Arc<Shared>, in_flight: InFlight) -> ReadAhead {
        ReadAhead { shared, workers: Workers::new(LIMITS), in_flight }
    }

    /// Room for reads of a file, a thread and a place for the bytes. Where there is none nothing may be announced:
    /// whoever wants it would wait behind files that hang.
    fn room(&self, file: FileNumber, runs: &[Run]) -> Option<(Room, Arc<Share>)> {
        let room = self.workers.reserve(Part { device: 0, what: file.into() })?;
        Some((room, Arc::new(self.in_flight.try_take(file, run_bytes(runs))?)))
    }

    /// Has the source read on behind `range`, which was just read, if the reader goes through the file in order and
    /// finds it missing.
    pub fn follow(&self, access: &Access, stream: &Stream, range: &Range<u64>, missed: bool) {
        let ahead = stream.follow(range, missed);
        if ahead.is_empty() {
            return;
        }
        let mut state = self.shared.lock();
        let size = state.files[access.file as usize].size();
        let ahead = ahead.start..ahead.end.min(size);
        let mut runs = Vec::new();
        for block in state.decider.ahead(access.file, &ahead) {
            let index = &state.decider.frames().index;
            let resident = index.find(block.address).is_some_and(|slot| index.entry(slot).frame.is_some());
            if block.start >= ahead.start && !resident && state.transfers.find(access.file, block.address).is_none() {
                let below = state.decider.frames().tier.as_ref().and_then(|tier| tier.peek(&block));
                add_block(&mut runs, &block, size, below);
            }
        }
        if runs.is_empty() {
            return;
        }
        let Some((room, share)) = self.room(access.file, &runs) else { return };
        let announced = runs.into_iter().map(|run| {
            let transfer = announce(&mut state.transfers, access.file, &run, true, &share);
            let addresses = run.blocks.iter().map(|block| block.address).collect();
            state.staged.bytes += run.range.end - run.range.start;
            state.staged.runs.push_back((access.file, Arc::clone(&transfer), addresses));
            (run, transfer)
        });
        self.start(room, access.file, access.source.clone(), announced.collect());
        while state.staged.bytes > BUDGET.min(self.in_flight.limit() / 4)
            && let Some((file, transfer, addresses)) = state.staged.runs.pop_front()
        {
            state.staged.bytes -= transfer.range.end - transfer.range.start;
            addresses.iter().for_each(|&address| state.transfers.remove(file, address, &transfer));
        }
    }

    /// Has the source read what the policy wants to have though nobody has asked for it. What cannot be read now is
    /// read once somebody asks.
    pub fn bring(&self, state: &mut State) {
        let mut runs: HashMap<FileNumber, Vec<Run>> = HashMap::new();
        for slot in state.decider.take_missing() {
            let entry = state.decider.frames().index.entry(slot);
            let Some(file) = entry.block.file else { continue };
            let is_there = entry.frame.is_none() || !entry.valid.is_empty();
            let size = state.files[file as usize].size();
            if !is_there && entry.block.start < size && state.transfers.find(file, entry.block.address).is_none() {
                let below = state.decider.frames().tier.as_ref().and_then(|tier| tier.peek(&entry.block));
                add_block(runs.entry(file).or_default(), &entry.block, size, below);
            }
        }
        for (file, runs) in runs {
            let Some(source) = state.files[file as usize].source.as_ref().and_then(Weak::upgrade) else { continue };
            let Some((room, share)) = self.room(file, &runs) else { continue };
            let announced = runs.into_iter().map(|run| {
                let transfer = announce(&mut state.transfers, file, &run, false, &share);
                (run, transfer)
            });
            self.start(room, file, source, announced.collect());
        }
    }

    /// Has what was announced read by another thread.
    fn start(&self, room: Room, file: FileNumber, source: Arc<dyn Source>, announced: Vec<(Run, Announced)>) {
        let shared = self.shared.clone();
        self.workers.run_in(room, move || {
            let fetch =
                || announced.iter().for_each(|(run, transfer)| shared.fetch(file, source.as_ref(), run, transfer));
            // Whoever waits for it has been told.
            let _ = shared.contain(fetch);
        });
    }
}
