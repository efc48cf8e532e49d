//! Runs formats that hold text lines.

use std::ops::Deref;

use memchr::{memchr, memrchr};

use super::{Malformed, NO_TABLES, number::SAFE_DIGITS, scan::digits};
use crate::{Batch, Meta, Tables, TraceError, TraceReader, batch::BATCH_REQUESTS, error::Place, input::Input};

/// The longest line taken for a line, in bytes.
pub const LONGEST_LINE: usize = 16 << 20;

/// A line without its end (`\n` or `\r\n`). Derefs to its bytes.
#[derive(Clone, Copy)]
pub struct TextLine<'a> {
    /// The line and whatever follows it: numbers are parsed eight bytes at a time, across its end.
    bytes: &'a [u8],
    length: usize,
}

impl<'a> TextLine<'a> {
    /// A line with nothing behind it.
    #[inline]
    pub fn new(line: &'a [u8]) -> TextLine<'a> {
        TextLine { bytes: line, length: line.len() }
    }

    /// The line that `bytes` begin with, and its length with its end.
    #[inline]
    fn first(bytes: &'a [u8]) -> (TextLine<'a>, usize) {
        let end = memchr(b'\n', bytes).unwrap_or(bytes.len());
        let length = end - usize::from(end > 0 && bytes[end - 1] == b'\r');
        (TextLine { bytes, length }, bytes.len().min(end + 1))
    }

    /// The bytes of the line.
    #[inline]
    pub fn text(self) -> &'a [u8] {
        &self.bytes[..self.length]
    }

    /// The number below 10^19 that the line is, if it is nothing else.
    #[inline]
    pub fn number(self) -> Option<u64> {
        let (value, count) = digits(self.bytes, 0);
        ((1..=SAFE_DIGITS).contains(&count) && count == self.length).then_some(value)
    }

    /// The bytes of the line and what follows it.
    #[inline]
    pub(super) fn with_next(self) -> &'a [u8] {
        self.bytes
    }
}

impl Deref for TextLine<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.text()
    }
}

/// The part of a text format: reading one line.
pub trait LineFormat: Send {
    /// Facts known before reading.
    fn meta(&self) -> &Meta;

    /// Names met so far.
    fn tables(&self) -> &Tables {
        &NO_TABLES
    }

    /// Looks at a piece of the trace before its lines are parsed.
    fn piece(&mut self, _: &[u8]) {}

    /// Appends the requests of one line, which is never empty. The requests of a malformed line are taken back, and a
    /// blank line may be malformed.
    fn line(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed>;

    /// Appends requests of the line before that are still to come, as far as the batch has room.
    fn go_on(&mut self, _: &mut Batch) {}

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
        self.format.piece(rest);
        let mut failed = None;
        self.format.go_on(batch);
        while !rest.is_empty() && batch.len() < BATCH_REQUESTS {
            let (line, length) = TextLine::first(rest);
            rest = &rest[length..];
            let (requests, sizes) = (batch.requests.len(), batch.file_sizes.len());
            if !line.is_empty()
                && let Err(message) = self.format.line(line, batch)
                && !line.trim_ascii().is_empty()
            {
                batch.requests.truncate(requests);
                batch.file_sizes.truncate(sizes);
                batch.ttls.truncate(requests);
                if !self.skip_bad {
                    failed = Some(TraceError::new(self.input.path(), Place::Line(self.line), message));
                    break;
                }
                self.skipped += 1;
            }
            self.line += 1;
            self.format.go_on(batch);
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
