//! Reading: hits are copied while they are decided, misses are read in runs of neighbours, what others are reading is
//! waited for.

use std::io;
use std::ops::Range;

use hotset_core::request::Op;

use crate::arena::block_index::Block;
use crate::decide::decider::Decided;
use crate::decide::frames::Frames;
use crate::file_cache::FileCache;
use crate::file_cache::runs::{Run, add_block, announce, find_block, run_bytes};
use crate::file_cache::shared::Locked;
use crate::file_cache::state::{Access, State};
use crate::os::sync::Arc;
use crate::os::sync::mpsc::channel;
use crate::read_ahead::stream::Found;
use crate::source::files::FileNumber;
use crate::transfer::in_flight::Share;
use crate::transfer::transfers::{Announced, Transfer, Transfers};

/// One request while it is served.
struct Reading<'a> {
    /// The bytes asked for, all of them within the file.
    range: Range<u64>,
    /// The size of the file.
    size: u64,
    /// The available bytes, with zeros for missing ones before them.
    reply: &'a mut Vec<u8>,
    runs: Vec<Run>,
    /// Bytes that are not in the reply yet, and where they come from.
    pieces: Vec<(Range<u64>, From)>,
    refills: u64,
    file: FileNumber,
    transfers: &'a Transfers,
}

/// Where missing bytes come from.
enum From {
    /// A run of our own, by number.
    Run(usize),
    /// Another thread reads it.
    Other(Arc<Transfer>, Block),
}

/// A read of which something is missing.
pub struct Missing {
    /// The bytes asked for.
    range: Range<u64>,
    /// The available bytes. The rest takes no memory yet.
    reply: Vec<u8>,
    runs: Vec<(Run, Announced)>,
    pieces: Vec<(Range<u64>, From)>,
    /// A share of the limit for all of it.
    _share: Arc<Share>,
}

/// A read that has begun.
pub enum Read {
    /// All of it was there, and is in the reply.
    Done,
    /// [`FileCache::finish_read`] must be called for it, or the reads of others that wait for it fail.
    Missing(Missing),
    /// So many bytes are too many, as much as there is in flight. Nothing was decided;
    /// [`FileCache::when_there_is_room`] tells when it can be.
    Crowded(u64),
}

/// Puts bytes at their place in a reply, which is to have `length`.
fn put(reply: &mut Vec<u8>, length: u64, at: u64, bytes: &[u8]) {
    let at = at as usize;
    reply.reserve_exact(length as usize - reply.len());
    if reply.len() < at {
        reply.resize(at, 0);
    }
    let (over, behind) = bytes.split_at(bytes.len().min(reply.len() - at));
    reply[at..at + over.len()].copy_from_slice(over);
    reply.extend_from_slice(behind);
}

impl FileCache {
    /// Reads up to `length` bytes from `offset` on; fewer only at the end of the file. Fails as the source does: what
    /// could not be read is not cached.
    pub fn read(&self, access: &Access, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let (mut share, mut reply) = (None, Vec::new());
        loop {
            match self.look_and_begin_read(access, offset, length, share, &mut reply)? {
                Read::Done => return Ok(reply),
                Read::Missing(missing) => return self.finish_read(access, missing),
                Read::Crowded(bytes) => {
                    let (tell, told) = channel();
                    // The reader waits for this message.
                    self.when_there_is_room(access.file, bytes, move |share| drop(tell.send(share)));
                    share = told.recv().ok();
                }
            }
        }
    }

    /// The part of [`read`](FileCache::read) that never blocks and does not ask the source. Returns `None`, and decides
    /// nothing, if the read goes beyond the file's known size, so that the source must be asked. The content of `reply`
    /// is replaced; its memory is reused, so that a caller that keeps it reads resident data without an allocation.
    pub fn begin_read(&self, access: &Access, offset: u64, length: usize, reply: &mut Vec<u8>) -> Option<Read> {
        let end = offset.saturating_add(length as u64);
        let state = self.shared.lock();
        let known = state.files[access.file as usize].size();
        (end <= known).then(|| self.begin(state, access, offset..end, known, None, reply))
    }

