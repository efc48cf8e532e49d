//! Consecutive blocks that are read from the source at once: announced, read, put into their frames.

use std::io;
use std::ops::Range;

use crate::arena::block_index::Block;
use crate::file_cache::shared::Shared;
use crate::file_cache::state::State;
use crate::os::sync::Arc;
use crate::read_ahead::stream::PART;
use crate::source::files::FileNumber;
use crate::source::{self, Source};
use crate::tier::{Lease, bring};
use crate::transfer::buffer::Buffer;
use crate::transfer::in_flight::Share;
use crate::transfer::transfers::{Announced, Transfer, Transfers};

/// Consecutive blocks to be read from the source, or from the tier.
pub(crate) struct Run {
    pub range: Range<u64>,
    pub blocks: Vec<Block>,
    /// Where they are in the tier, all of them or none.
    below: Vec<Lease>,
}

/// Bytes of all runs together.
pub(crate) fn run_bytes(runs: &[Run]) -> u64 {
    runs.iter().map(|run| run.range.end - run.range.start).sum()
}

/// Announces a run: other readers of its blocks wait for it from now on.
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

/// The number of the run that a block is in.
pub(crate) fn find_block(runs: &[Run], block: &Block) -> Option<usize> {
    runs.iter().position(|run| run.blocks.iter().any(|other| other.address == block.address))
}

/// Adds a block that is in none of the runs to the last one if it follows it, or begins a new one; returns its number.
/// Bytes beyond the end of the file are not read. Blocks in the tier are read from there.
pub(crate) fn add_block(runs: &mut Vec<Run>, block: &Block, size: u64, below: Option<Lease>) -> usize {
    let end = block.range().end.min(size);
    let below = below.filter(|lease| block.start + u64::from(lease.length) == end);
    match runs.last_mut() {
        Some(run)
            if run.range.end == block.start
                && end - run.range.start <= PART
                && run.below.is_empty() == below.is_none() =>
        {
            run.range.end = end;
            run.blocks.push(*block);
            run.below.extend(below);
        }
        _ => runs.push(Run { range: block.start..end, blocks: vec![*block], below: below.into_iter().collect() }),
    }
    runs.len() - 1
}

impl Shared {
    /// Reads a run that was announced, puts it into the frames of its blocks and wakes the waiting readers. Returns the
    /// bytes that came from the source in one read, 0 if there was none.
    pub fn fetch(&self, file: FileNumber, source: &dyn Source, run: &Run, transfer: &Arc<Transfer>) -> u64 {
        let mut asked = Asked::default();
        let read = match run.below.is_empty() {
            true => self.read(file, source, &run.range).inspect(|bytes| asked.count(bytes.len())),
            false => self.read_below(file, source, run, &mut asked),
        };
        let bytes = read.as_deref().unwrap_or_default();
        let mut state = self.lock();
        state.traffic.reads += asked.reads + u64::from(read.is_err());
        state.traffic.bytes_read += asked.bytes;
        state.traffic.errors += u64::from(read.is_err());
        state.traffic.reads_ahead += u64::from(transfer.is_ahead);
        for block in &run.blocks {
            let wanted = state.install(file, transfer, block, bytes);
            // Unused read-ahead stays announced, unless it failed.
            if wanted || !transfer.is_ahead || read.is_err() {
                state.withdraw(file, transfer, block);
            }
        }
        drop(state);
        transfer.complete(read);
        if run.below.is_empty() { asked.bytes } else { 0 }
    }

    /// Reads a run from the tier, and what is not there as it was from the source.
    fn read_below(&self, file: FileNumber, source: &dyn Source, run: &Run, asked: &mut Asked) -> io::Result<Buffer> {
        let mut bytes = Buffer::new((run.range.end - run.range.start) as usize)?;
        for place in bring(&run.below, &mut bytes) {
            let block = run.blocks[place].range();
            let range = block.start..block.end.min(run.range.end);
            let read = self.read(file, source, &range)?;
            asked.count(read.len());
            let begin = (range.start - run.range.start) as usize;
            bytes[begin..begin + read.len()].copy_from_slice(&read);
            // The file was cut behind the cache.
            if range.start + (read.len() as u64) < range.end {
                bytes.truncate(begin + read.len());
                break;
            }
        }
        Ok(bytes)
    }

    /// Reads bytes of the file from the source, fewer where it ends before. What of them waits to be written is written
    /// first.
    pub fn read(&self, file: FileNumber, source: &dyn Source, range: &Range<u64>) -> io::Result<Buffer> {
        self.write_before_reading(file, range)?;
        let _call = self.busy.call();
        read_run(source, range)
    }

    /// Waits for another thread's read, and takes the block out of the read-ahead. `None` if that read was given up.
    pub fn claim(&self, file: FileNumber, transfer: &Arc<Transfer>, block: &Block) -> io::Result<Option<Arc<Buffer>>> {
        let Some(brought) = transfer.wait()? else { return Ok(None) };
        if transfer.is_ahead {
            let mut state = self.lock();
            state.install(file, transfer, block, &brought);
            state.withdraw(file, transfer, block);
        }
        Ok(Some(brought))
    }
}

/// The source's reads and their results.
#[derive(Default)]
struct Asked {
    reads: u64,
    bytes: u64,
}

impl Asked {
    fn count(&mut self, bytes: usize) {
        self.reads += 1;
        self.bytes += bytes as u64;
    }
}

/// The bytes `range` of the file, fewer where it ends before.
fn read_run(source: &dyn Source, range: &Range<u64>) -> io::Result<Buffer> {
    let mut bytes = Buffer::new((range.end - range.start) as usize)?;
    let length = source::read_full(source, &mut bytes, range.start)?;
    bytes.truncate(length);
    Ok(bytes)
}

impl State {
    /// Removes the block in `transfer` from the index of reads.
    fn withdraw(&mut self, file: FileNumber, transfer: &Arc<Transfer>, block: &Block) {
        self.transfers.remove(file, block.address, transfer);
        if transfer.is_ahead {
            self.staged.take(transfer, block.address);
        }
    }

    /// Puts what was read into the frame of a block, if it is resident and the read was not overtaken. True if it is
    /// resident.
    fn install(&mut self, file: FileNumber, transfer: &Arc<Transfer>, block: &Block, bytes: &[u8]) -> bool {
        let announced = self.transfers.find(file, block.address).is_some_and(|known| Arc::ptr_eq(known, transfer));
        let frames = self.decider.frames_mut();
        let Some(slot) = frames.index.find(block.address).filter(|&slot| frames.index.entry(slot).frame.is_some())
        else {
            return false;
        };
        if announced && !transfer.is_cancelled() {
            frames.fill(slot, transfer.range.start, bytes);
        }
        true
    }
}
