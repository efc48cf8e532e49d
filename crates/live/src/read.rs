//! Reading: hits are copied while they are decided, misses are read in runs of neighbours, what others are reading is waited for.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use hotset_core::request::Op;

use crate::cache::{Access, Cache, FileNumber, Shared, State};
use crate::decider::{Decided, Host};
use crate::directory::Block;
use crate::source::{self, Source};
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
    reply: Vec<u8>,
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
    reply: Vec<u8>,
    runs: Vec<(Run, Announced)>,
    pieces: Vec<(Range<u64>, From)>,
}

/// A read that has been decided about.
pub enum Read {
    /// All of it was there.
    Done(Vec<u8>),
    /// [`Cache::finish_read`] must be called for it, or the reads of others that wait for it fail.
    Missing(Missing),
    /// It goes beyond what is known of the file, so the source must be asked: [`Cache::read`] does. Nothing was decided.
    Unknown,
}

impl Cache {
    /// Reads up to `length` bytes from `offset` on; fewer only at the end of the file. Fails as the source does: what could not be read is
    /// not cached.
    pub fn read(&self, access: &Access, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let end = offset.saturating_add(length as u64);
        let size = self.size_at(access, end)?;
        match self.decided(access, offset..end.min(size), size) {
            Ok(bytes) => Ok(bytes),
            Err(missing) => self.finish_read(access, missing),
        }
    }

    /// The part of [`read`](Cache::read) that waits for nobody and asks the source nothing.
    pub fn begin_read(&self, access: &Access, offset: u64, length: usize) -> Read {
        let end = offset.saturating_add(length as u64);
        let known = self.known_size(access);
        if end > known {
            return Read::Unknown;
        }
        self.decided(access, offset..end, known).map_or_else(Read::Missing, Read::Done)
    }

    /// Decides about a read of a file of `size` bytes; gives what was asked for if all of it is there.
    fn decided(&self, access: &Access, range: Range<u64>, size: u64) -> Result<Vec<u8>, Missing> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let missing = self.decide_read(access, range, size);
        if !missing.pieces.is_empty() {
            return Err(missing);
        }
        self.follow(access, &missing.range, false);
        Ok(missing.reply)
    }

    fn known_size(&self, access: &Access) -> u64 {
        self.shared.lock().files[access.file as usize].size()
    }

    /// The part of [`read`](Cache::read) that reads the source and waits for others who do.
    pub fn finish_read(&self, access: &Access, missing: Missing) -> io::Result<Vec<u8>> {
        let Missing { range, mut reply, runs, pieces } = missing;
        for (run, transfer) in &runs {
            self.shared.fetch(access.file, access.source.as_ref(), run, transfer);
        }
        let mut end = range.end;
        for (want, from) in pieces {
            let (transfer, brought) = match &from {
                From::Run(number) => (&*runs[*number].1, runs[*number].1.wait()?),
                From::Other(transfer, block) => (transfer, self.shared.claim(access.file, transfer, block)?),
            };
            let begin = transfer.range.start;
            // The file may have been cut behind the cache.
            let there = want.end.min(begin + brought.len() as u64).max(want.start);
            if there < want.end {
                end = end.min(there);
            }
            let bytes = brought.get((want.start - begin) as usize..(there - begin) as usize).unwrap_or_default();
            reply[(want.start - range.start) as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        if end < range.end {
            let stamp = access.source.stamp()?;
            self.shared.lock().reconcile(access.file, stamp);
        }
        reply.truncate((end - range.start) as usize);
        self.follow(access, &range, true);
        Ok(reply)
    }

    fn follow(&self, access: &Access, range: &Range<u64>, missed: bool) {
        if let Some(stream) = access.stream {
            self.read_ahead.follow(access, stream, range, missed);
        }
    }

    /// The size of the file. A read that goes beyond what is known asks the source: the file may have grown behind the cache.
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
    fn decide_read(&self, access: &Access, range: Range<u64>, size: u64) -> Missing {
        let mut state = self.shared.lock();
        // What is announced with less than what is known now would be taken for the end of a file that has grown meanwhile.
        let size = size.max(state.files[access.file as usize].size());
        let mut transfers = std::mem::take(&mut state.transfers);
        let mut reading = Reading {
            range: range.clone(),
            size,
            reply: vec![0; (range.end - range.start) as usize],
            runs: Vec::new(),
            pieces: Vec::new(),
            refills: 0,
            file: access.file,
            transfers: &transfers,
        };
        state.files[access.file as usize].source = Some(Arc::downgrade(access.source));
        state.decide(access, Op::Read, &range, size, &mut |host, decided| reading.serve(host, &decided));
        let Reading { reply, runs, pieces, refills, .. } = reading;
        let announced = runs.into_iter().map(|run| {
            let transfer = announce(&mut transfers, access.file, &run, false);
            (run, transfer)
        });
        let runs = announced.collect();
        state.transfers = transfers;
        self.read_ahead.bring(&mut state);
        state.traffic.bytes_served += reply.len() as u64;
        state.traffic.refills += refills;
        state.traffic.waits += pieces.iter().filter(|(_, from)| matches!(from, From::Other(..))).count() as u64;
        Missing { range, reply, runs, pieces }
    }
}

/// From now on whoever wants a block of the run waits for it.
pub(crate) fn announce(transfers: &mut Transfers, file: FileNumber, run: &Run, is_ahead: bool) -> Announced {
    let transfer = Announced::new(run.range.clone(), is_ahead);
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
            let at = (want.start - self.range.start) as usize;
            self.reply[at..at + bytes.len()].copy_from_slice(bytes);
            return;
        }
        // One that was announced when less was known of the file would end where that ended.
        let from = match self.transfers.find(self.file, block.address).filter(|known| known.range.end >= want.end) {
            Some(transfer) => From::Other(transfer.clone(), *block),
            None => {
                self.refills += u64::from(decided.hit);
                From::Run(add_block(&mut self.runs, block, self.size))
            }
        };
        self.pieces.push((want, from));
    }
}

