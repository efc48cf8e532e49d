//! Reading ahead of readers that go through a file in order, or at one distance.
//!
//! Read-ahead is not referenced, so the policy does not see it: the bytes are staged outside of the frames until a
//! request uses them, or until newer reads displace them. So hits and misses are those of the policy alone; only the
//! misses are answered sooner, and in longer reads, many of which a distant source serves at once.
//!
//! A scheme may prefetch blocks (`virtual`, `demote`): those are resident at once and read in the same way.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Instant;

use crate::file_cache::runs::{Run, add_block, announce, find_block, run_bytes};
use crate::file_cache::shared::Shared;
use crate::file_cache::state::{Access, State};
use crate::os::sync::{Arc, Weak};
use crate::read_ahead::pace::Pace;
use crate::read_ahead::stream::{Found, PART, Stream};
use crate::source::Source;
use crate::source::files::FileNumber;
use crate::transfer::in_flight::{InFlight, Share};
use crate::transfer::transfers::{Announced, Transfer};
use crate::transfer::workers::{FailureDomain, Limits, Room, Workers};

/// Bytes that may wait to be asked for, at most, and no more than three eighths of what may be in flight.
pub const BUDGET: u64 = 256 << 20;

/// Part of the in-flight limit that is left to the reader itself, of the half that one file has: for a long read and
/// its answer.
const OWN: u64 = 2 << 20;

/// The threads that read ahead. They end with the cache.
pub(crate) struct ReadAhead {
    shared: Arc<Shared>,
    workers: Workers,
    in_flight: InFlight,
    pace: Arc<Pace>,
    /// A clone for each that is read ahead for.
    seats: Arc<()>,
}

/// Reads that may be under way.
const LIMITS: Limits = Limits { part: 256, device: 256, all: 256 };

/// Reads of one file, unless its source serves more at once: so many files that hang are needed before others are not
/// read ahead any more.
const OF_FILE: usize = 4;

impl ReadAhead {
    pub fn new(shared: Arc<Shared>, in_flight: InFlight) -> ReadAhead {
        ReadAhead {
            shared,
            workers: Workers::new(LIMITS),
            in_flight,
            pace: Arc::new(Pace::new()),
            seats: Arc::default(),
        }
    }

    /// Permits for reads of a file: a thread and a share of the limit. Without them nothing may be announced: a reader
    /// of it would wait behind files that hang.
    fn room(&self, file: FileNumber, source: &dyn Source, runs: &[Run]) -> Option<(Room, Arc<Share>)> {
        let room = self.thread(file, source)?;
        Some((room, Arc::new(self.in_flight.try_take(file, run_bytes(runs))?)))
    }

    fn thread(&self, file: FileNumber, source: &dyn Source) -> Option<Room> {
        self.workers.reserve_within(FailureDomain { device: 0, what: file.into() }, source.reads_at_once().max(OF_FILE))
    }

    /// Bytes that may wait to be asked for.
    pub fn budget(&self) -> u64 {
        let limit = self.in_flight.limit();
        (limit / 2).saturating_sub(OWN).clamp(limit / 4, limit / 8 * 3).min(BUDGET)
    }

    /// Has the source read on behind `range`, which was just read, if the reader goes through the file in order and
    /// finds it missing.
    pub fn follow(&self, access: &Access, stream: &Stream, range: &Range<u64>, found: Found) {
        let readers = Arc::strong_count(&self.seats).saturating_sub(1).max(1) as u64;
        // Beside what keeps the source busy, what is just being read, and what has just come.
        let most = (self.pace.worth() + 2 * PART).min(self.budget() / readers);
        let places = access.source.reads_at_once().max(OF_FILE) as u64;
        let ahead = stream.follow(range, found, (most, places), &self.seats);
        if ahead.row.is_empty() && ahead.apart.is_empty() {
            return;
        }
        let mut state = self.shared.lock();
        if ahead.apart.is_empty() {
            self.go_on(&mut state, access, stream, &ahead.row);
        } else {
            self.leap(&mut state, access, stream, &ahead.apart, most);
        }
        self.trim(&mut state);
    }

    /// Has the source read what comes next of a file that is read in order.
    fn go_on(&self, state: &mut State, access: &Access, stream: &Stream, ahead: &Range<u64>) {
        let size = state.files[access.file as usize].size();
        if ahead.end >= size {
            stream.end_at(size);
        }
        let ahead = ahead.start..ahead.end.min(size);
        let runs = state.missing(access.file, &ahead, ahead.start, size);
        // A disk does one thing after the other, and a thread that does it, too.
        let together = if access.source.reads_at_once() > 1 { 1 } else { runs.len().max(1) };
        let mut runs = runs.into_iter().peekable();
        while let Some(first) = runs.peek().map(|run| run.range.start) {
            let job: Vec<Run> = runs.by_ref().take(together).collect();
            if !self.begin(state, access.file, access.source, job, true) {
                stream.stop_at(first);
                break;
            }
        }
    }

    /// Has the source read the blocks of the next places of a file whose reads are always as far apart, `most` bytes of
    /// them with those that were read ahead before. Being short they do not tell how fast the source is.
    fn leap(&self, state: &mut State, access: &Access, stream: &Stream, places: &[Range<u64>], most: u64) {
        let size = state.files[access.file as usize].size();
        // More than that would push out what the same reader has not asked for yet.
        let blocks = state.decider.ahead(access.file, &places[0]);
        let bytes: u64 = blocks.iter().map(|block| u64::from(block.bytes)).sum();
        let left = (most / bytes.max(1)).saturating_sub(stream.leaps().saturating_sub(places.len() as u64));
        for (place, range) in (0..).zip(places).filter(|(_, range)| range.start < size) {
            let runs = state.missing(access.file, &(range.start..range.end.min(size)), 0, size);
            let begun = || runs.is_empty() || self.begin(state, access.file, access.source, runs, false);
            if place >= left || !begun() {
                return stream.give_back(places.len() as u64 - place);
            }
        }
    }

