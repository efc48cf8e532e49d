//! Runs formats that hold text lines.

use memchr::{memchr, memrchr};

use super::{Malformed, NO_TABLES};
use crate::{Batch, Meta, Tables, TraceError, TraceReader, batch::BATCH_REQUESTS, error::Place, input::Input};

/// The longest line taken for a line, in bytes.
pub const LONGEST_LINE: usize = 16 << 20;

/// What a text format has to know: one line.
pub trait LineFormat: Send {
    /// What is known beforehand.
    fn meta(&self) -> &Meta;

    /// Names met so far.
    fn tables(&self) -> &Tables {
        &NO_TABLES
    }

    /// Appends the requests of one line, which comes without its end (`\n` or `\r\n`) and is never blank. What a malformed line has
    /// appended is taken back.
    fn line(&mut self, line: &[u8], batch: &mut Batch) -> Result<(), Malformed>;

    /// Things to tell about the trace once it has been read.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Reads a trace of text lines: `\n` or `\r\n`, blank lines allowed, the last one with or without its end.
pub struct Lines<F> {
    input: Input,
    format: F,
    line: u64,
    skip_bad: bool,
    skipped: u64,
    at_end: bool,
}

impl<F: LineFormat> Lines<F> {
    /// A reader of the rest of `input`, which begins with line `first_line` (from 1).
    pub fn new(input: Input, format: F, first_line: u64, skip_bad: bool) -> Lines<F> {
        Lines { input, format, line: first_line, skip_bad, skipped: 0, at_end: false }
    }

    /// Gives the parser back.
    pub fn into_format(self) -> F {
        self.format
    }

    /// Parses lines of the data at hand until the batch is full or no whole line is left.
    fn parse_piece(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        let data = self.input.data();
        // A line that damage has cut could pass for another one.
        let last_is_whole = self.at_end && self.input.damage().is_none();
        let whole = if last_is_whole { data.len() } else { memrchr(b'\n', data).map_or(0, |last| last + 1) };
        let mut rest = &data[..whole];
        let mut failed = None;
        while !rest.is_empty() && batch.len() < BATCH_REQUESTS {
            let length = memchr(b'\n', rest).unwrap_or(rest.len());
            let line = strip_return(&rest[..length]);
            rest = &rest[rest.len().min(length + 1)..];
            let (requests, sizes) = (batch.requests.len(), batch.file_sizes.len());
            if !line.is_empty()
                && let Err(message) = self.format.line(line, batch)
                && !line.trim_ascii().is_empty()
            {
                batch.requests.truncate(requests);
                batch.file_sizes.truncate(sizes);
                if !self.skip_bad {
                    failed = Some(TraceError::new(self.input.path(), Place::Line(self.line), message));
                    break;
                }
                self.skipped += 1;
            }
            self.line += 1;
        }
        let parsed = whole - rest.len();
        self.input.consume(parsed);
        failed.map_or(Ok(()), Err)
    }

    /// Drops a line that is too long to be one, or fails for it.
    fn skip_long_line(&mut self) -> Result<(), TraceError> {
        if !self.skip_bad {
            let message = "found a line longer than 16 MiB; expected text lines";
            return Err(TraceError::new(self.input.path(), Place::Line(self.line), message));
        }
        self.skipped += 1;
        loop {
            let data = self.input.data();
            let end = memchr(b'\n', data);
            let dropped = end.unwrap_or(data.len());
            self.input.consume(dropped);
            if end.is_some() || !self.input.more()? {
                return Ok(());
            }
        }
    }
}

impl<F: LineFormat> TraceReader for Lines<F> {
    fn meta(&self) -> &Meta {
        self.format.meta()
    }

    fn tables(&self) -> &Tables {
        self.format.tables()
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        loop {
            self.parse_piece(batch)?;
            if batch.len() >= BATCH_REQUESTS || self.at_end {
                return Ok(());
            }
            if self.input.data().len() > LONGEST_LINE {
                self.skip_long_line()?;
            }
            self.at_end = !self.input.more()?;
        }
    }

    fn skipped(&self) -> u64 {
        self.skipped + u64::from(self.input.damage().is_some())
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.format.remarks();
        remarks.extend(self.input.damage().map(str::to_owned));
        remarks
    }
}

fn strip_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
