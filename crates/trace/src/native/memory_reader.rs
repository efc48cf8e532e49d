//! Reading `.hst` traces of memory.

use std::{io::Read, ops::Range};

use super::{
    Fault, Reader,
    memory::{decode_objects, decode_pages},
};
use crate::{
    Addressing, TraceError, TraceReader,
    memory::{BATCH_RUNS, MemoryBatch, MemoryMeta, MemoryReader, ObjectEvent, PageRun},
    runner::memory::Story,
};

/// Entries that were read and not yet delivered.
#[derive(Default)]
pub(super) struct Piece {
    runs: Vec<PageRun>,
    /// How many of `runs` were handed over.
    given: usize,
    events: Vec<ObjectEvent>,
    instructions: u64,
    /// References up to the end of `runs`.
    references: u64,
}

impl Piece {
    /// Takes a block in; `gaps` before it are allowed. Gives the numbers of its runs.
    pub(super) fn take_pages(&mut self, raw: &[u8], gaps: bool) -> Result<Range<u64>, Fault> {
        self.given = 0;
        let head = decode_pages(raw, &mut self.runs).inspect_err(|_| self.runs.clear())?;
        if head.references < self.references || (head.references > self.references && !gaps) {
            let message = format!("found runs behind {} references; expected {}", head.references, self.references);
            self.close();
            return Err(message);
        }
        self.instructions = self.instructions.max(head.instructions);
        let count = self.runs.iter().fold(0u64, |sum, run| sum.saturating_add(run.references));
        self.references = head.references.saturating_add(count);
        Ok(head.first..head.first.saturating_add(self.runs.len() as u64))
    }

    /// Takes events in.
    pub(super) fn take_objects(&mut self, raw: &[u8]) -> Result<(), Fault> {
        decode_objects(raw, &mut self.events)
    }

    /// Forgets the runs at hand.
    pub(super) fn close(&mut self) {
        self.runs.clear();
        self.given = 0;
    }

    fn left(&self) -> &[PageRun] {
        &self.runs[self.given..]
    }
}

impl<R: Read + Send> MemoryReader for Reader<R> {
    fn memory_meta(&self) -> MemoryMeta {
        let Addressing::Bytes { unit: Some(page_bytes) } = self.header().meta.addressing else {
            unreachable!("the header of a trace of memory tells the size of a page")
        };
        MemoryMeta { page_bytes, has_writes: self.header().meta.has_ops }
    }

    fn read_memory(&mut self, batch: &mut MemoryBatch) -> Result<(), TraceError> {
        batch.clear();
        while self.piece.left().is_empty() && !self.ended {
            self.advance()?;
        }
        let piece = &mut self.piece;
        batch.events.append(&mut piece.events);
        let count = piece.left().len().min(BATCH_RUNS);
        batch.runs.extend_from_slice(&piece.left()[..count]);
        batch.instructions = piece.instructions;
        piece.given += count;
        Ok(())
    }
}

impl<R: Read + Send> Story for Reader<R> {
    fn skipped(&self) -> u64 {
        TraceReader::skipped(self)
    }

    fn remarks(&self) -> Vec<String> {
        TraceReader::remarks(self)
    }
}
