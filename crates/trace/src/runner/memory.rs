//! A memory trace as requests, for the commands that know nothing of memory: a run is one read or write of one page.

use hotset_core::request::{Op, Request};

use crate::{
    Addressing, Batch, Meta, Tables, TraceError, TraceReader,
    memory::{MemoryBatch, MemoryReader},
};

/// Facts that a reader of memory traces reports in addition to the trace.
pub trait Story {
    /// Records that were malformed and skipped so far.
    fn skipped(&self) -> u64;
    /// Remarks for the user at the end.
    fn remarks(&self) -> Vec<String>;
}

/// Requests made of runs.
pub struct Requests<R> {
    meta: Meta,
    tables: Tables,
    memory: R,
    piece: MemoryBatch,
}

impl<R: MemoryReader + Story> Requests<R> {
    /// The runs of `memory`, a trace in the format of this name.
    pub fn new(format: &'static str, memory: R) -> Requests<R> {
        let told = memory.memory_meta();
        let addressing = Addressing::Bytes { unit: Some(told.page_bytes) };
        let meta = Meta { format, addressing, has_time: false, has_ops: told.has_writes, sample: None };
        Requests { meta, tables: Tables::default(), memory, piece: MemoryBatch::default() }
    }
}

impl<R: MemoryReader + Story> TraceReader for Requests<R> {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        loop {
            self.memory.read_memory(&mut self.piece)?;
            if self.piece.is_empty() || !self.piece.runs.is_empty() {
                break;
            }
        }
        let length = self.memory.memory_meta().page_bytes;
        batch.requests.extend(self.piece.runs.iter().map(|run| Request {
            offset: run.page * u64::from(length),
            length,
            op: if run.writes > 0 { Op::Write } else { Op::Read } as u8,
            ..Request::default()
        }));
        Ok(())
    }

    fn skipped(&self) -> u64 {
        self.memory.skipped()
    }

    fn remarks(&self) -> Vec<String> {
        self.memory.remarks()
    }

    fn memory(&mut self) -> Option<&mut dyn MemoryReader> {
        Some(&mut self.memory)
    }
}
