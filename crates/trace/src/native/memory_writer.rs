//! Writing `.hst` traces of memory, from front to back.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{
    Header,
    index::{self, BlockPlace, Index},
    memory::{BLOCK_RUNS, PageHead, encode_objects, encode_pages},
    prelude,
    section::{Packer, Type},
    stats::Stats,
};
use crate::{
    TraceError,
    memory::{MemoryBatch, ObjectEvent, PageRun},
};

/// Events in an `OBJS` section, at most.
const SECTION_EVENTS: usize = 4096;

/// Callers are cut to this many bytes, so that a section of them keeps below its limit.
const CALLER_BYTES: usize = 256;

/// Writes a trace of memory. It never goes back. Dropping it without [`MemoryWriter::finish`] leaves what was written
/// whole.
pub struct MemoryWriter<W: Write> {
    out: W,
    path: PathBuf,
    position: u64,
    packer: Packer,
    runs: Vec<PageRun>,
    events: Vec<ObjectEvent>,
    head: PageHead,
    index: Index,
    stats: Stats,
}

impl<W: Write> MemoryWriter<W> {
    /// Writes to `out`, which errors call `path`.
    pub fn new(out: W, path: &Path, header: &Header) -> Result<MemoryWriter<W>, TraceError> {
        let failed = |error| TraceError::io(path, "cannot begin the trace", error);
        let mut writer = MemoryWriter {
            out,
            path: path.to_owned(),
            position: 0,
            packer: Packer::new().map_err(failed)?,
            runs: Vec::with_capacity(BLOCK_RUNS),
            events: Vec::new(),
            head: PageHead::default(),
            index: Index::default(),
            stats: Stats::default(),
        };
        writer.put(&prelude::write()).and_then(|()| writer.section(Type::HEAD, &header.encode())).map_err(failed)?;
        Ok(writer)
    }

    /// Appends a piece of the trace.
    pub fn push(&mut self, batch: &MemoryBatch) -> Result<(), TraceError> {
        self.take(batch).map_err(|error| self.failed(error))
    }

    /// Writes the rest and the footer. Gives what the trace amounts to.
    pub fn finish(mut self) -> Result<Stats, TraceError> {
        self.end().map_err(|error| self.failed(error))?;
        Ok(self.stats)
    }

    fn failed(&self, error: io::Error) -> TraceError {
        TraceError::io(&self.path, "cannot write the trace", error)
    }

    fn take(&mut self, batch: &MemoryBatch) -> io::Result<()> {
        for event in &batch.events {
            let mut end = event.caller.len().min(CALLER_BYTES);
            while !event.caller.is_char_boundary(end) {
                end -= 1;
            }
            self.events.push(ObjectEvent { caller: event.caller[..end].to_owned(), ..event.clone() });
            if self.events.len() == SECTION_EVENTS {
                self.write_events()?;
            }
        }
        for &run in &batch.runs {
            self.runs.push(run);
            self.stats.runs += 1;
            self.stats.references = self.stats.references.saturating_add(run.references);
            self.stats.written_references = self.stats.written_references.saturating_add(run.writes);
            if self.runs.len() == BLOCK_RUNS {
                self.cut()?;
            }
        }
        self.stats.instructions = self.stats.instructions.max(batch.instructions);
        self.stats.object_events += batch.events.len() as u64;
        Ok(())
    }

    fn write_events(&mut self) -> io::Result<()> {
        if self.events.is_empty() {
            return Ok(());
        }
        let raw = encode_objects(&self.events);
        self.events.clear();
        self.section(Type::OBJECTS, &raw)
    }

    fn cut(&mut self) -> io::Result<()> {
        self.write_events()?;
        if self.runs.is_empty() {
            return Ok(());
        }
        let PageHead { first, references, .. } = self.head;
        self.index.blocks.push(BlockPlace { offset: self.position, first, time: references });
        let raw = encode_pages(&PageHead { instructions: self.stats.instructions, ..self.head }, &self.runs);
        self.runs.clear();
        self.section(Type::PAGES, &raw)?;
        self.head = PageHead { first: self.stats.runs, references: self.stats.references, instructions: 0 };
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.cut()?;
        let footer = self.position;
        for part in self.index.encode() {
            self.section(Type::INDEX, &part)?;
        }
        self.stats.blocks = self.index.blocks.len() as u64;
        let stats = self.stats.clone().encode();
        self.section(Type::STATS, &stats)?;
        self.section(Type::END, &index::encode_end(footer))?;
        self.out.flush()
    }

    fn section(&mut self, kind: Type, raw: &[u8]) -> io::Result<()> {
        let framed = self.packer.frame(kind, raw)?;
        self.out.write_all(framed)?;
        self.position += framed.len() as u64;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}
