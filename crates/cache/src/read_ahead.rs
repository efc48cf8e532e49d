//! Reading ahead of sequential readers.
//!
//! What is read ahead is not referenced, so the policy does not know it: it waits beside the frames until somebody asks
//! for it, or until newer reads push it out. So hits and misses are those of the policy alone; only the misses are
//! answered sooner, and in longer reads.
//!
//! A scheme may want blocks that nobody has asked for (`virtual`, `demote`): those are resident at once and read in the
//! same way.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use crate::cache::{Access, FileNumber, State};
use crate::in_flight::{InFlight, Share};
use crate::read::{Run, add_block, announce, run_bytes};
use crate::shared::Shared;
use crate::source::Source;
use crate::sync::{Arc, Mutex, PoisonError, Weak};
use crate::transfers::{Announced, Transfer};
use crate::workers::{Limits, Part, Room, Workers};

/// Bytes that may wait to be asked for, at most, and no more than a quarter of what may be in flight.
pub const BUDGET: u64 = 8 << 20;

/// Bytes ahead of a reader: at first, and at most.
const WINDOW: Range<u64> = 128 << 10..1 << 20;

/// Reads in a row, each where the one before ended, that make a reader sequential.
const SEQUENTIAL: u32 = 2;

/// What was read through one open so far.
#[derive(Debug, Default)]
pub struct Stream(Mutex<Position>);

#[derive(Debug, Default)]
struct Position {
    /// Where the last read ended.
    next: u64,
    /// Reads in a row.
    run: u32,
    /// What lies before this is read or being read.
    ahead: u64,
    window: u64,
}

impl Position {
    /// Takes note of a read; gives the bytes to be read ahead.
    fn follow(&mut self, range: &Range<u64>, missed: bool) -> Range<u64> {
        if range.start != self.next {
            *self = Position::default();
        }
        (self.next, self.run) = (range.end, self.run + 1);
        if self.run < SEQUENTIAL || !missed || self.ahead > range.end + self.window / 2 {
            return 0..0;
        }
        self.window = (self.window * 2).clamp(WINDOW.start, WINDOW.end);
        let from = self.ahead.max(range.end);
        self.ahead = range.end + self.window;
        from..self.ahead
    }
}

/// What was read ahead, oldest first.
#[derive(Default)]
pub(crate) struct Staged {
    runs: VecDeque<(FileNumber, Arc<Transfer>, Vec<u64>)>,
    bytes: u64,
}

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
        let ahead = stream.0.lock().unwrap_or_else(PoisonError::into_inner).follow(range, missed);
        if ahead.is_empty() {
            return;
        }
        let mut state = self.shared.lock();
        let size = state.files[access.file as usize].size();
        let ahead = ahead.start..ahead.end.min(size);
        let mut runs = Vec::new();
        for block in state.decider.ahead(access.file, &ahead) {
            let index = &state.decider.host.index;
            let resident = index.find(block.address).is_some_and(|slot| index.entry(slot).frame.is_some());
            if block.start >= ahead.start && !resident && state.transfers.find(access.file, block.address).is_none() {
                add_block(&mut runs, &block, size);
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
        for slot in std::mem::take(&mut state.decider.host.missing) {
            let entry = state.decider.host.index.entry(slot);
            let Some(file) = entry.block.file else { continue };
            let is_there = entry.frame.is_none() || !entry.valid.is_empty();
            let size = state.files[file as usize].size();
            if !is_there && entry.block.start < size && state.transfers.find(file, entry.block.address).is_none() {
                add_block(runs.entry(file).or_default(), &entry.block, size);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sequential_reader_that_misses_is_followed() {
        let mut position = Position::default();
        assert_eq!(position.follow(&(0..4096), true), 0..0, "one read is no row");
        assert_eq!(position.follow(&(4096..8192), false), 0..0, "it is all there");
        assert_eq!(position.follow(&(8192..12288), true), 12288..12288 + (128 << 10));
        assert_eq!(position.follow(&(12288..16384), true), 0..0, "enough is on its way");
        let next = position.follow(&(16384..100_000), true);
        assert_eq!(next, 12288 + (128 << 10)..100_000 + (256 << 10));
        assert_eq!(position.follow(&(0..4096), true), 0..0, "it went back");
    }
}
