//! Reading: hits are copied while they are decided, misses are read in runs of neighbours, what others are reading is
//! waited for.

use std::io;
use std::ops::Range;

use hotset_core::request::Op;

use crate::block_index::Block;
use crate::cache::Cache;
use crate::decider::{Decided, Host};
use crate::files::FileNumber;
use crate::in_flight::Share;
use crate::runs::{Run, add_block, announce, read_run, run_bytes};
use crate::state::{Access, State};
use crate::sync::Arc;
use crate::sync::mpsc::channel;
use crate::transfers::{Announced, Transfer, Transfers};

/// One request while it is served.
struct Reading<'a> {
    /// The bytes asked for, all of them within the file.
    range: Range<u64>,
    /// The size of the file.
    size: u64,
    reply: Reply,
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
    /// What somebody else reads.
    Other(Arc<Transfer>, Block),
}

/// A read of which something is missing.
pub struct Missing {
    /// The bytes asked for.
    range: Range<u64>,
    reply: Reply,
    runs: Vec<(Run, Announced)>,
    pieces: Vec<(Range<u64>, From)>,
    /// Room for all of it.
    _share: Arc<Share>,
}

/// A read that has begun.
pub enum Read {
    /// All of it was there.
    Done(Vec<u8>),
    /// [`Cache::finish_read`] must be called for it, or the reads of others that wait for it fail.
    Missing(Missing),
    /// So many bytes are too many, as much as there is in flight. Nothing was decided; [`Cache::when_there_is_room`]
    /// tells when it can be.
    Crowded(u64),
}

/// The bytes of an answer, as far as they are there. What is not there yet takes no memory.
#[derive(Default)]
struct Reply {
    bytes: Vec<u8>,
    length: usize,
}

impl Reply {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes.reserve_exact(self.length - self.bytes.len());
        if self.bytes.len() < at {
            self.bytes.resize(at, 0);
        }
        let (over, behind) = bytes.split_at(bytes.len().min(self.bytes.len() - at));
        self.bytes[at..at + over.len()].copy_from_slice(over);
        self.bytes.extend_from_slice(behind);
    }
}

impl Cache {
    /// Reads up to `length` bytes from `offset` on; fewer only at the end of the file. Fails as the source does: what
    /// could not be read is not cached.
    pub fn read(&self, access: &Access, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut share = None;
        loop {
            match self.look_and_begin_read(access, offset, length, share)? {
                Read::Done(bytes) => return Ok(bytes),
                Read::Missing(missing) => return self.finish_read(access, missing),
                Read::Crowded(bytes) => {
                    let (tell, told) = channel();
                    // Whoever waits is told.
                    self.when_there_is_room(access.file, bytes, move |share| drop(tell.send(share)));
                    share = told.recv().ok();
                }
            }
        }
    }

    /// The part of [`read`](Cache::read) that waits for nobody and asks the source nothing. `None`, and nothing is
    /// decided, if it goes beyond what is known of the file, so that the source must be asked.
    pub fn begin_read(&self, access: &Access, offset: u64, length: usize) -> Option<Read> {
        let end = offset.saturating_add(length as u64);
        let known = self.known_size(access);
        (end <= known).then(|| self.begin(access, offset..end, known, None))
    }

    /// The same, but the source is asked where it must be. With a share it finds room.
    pub fn look_and_begin_read(
        &self,
        access: &Access,
        offset: u64,
        length: usize,
        share: Option<Share>,
    ) -> io::Result<Read> {
        let end = offset.saturating_add(length as u64);
        let size = self.size_at(access, end)?;
        Ok(self.begin(access, offset..end.min(size), size, share))
    }

    /// Calls `then` once `bytes` more may be in flight, perhaps at once, from whatever thread and under whatever lock:
    /// it may only hand on.
    pub fn when_there_is_room(&self, file: FileNumber, bytes: u64, then: impl FnOnce(Share) + Send + 'static) {
        self.in_flight.when_there_is_room(file, bytes, then);
    }

    /// Begins to read a file of `size` bytes.
    fn begin(&self, access: &Access, range: Range<u64>, size: u64, mut share: Option<Share>) -> Read {
        if range.is_empty() {
            return Read::Done(Vec::new());
        }
        let mut state = self.shared.lock();
        // What is announced with less than what is known now would be taken for the end of a file that has grown
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
        let missing = self.decide_read(&mut state, access, range.clone(), size, share);
        drop(state);
        match missing {
            Ok(reply) => {
                self.follow(access, &range, false);
                Read::Done(reply)
            }
            Err(missing) => Read::Missing(missing),
        }
    }

    fn known_size(&self, access: &Access) -> u64 {
        self.shared.lock().files[access.file as usize].size()
    }

