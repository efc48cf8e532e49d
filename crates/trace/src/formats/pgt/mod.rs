//! `pgt`: page-level references of a program, runs of references to one page as varints.
//!
//! A record is `zigzag(page - previous page)`, `2n + (w > 0)`, and `w` if the low bit of that is set: n consecutive
//! references to one page of 4 KiB, w of them writes, all LEB128. Objects are in `NAME.obj.csv` in the same directory.

mod objects;
#[cfg(test)]
mod tests;

use crate::{
    Format, OpenOptions, TraceError, TraceReader,
    error::Place,
    formats::{Confidence, Head},
    input::Input,
    memory::{BATCH_RUNS, MOST_PAGES, MemoryBatch, MemoryMeta, MemoryReader, ObjectEvent, PageRun},
    native::bytes::{get_varint, unzigzag},
    runner::memory::{Requests, Story},
};

/// The format's line in the table.
pub const FORMAT: Format = Format {
    name: "pgt",
    summary: "page-level memory references of a program; its objects are in NAME.obj.csv",
    example: "binary: varints zigzag(page - previous), 2n + (w > 0), [w]",
    // Page 3 read twice, page 4 referenced 5 times, twice to write, page 1 read 64 times.
    sample: &[6, 4, 2, 11, 2, 5, 0x80, 1],
    detect,
    open,
};

/// Bytes of the longest record.
const LONGEST: usize = 30;

const PAGE_BYTES: u32 = 4096;

/// Nothing in the bytes tells; the name does.
fn detect(head: &Head) -> Confidence {
    if head.name.ends_with(".pgt") { Confidence::Sure } else { Confidence::No }
}

fn open(input: Input, options: &OpenOptions) -> Result<Box<dyn TraceReader>, TraceError> {
    Ok(Box::new(Requests::new(FORMAT.name, Pgt::new(input, options.skip_bad)?)))
}

/// A `pgt` trace being read.
pub struct Pgt {
    input: Input,
    skip_bad: bool,
    skipped: u64,
    remarks: Vec<String>,
    /// Page of the last record.
    page: u64,
    references: u64,
    /// References that the object list covers.
    told: Option<u64>,
    events: std::iter::Peekable<std::vec::IntoIter<ObjectEvent>>,
    ended: bool,
}

impl Pgt {
    /// Reads the objects beside the trace, and begins.
    pub fn new(input: Input, skip_bad: bool) -> Result<Pgt, TraceError> {
        let mut remarks = Vec::new();
        let objects = match objects::beside(input.path()) {
            Some(path) => objects::read(&path)?,
            None => {
                remarks
                    .push("the directory of the trace has no NAME.obj.csv, so no page belongs to an object".to_owned());
                objects::Objects::default()
            }
        };
        let events = objects.events.into_iter().peekable();
        let told = objects.references;
        Ok(Pgt { input, skip_bad, skipped: 0, remarks, page: 0, references: 0, told, events, ended: false })
    }

    /// Parses the records at hand of which at least `sure` bytes are there, as far as the batch has room.
    fn parse(&mut self, batch: &mut MemoryBatch, sure: usize) -> Result<(), TraceError> {
        let data = self.input.data();
        let mut at = 0;
        let mut refused = None;
        while batch.runs.len() < BATCH_RUNS && at < data.len() && data.len() - at >= sure {
            let start = at;
            match record(data, &mut at, self.page) {
                Ok(run) => {
                    self.page = run.page;
                    self.references = self.references.saturating_add(run.references);
                    batch.runs.push(run);
                }
                Err(_) if self.skip_bad => {
                    self.skipped += 1;
                    at = at.max(start + 1);
                }
                Err(message) => {
                    let place = Place::Byte(self.input.position() + start as u64);
                    refused = Some(TraceError::new(self.input.path(), place, message));
                    break;
                }
            }
        }
        self.input.consume(at);
        refused.map_or(Ok(()), Err)
    }

    fn end(&mut self, batch: &mut MemoryBatch) -> Result<(), TraceError> {
        self.ended = true;
        batch.events.extend(&mut self.events);
        if let Some(told) = self.told.filter(|&told| told != self.references) {
            let message = format!(
                "the trace ends after {} references; expected {told}, as its object list says",
                self.references
            );
            if !self.skip_bad {
                return Err(TraceError::new(self.input.path(), Place::File, message));
            }
            self.remarks.push(message);
        }
        Ok(())
    }
}

/// The record at `*at`, behind one of `page`; `*at` goes behind what could be read.
#[inline(always)]
fn record(data: &[u8], at: &mut usize, page: u64) -> Result<PageRun, String> {
    let mut next = || get_varint(data, at).ok_or("found a number that does not end; expected a record of a pgt trace");
    let page = page.wrapping_add(unzigzag(next()?));
    let folded = next()?;
    let references = folded >> 1;
    let writes = if folded & 1 == 1 { next()? } else { 0 };
    if page >= MOST_PAGES {
        return Err(format!("found page {page}; expected one below 2^52"));
    }
    if references == 0 || writes > references || (folded & 1 == 1 && writes == 0) {
        return Err(format!(
            "found {references} references to page {page}, {writes} of them writes; expected 1 or more, and not more writes"
        ));
    }
    Ok(PageRun { page, references, writes })
}

impl MemoryReader for Pgt {
    fn memory_meta(&self) -> MemoryMeta {
        MemoryMeta { page_bytes: PAGE_BYTES, has_writes: true }
    }

    fn read_memory(&mut self, batch: &mut MemoryBatch) -> Result<(), TraceError> {
        batch.clear();
        if self.ended {
            return Ok(());
        }
        while batch.runs.len() < BATCH_RUNS {
            if self.input.at_least(LONGEST)?.len() >= LONGEST {
                self.parse(batch, LONGEST)?;
            } else if self.input.data().is_empty() {
                break;
            } else {
                self.parse(batch, 1)?;
            }
        }
        while let Some(event) = self.events.next_if(|event| event.at <= self.references) {
            batch.events.push(event);
        }
        if batch.runs.is_empty() { self.end(batch) } else { Ok(()) }
    }
}

impl Story for Pgt {
    fn skipped(&self) -> u64 {
        self.skipped + u64::from(self.input.damage().is_some())
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.iter().cloned().chain(self.input.damage().map(str::to_owned)).collect()
    }
}
