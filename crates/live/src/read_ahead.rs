//! Reading ahead of sequential readers.
//!
//! What is read ahead is not referenced, so the policy does not know it: it waits beside the frames until somebody asks for it, or until newer
//! reads push it out. So hits and misses are those of the policy alone; only the misses are answered sooner, and in longer reads.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::cache::{Access, FileNumber, Shared};
use crate::read::{Run, add_block, announce};
use crate::source::Source;
use crate::transfers::Transfer;

/// Bytes that may wait to be asked for, at most.
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

/// A read of a run that nobody has asked for.
struct Job {
    file: FileNumber,
    source: Arc<dyn Source>,
    run: Run,
    transfer: Arc<Transfer>,
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
    jobs: Mutex<Sender<Job>>,
}

impl ReadAhead {
    pub fn new(shared: Arc<Shared>) -> ReadAhead {
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..THREADS {
            let (shared, queue) = (shared.clone(), queue.clone());
            thread::spawn(move || {
                loop {
                    let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(Job { file, source, run, transfer }) = job else { return };
                    shared.fetch(file, source.as_ref(), &run, &transfer);
                }
            });
        }
        ReadAhead { shared, jobs: Mutex::new(jobs) }
    }

    /// Has the source read on behind `range`, which was just read, if the reader goes through the file in order and finds it missing.
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
            let directory = &state.decider.host.directory;
            let resident = directory.find(block.address).is_some_and(|slot| directory.entry(slot).frame.is_some());
            if block.start >= ahead.start && !resident && state.transfers.find(access.file, block.address).is_none() {
                add_block(&mut runs, &block, size);
            }
        }
        for run in runs {
            let transfer = announce(&mut state.transfers, access.file, &run, true);
            let addresses = run.blocks.iter().map(|block| block.address).collect();
            state.staged.bytes += run.range.end - run.range.start;
            state.staged.runs.push_back((access.file, transfer.clone(), addresses));
            let job = Job { file: access.file, source: access.source.clone(), run, transfer };
            // The threads live as long as the sender does.
            let _ = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).send(job);
        }
        while state.staged.bytes > BUDGET
            && let Some((file, transfer, addresses)) = state.staged.runs.pop_front()
        {
            state.staged.bytes -= transfer.range.end - transfer.range.start;
            addresses.iter().for_each(|&address| state.transfers.remove(file, address, &transfer));
        }
    }
}

/// Threads that read ahead.
const THREADS: usize = 2;

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