    /// The part of [`read`](Cache::read) that reads the source and waits for others who do.
    pub fn finish_read(&self, access: &Access, missing: Missing) -> io::Result<Vec<u8>> {
        let Missing { range, mut reply, runs, pieces, _share } = missing;
        for (run, transfer) in &runs {
            self.shared.fetch(access.file, access.source.as_ref(), run, transfer);
        }
        let mut end = range.end;
        for (want, from) in pieces {
            let (begin, brought) = match &from {
                From::Run(number) => (runs[*number].0.range.start, runs[*number].1.wait()?),
                From::Other(transfer, block) => {
                    (transfer.range.start, self.shared.claim(access.file, transfer, block)?)
                }
            };
            let (begin, brought) = match brought {
                Some(brought) => (begin, brought),
                // Whoever was to read it has given up.
                None => (want.start, Arc::new(read_run(access.source.as_ref(), &want)?)),
            };
            // The file may have been cut behind the cache.
            let there = want.end.min(begin + brought.len() as u64).max(want.start);
            if there < want.end {
                end = end.min(there);
            }
            let bytes = brought.get((want.start - begin) as usize..(there - begin) as usize).unwrap_or_default();
            reply.put((want.start - range.start) as usize, bytes);
        }
        if end < range.end {
            let stamp = access.source.stamp()?;
            self.shared.lock().reconcile(access.file, stamp);
        }
        reply.bytes.truncate((end - range.start) as usize);
        self.follow(access, &range, true);
        Ok(reply.bytes)
    }

    fn follow(&self, access: &Access, range: &Range<u64>, missed: bool) {
        if let Some(stream) = access.stream {
            self.read_ahead.follow(access, stream, range, missed);
        }
    }

    /// The size of the file. A read that goes beyond what is known asks the source: the file may have grown behind the
    /// cache.
    fn size_at(&self, access: &Access, end: u64) -> io::Result<u64> {
        let known = self.known_size(access);
        if end <= known {
            return Ok(known);
        }
        let stamp = access.source.stamp()?;
        self.shared.lock().reconcile(access.file, stamp);
        Ok(stamp.size)
    }

    /// Decides about the request, copies what is there, and announces what will be read.
    fn decide_read(
        &self,
        state: &mut State,
        access: &Access,
        range: Range<u64>,
        size: u64,
        share: Option<Share>,
    ) -> Result<Vec<u8>, Missing> {
        let mut transfers = std::mem::take(&mut state.transfers);
        let length = range.end - range.start;
        let mut reading = Reading {
            range: range.clone(),
            size,
            reply: Reply { bytes: Vec::new(), length: length as usize },
            runs: Vec::new(),
            pieces: Vec::new(),
            refills: 0,
            file: access.file,
            transfers: &transfers,
        };
        state.files[access.file as usize].source = Some(Arc::downgrade(access.source));
        state.decide(access, Op::Read, &range, size, &mut |host, decided| reading.serve(host, &decided));
        let Reading { reply, runs, pieces, refills, .. } = reading;
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
        state.traffic.bytes_served += length;
        state.traffic.refills += refills;
        state.traffic.waits += pieces.iter().filter(|(_, from)| matches!(from, From::Other(..))).count() as u64;
        match missing {
            None => Ok(reply.bytes),
            Some((runs, share)) => Err(Missing { range, reply, runs, pieces, _share: share }),
        }
    }
}

impl Reading<'_> {
    fn serve(&mut self, host: &mut Host, decided: &Decided) {
        let block = decided.block;
        let want = block.start.max(self.range.start)..block.range().end.min(self.range.end);
        if want.is_empty() {
            return;
        }
        if let Some(bytes) = decided.slot.and_then(|slot| host.data(slot, &want)) {
            self.reply.put((want.start - self.range.start) as usize, bytes);
            return;
        }
        let from = match self.transfers.covering(self.file, block.address, want.end) {
            Some(transfer) => From::Other(transfer.clone(), *block),
            None => {
                self.refills += u64::from(decided.hit);
                From::Run(add_block(&mut self.runs, block, self.size))
            }
        };
        self.pieces.push((want, from));
    }
}

impl State {
    /// Bytes that a read of `range` will have in flight, its reply and what is read for it; none if all of it is there.
    fn in_flight_for(&self, file: FileNumber, range: &Range<u64>, size: u64) -> u64 {
        let length = range.end - range.start;
        let host = &self.decider.host;
        let (mut is_missing, mut read, mut known) = (false, 0, 0);
        for block in self.decider.ahead(file, range) {
            let want = block.start.max(range.start)..block.range().end.min(range.end);
            known += want.end - want.start;
            if host.index.find(block.address).is_some_and(|slot| host.data(slot, &want).is_some()) {
                continue;
            }
            is_missing = true;
            if self.transfers.covering(file, block.address, want.end).is_none() {
                read += block.range().end.min(size) - block.start;
            }
        }
        if known < length {
            // Nobody knows yet which blocks these are in.
            let largest = self.decider.largest_block();
            is_missing = true;
            read = (range.end.next_multiple_of(largest)).min(size) - range.start / largest * largest;
        }
        if is_missing { length + read } else { 0 }
    }
}
