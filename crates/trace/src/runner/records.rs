//! Runs binary formats of fixed-size records.

use super::{Malformed, NO_TABLES};
use crate::{Batch, Meta, Tables, TraceError, TraceReader, batch::BATCH_REQUESTS, error::Place, input::Input};

/// The part of a format of `BYTES`-byte records: reading one record.
pub trait RecordFormat<const BYTES: usize>: Send {
    /// Facts known before reading.
    fn meta(&self) -> &Meta;

    /// Names met so far.
    fn tables(&self) -> &Tables {
        &NO_TABLES
    }

    /// Appends the requests of one record; appends nothing when the record is malformed.
    fn record(&mut self, record: &[u8; BYTES], batch: &mut Batch) -> Result<(), Malformed>;

    /// Things to tell about the trace once it has been read.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Reads a trace of fixed-size records.
pub struct Records<F, const BYTES: usize> {
    input: Input,
    format: F,
    skip_bad: bool,
    skipped: u64,
}

impl<const BYTES: usize, F: RecordFormat<BYTES>> Records<F, BYTES> {
    /// A reader of the rest of `input`.
    pub fn new(input: Input, format: F, skip_bad: bool) -> Records<F, BYTES> {
        Records { input, format, skip_bad, skipped: 0 }
    }

    /// Parses records of the data at hand until the batch is full or no whole record is left.
    fn parse_piece(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        let (records, _) = self.input.data().as_chunks::<BYTES>();
        let mut parsed = 0;
        let mut failed = None;
        for record in records {
            if batch.len() >= BATCH_REQUESTS {
                break;
            }
            if let Err(message) = self.format.record(record, batch) {
                if !self.skip_bad {
                    let place = Place::Byte(self.input.position() + (parsed * BYTES) as u64);
                    failed = Some(TraceError::new(self.input.path(), place, message));
                    break;
                }
                self.skipped += 1;
            }
            parsed += 1;
        }
        self.input.consume(parsed * BYTES);
        failed.map_or(Ok(()), Err)
    }

    /// The end of the input: a part of a record is left if the trace was cut.
    fn finish(&mut self) -> Result<(), TraceError> {
        let left = self.input.data().len();
        if left == 0 {
            return Ok(());
        }
        if self.skip_bad {
            self.skipped += 1;
            self.input.consume(left);
            return Ok(());
        }
        let message = format!("truncated: found {left} bytes of a last record; expected {BYTES}");
        Err(TraceError::new(self.input.path(), Place::Byte(self.input.position()), message))
    }
}

impl<const BYTES: usize, F: RecordFormat<BYTES>> TraceReader for Records<F, BYTES> {
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
            if batch.len() >= BATCH_REQUESTS {
                return Ok(());
            }
            if !self.input.more()? {
                return self.finish();
            }
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
