//! Reading: hits are copied while they are decided, misses are read in runs of neighbours, what others are reading is
//! waited for.

use std::io;
use std::ops::Range;

use hotset_core::request::Op;

use crate::block_index::Block;
use crate::buffer::Buffer;
use crate::cache::{Access, Cache, FileNumber, State};
use crate::decider::{Decided, Host};
use crate::in_flight::Share;
use crate::shared::Shared;
use crate::source::{self, Source};
use crate::sync::Arc;
use crate::sync::mpsc::channel;
use crate::transfers::{Announced, Transfer, Transfers};

/// Bytes that are read from the source at once, at most, unless a single block has more.
const LONGEST_RUN: u64 = 1 << 20;

/// Consecutive blocks to be read from the source.
#[derive(Debug)]
pub(crate) struct Run {
    pub range: Range<u64>,
    pub blocks: Vec<Block>,
}

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

/// Bytes of all runs together.
pub(crate) fn run_bytes(runs: &[Run]) -> u64 {
    runs.iter().map(|run| run.range.end - run.range.start).sum()
}

/// From now on whoever wants a block of the run waits for it.
pub(crate) fn announce(
    transfers: &mut Transfers,
    file: FileNumber,
    run: &Run,
    is_ahead: bool,
    share: &Arc<Share>,
) -> Announced {
    let transfer = Announced::new(run.range.clone(), is_ahead, share);
    run.blocks.iter().for_each(|block| transfers.insert(file, block.address, &transfer));
    transfer
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

/// Adds a block to the last run if it follows it, or begins a new one; gives the number of its run. What lies behind
/// the end of the file is not read.
pub(crate) fn add_block(runs: &mut Vec<Run>, block: &Block, size: u64) -> usize {
    let known = |run: &Run| run.blocks.iter().any(|other| other.address == block.address);
    if let Some(number) = runs.iter().position(known) {
        return number;
    }
    let end = block.range().end.min(size);
    match runs.last_mut() {
        Some(run) if run.range.end == block.start && end - run.range.start <= LONGEST_RUN => {
            run.range.end = end;
            run.blocks.push(*block);
        }
        _ => runs.push(Run { range: block.start..end, blocks: vec![*block] }),
    }
    runs.len() - 1
}

impl Shared {
    /// Reads a run that was announced, puts it into the frames of its blocks and tells who waits.
    pub fn fetch(&self, file: FileNumber, source: &dyn Source, run: &Run, transfer: &Arc<Transfer>) {
        let read = read_run(source, &run.range);
        let bytes = read.as_deref().unwrap_or_default();
        let mut state = self.lock();
        state.traffic.reads += 1;
        state.traffic.bytes_read += bytes.len() as u64;
        state.traffic.errors += u64::from(read.is_err());
        state.traffic.reads_ahead += u64::from(transfer.is_ahead);
        for block in &run.blocks {
            let wanted = state.install(file, transfer, block, bytes);
            // What nobody has asked for yet stays announced, unless it failed.
            if wanted || !transfer.is_ahead || read.is_err() {
                state.transfers.remove(file, block.address, transfer);
            }
        }
        drop(state);
        transfer.complete(read.map(Arc::new).map_err(|error| error.raw_os_error().unwrap_or(EIO)));
    }

    /// Waits for what somebody else reads, and takes the block out of what was read ahead.
    /// `None` if that was given up.
    fn claim(&self, file: FileNumber, transfer: &Arc<Transfer>, block: &Block) -> io::Result<Option<Arc<Buffer>>> {
        let Some(brought) = transfer.wait()? else { return Ok(None) };
        if transfer.is_ahead {
            let mut state = self.lock();
            state.install(file, transfer, block, &brought);
            state.transfers.remove(file, block.address, transfer);
        }
        Ok(Some(brought))
    }
}

/// The bytes `range` of the file, fewer where it ends before.
fn read_run(source: &dyn Source, range: &Range<u64>) -> io::Result<Buffer> {
    let mut bytes = Buffer::new((range.end - range.start) as usize)?;
    let length = source::read_full(source, &mut bytes, range.start)?;
    bytes.truncate(length);
    Ok(bytes)
}

/// An error without a number from the operating system.
const EIO: i32 = 5;

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

    /// Puts what was read into the frame of a block, if it is resident and the read was not overtaken. True if it is
    /// resident.
    fn install(&mut self, file: FileNumber, transfer: &Arc<Transfer>, block: &Block, bytes: &[u8]) -> bool {
        let announced = self.transfers.find(file, block.address).is_some_and(|known| Arc::ptr_eq(known, transfer));
        let host = &mut self.decider.host;
        let Some(slot) = host.index.find(block.address).filter(|&slot| host.index.entry(slot).frame.is_some()) else {
            return false;
        };
        if announced && !transfer.is_cancelled() {
            host.fill(slot, transfer.range.start, bytes);
        }
        true
    }
}