/// Adds a block to the last run if it follows it, or begins a new one; gives the number of its run. What lies behind the end of the file
/// is not read.
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
        let mut bytes = vec![0; (run.range.end - run.range.start) as usize];
        let read = source::read_full(source, &mut bytes, run.range.start);
        bytes.truncate(*read.as_ref().unwrap_or(&0));
        let mut state = self.lock();
        state.traffic.reads += 1;
        state.traffic.bytes_read += bytes.len() as u64;
        state.traffic.errors += u64::from(read.is_err());
        state.traffic.reads_ahead += u64::from(transfer.is_ahead);
        for block in &run.blocks {
            let wanted = state.install(file, transfer, block, &bytes);
            // What nobody has asked for yet stays announced, unless it failed.
            if wanted || !transfer.is_ahead || read.is_err() {
                state.transfers.remove(file, block.address, transfer);
            }
        }
        drop(state);
        transfer.complete(read.map(|_| Arc::new(bytes)).map_err(|error| error.raw_os_error().unwrap_or(EIO)));
    }

    /// Waits for what somebody else reads, and takes the block out of what was read ahead.
    fn claim(&self, file: FileNumber, transfer: &Arc<Transfer>, block: &Block) -> io::Result<Arc<Vec<u8>>> {
        let brought = transfer.wait()?;
        if transfer.is_ahead {
            let mut state = self.lock();
            state.install(file, transfer, block, &brought);
            state.transfers.remove(file, block.address, transfer);
        }
        Ok(brought)
    }
}

/// An error without a number from the operating system.
const EIO: i32 = 5;

impl State {
    /// Puts what was read into the frame of a block, if it is resident and the read was not overtaken. True if it is resident.
    fn install(&mut self, file: FileNumber, transfer: &Arc<Transfer>, block: &Block, bytes: &[u8]) -> bool {
        let announced = self.transfers.find(file, block.address).is_some_and(|known| Arc::ptr_eq(known, transfer));
        let host = &mut self.decider.host;
        let Some(slot) = host.directory.find(block.address).filter(|&slot| host.directory.entry(slot).frame.is_some())
        else {
            return false;
        };
        if announced && !transfer.is_doomed() {
            host.fill(slot, transfer.range.start, bytes);
        }
        true
    }
}