    /// Reads a file ahead that is used soon; of a large file the beginning, since a reader has the rest read ahead.
    /// False if the limits do not allow it.
    pub fn expect(&self, state: &mut State, file: FileNumber, source: &Arc<dyn Source>) -> bool {
        let size = state.files[file as usize].size().min(self.budget() / 8);
        state.decider.expect(file, size);
        let runs = state.missing(file, &(0..size), 0, size);
        let has_room = runs.is_empty() || self.begin(state, file, source, runs, false);
        self.trim(state);
        has_room
    }

    /// Starts read-ahead in another thread. False if the limits do not allow it. Measures the rate of the source where
    /// the read shows it.
    fn begin(
        &self,
        state: &mut State,
        file: FileNumber,
        source: &Arc<dyn Source>,
        runs: Vec<Run>,
        is_measured: bool,
    ) -> bool {
        let Some((room, share)) = self.room(file, source.as_ref(), &runs) else { return false };
        let announced = runs.into_iter().map(|run| {
            let transfer = announce(&mut state.transfers, file, &run, true, &share);
            let blocks = run.blocks.iter().map(|block| (block.address, u64::from(block.bytes))).collect();
            state.staged.add(file, &transfer, blocks);
            (run, transfer)
        });
        let announced = announced.collect();
        self.start(room, file, source.clone(), announced, is_measured);
        true
    }

    /// Drops what waits to be asked for longest, as far as there is too much.
    fn trim(&self, state: &mut State) {
        let budget = self.budget();
        while let Some((file, transfer, blocks)) = state.staged.pop_beyond(budget) {
            blocks.iter().for_each(|&(address, _)| state.transfers.remove(file, address, &transfer));
        }
    }

    /// Passes the announced runs of a read, except the first, to other threads, as far as the source serves several
    /// reads at once and there are threads. Returns the remaining runs, and the transfers to wait for.
    pub fn share(&self, access: &Access, runs: Vec<(Run, Announced)>) -> (Vec<(Run, Announced)>, Vec<Arc<Transfer>>) {
        let transfers = runs.iter().map(|(_, transfer)| Arc::clone(transfer)).collect();
        let (mut left, mut runs) = (Vec::new(), runs.into_iter());
        left.extend(runs.next());
        for run in runs {
            let is_worth_it = access.source.reads_at_once() > 1;
            match is_worth_it.then(|| self.thread(access.file, access.source.as_ref())).flatten() {
                Some(room) => self.start(room, access.file, access.source.clone(), vec![run], true),
                None => left.push(run),
            }
        }
        (left, transfers)
    }

    /// Reads the blocks that the policy has prefetched. A block that cannot be read now is read at its next reference.
    pub fn bring(&self, state: &mut State) {
        let mut runs: HashMap<FileNumber, Vec<Run>> = HashMap::new();
        for slot in state.decider.take_missing() {
            let entry = state.decider.frames().index.entry(slot);
            let Some(file) = entry.block.file else { continue };
            let is_there = entry.frame.is_none() || !entry.valid.is_empty();
            let size = state.files[file as usize].size();
            if !is_there && entry.block.start < size && state.transfers.find(file, entry.block.address).is_none() {
                let below = state.decider.frames().tier.as_ref().and_then(|tier| tier.peek(&entry.block));
                let runs = runs.entry(file).or_default();
                // It may have left meanwhile, and be wanted once more.
                if find_block(runs, &entry.block).is_none() {
                    add_block(runs, &entry.block, size, below);
                }
            }
        }
        for (file, runs) in runs {
            let Some(source) = state.files[file as usize].source.as_ref().and_then(Weak::upgrade) else { continue };
            let Some((room, share)) = self.room(file, source.as_ref(), &runs) else { continue };
            let announced = runs.into_iter().map(|run| {
                let transfer = announce(&mut state.transfers, file, &run, false, &share);
                (run, transfer)
            });
            self.start(room, file, source, announced.collect(), true);
        }
    }

    /// Has what was announced read by another thread.
    fn start(
        &self,
        room: Room,
        file: FileNumber,
        source: Arc<dyn Source>,
        announced: Vec<(Run, Announced)>,
        is_measured: bool,
    ) {
        let (shared, pace) = (self.shared.clone(), self.pace.clone());
        self.workers.run_in(room, move || {
            let fetch = || {
                for (run, transfer) in &announced {
                    let begun = Instant::now();
                    let bytes = shared.fetch(file, source.as_ref(), run, transfer);
                    if bytes > 0 && is_measured {
                        pace.note(bytes, begun.elapsed(), Instant::now());
                    }
                }
            };
            // The waiting readers already have the error.
            let _ = shared.contain(fetch);
        });
    }
}

impl State {
    /// Runs of what is neither resident nor being read of a part of a file of `size` bytes, in blocks that begin at
    /// `from` or later.
    fn missing(&self, file: FileNumber, range: &Range<u64>, from: u64, size: u64) -> Vec<Run> {
        let mut runs = Vec::new();
        for block in self.decider.ahead(file, range) {
            let index = &self.decider.frames().index;
            let resident = index.find(block.address).is_some_and(|slot| index.entry(slot).frame.is_some());
            if block.start >= from && !resident && self.transfers.find(file, block.address).is_none() {
                let below = self.decider.frames().tier.as_ref().and_then(|tier| tier.peek(&block));
                add_block(&mut runs, &block, size, below);
            }
        }
        runs
    }
}