    /// The same, but the source is asked where it must be. With a share it finds room.
    pub fn look_and_begin_read(
        &self,
        access: &Access,
        offset: u64,
        length: usize,
        share: Option<Share>,
        reply: &mut Vec<u8>,
    ) -> io::Result<Read> {
        let end = offset.saturating_add(length as u64);
        let mut state = self.shared.lock();
        let mut size = state.files[access.file as usize].size();
        // The file may have grown behind the cache.
        if end > size {
            // It may end behind what the source says once what waits is written, which may be meanwhile.
            let waiting = state.files[access.file as usize].end;
            drop(state);
            let stamp = access.source.stamp()?;
            state = self.shared.lock();
            state.reconcile(access.file, stamp);
            size = stamp.size.max(waiting).max(state.files[access.file as usize].end);
        }
        Ok(self.begin(state, access, offset..end.min(size), size, share, reply))
    }

    /// Calls `then` once `bytes` more may be in flight, perhaps at once, from whatever thread and under whatever lock:
    /// it may only hand on.
    pub fn when_there_is_room(&self, file: FileNumber, bytes: u64, then: impl FnOnce(Share) + Send + 'static) {
        self.in_flight.when_there_is_room(file, bytes, then);
    }

    /// Begins to read a file of `size` bytes.
    fn begin(
        &self,
        mut state: Locked,
        access: &Access,
        range: Range<u64>,
        size: u64,
        mut share: Option<Share>,
        reply: &mut Vec<u8>,
    ) -> Read {
        reply.clear();
        if range.is_empty() {
            return Read::Done;
        }
        // Announcing a read with less than the known size would be taken for the end of a file that has grown
        // meanwhile.
        let size = size.max(state.files[access.file as usize].size());
        let most = 2 * (range.end - range.start + state.decider.largest_block());
        if share.is_none() && !self.in_flight.is_ample(most) {
            let bytes = state.in_flight_for(access.file, &range, size);
            share = match bytes {
                0 => None,
                _ => match self.in_flight.try_take(access.file, bytes) {
                    None => return Read::Crowded(bytes),
                    share => share,
                },
            };
        }
        let missing = self.decide_read(&mut state, access, &range, size, share, reply);
        drop(state);
        match missing {
            Some(missing) => Read::Missing(missing),
            None => {
                self.follow(access, &range, Found::Cached);
                Read::Done
            }
        }
    }

    /// The part of [`read`](FileCache::read) that reads the source and waits for others who do.
    pub fn finish_read(&self, access: &Access, missing: Missing) -> io::Result<Vec<u8>> {
        let Missing { range, mut reply, runs, pieces, _share } = missing;
        let (left, own) = self.read_ahead.share(access, runs);
        let is_there = |from: &From| matches!(from, From::Other(transfer, _) if transfer.is_done());
        let found = if pieces.iter().all(|(_, from)| is_there(from)) { Found::Ready } else { Found::Late };
        // The next run is in flight while this one is waited for; but a disk does one thing after the other.
        let is_far = access.source.reads_at_once() > 1;
        if is_far {
            self.follow(access, &range, found);
        }
        for (run, transfer) in &left {
            self.shared.fetch(access.file, access.source.as_ref(), run, transfer);
        }
        let mut end = range.end;
        for (want, from) in pieces {
            let (begin, brought) = match &from {
                From::Run(number) => (own[*number].range.start, own[*number].wait()?),
                From::Other(transfer, block) => {
                    (transfer.range.start, self.shared.claim(access.file, transfer, block)?)
                }
            };
            let (begin, brought) = match brought {
                Some(brought) => (begin, brought),
                // The announced reader has given up.
                None => (want.start, Arc::new(self.shared.read(access.file, access.source.as_ref(), &want)?)),
            };
            // The file may have been cut behind the cache.
            let there = want.end.min(begin + brought.len() as u64).max(want.start);
            if there < want.end {
                end = end.min(there);
            }
            let bytes = brought.get((want.start - begin) as usize..(there - begin) as usize).unwrap_or_default();
            put(&mut reply, range.end - range.start, want.start - range.start, bytes);
        }
        if end < range.end {
            let stamp = access.source.stamp()?;
            self.shared.lock().reconcile(access.file, stamp);
        }
        reply.truncate((end - range.start) as usize);
        if !is_far {
            self.follow(access, &range, found);
        }
        Ok(reply)
    }

    fn follow(&self, access: &Access, range: &Range<u64>, found: Found) {
        if let Some(stream) = access.stream {
            self.read_ahead.follow(access, stream, range, found);
        }
    }

    /// Decides about the request, copies what is there, and announces what will be read.
    fn decide_read(
        &self,
        state: &mut State,
        access: &Access,
        range: &Range<u64>,
        size: u64,
        share: Option<Share>,
        reply: &mut Vec<u8>,
    ) -> Option<Missing> {
        let mut transfers = std::mem::take(&mut state.transfers);
        let length = range.end - range.start;
        let mut reading = Reading {
            range: range.clone(),
            size,
            reply: &mut *reply,
            runs: Vec::new(),
            pieces: Vec::new(),
            refills: 0,
            file: access.file,
            transfers: &transfers,
        };
        state.files[access.file as usize].read_through(access.source);
        state.decide(access, Op::Read, range, size, &mut |frames, decided| reading.serve(frames, decided));
        let Reading { runs, pieces, refills, .. } = reading;
        let missing = (!pieces.is_empty()).then(|| {
            let bytes = length + run_bytes(&runs);
            let share = share.unwrap_or_else(|| self.in_flight.take(access.file, bytes));
            share.set(bytes);
            let share = Arc::new(share);
            let announced = runs.into_iter().map(|run| {
                let transfer = announce(&mut transfers, access.file, &run, false, &share);
                (run, transfer)
            });
            (announced.collect(), share)
        });
        state.transfers = transfers;
        self.read_ahead.bring(state);
        self.background.start(state);
        state.traffic.bytes_served += length;
        state.traffic.refills += refills;
        state.traffic.waits += pieces.iter().filter(|(_, from)| matches!(from, From::Other(..))).count() as u64;
        let (runs, _share) = missing?;
        Some(Missing { range: range.clone(), reply: reply.clone(), runs, pieces, _share })
    }
}

impl Reading<'_> {
    fn serve(&mut self, frames: &Frames, decided: Decided) {
        let block = decided.block;
        let want = block.start.max(self.range.start)..block.range().end.min(self.range.end);
        if want.is_empty() {
            return;
        }
        if let Some(bytes) = decided.slot.and_then(|slot| frames.data(slot, &want)) {
            let length = self.range.end - self.range.start;
            put(self.reply, length, want.start - self.range.start, bytes);
            return;
        }
        let from = match self.transfers.covering(self.file, block.address, want.end) {
            Some(transfer) => From::Other(transfer.clone(), *block),
            None => {
                self.refills += u64::from(decided.hit);
                // A scheme may decide twice about a block of one request.
                let known = find_block(&self.runs, block);
                From::Run(known.unwrap_or_else(|| add_block(&mut self.runs, block, self.size, decided.below)))
            }
        };
        self.pieces.push((want, from));
    }
}

impl State {
    /// Bytes that a read of `range` will have in flight, its reply and what is read for it; none if all of it is there.
    fn in_flight_for(&self, file: FileNumber, range: &Range<u64>, size: u64) -> u64 {
        let length = range.end - range.start;
        let frames = self.decider.frames();
        let (mut is_missing, mut read, mut known) = (false, 0, 0);
        for block in self.decider.ahead(file, range) {
            let want = block.start.max(range.start)..block.range().end.min(range.end);
            known += want.end - want.start;
            if frames.index.find(block.address).is_some_and(|slot| frames.data(slot, &want).is_some()) {
                continue;
            }
            is_missing = true;
            if self.transfers.covering(file, block.address, want.end).is_none() {
                read += block.range().end.min(size) - block.start;
            }
        }
        if known < length {
            // The blocks of these bytes are not known yet.
            let largest = self.decider.largest_block();
            is_missing = true;
            read = (range.end.next_multiple_of(largest)).min(size) - range.start / largest * largest;
        }
        if is_missing { length + read } else { 0 }
    }
}
