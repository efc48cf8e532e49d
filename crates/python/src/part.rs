//! The requests of a trace from one number up to another.

use hotset_trace::{Batch, Meta, Tables, TraceError, TraceReader};

/// Reads these requests, and of what follows nothing.
pub struct TracePart {
    whole: Box<dyn TraceReader>,
    /// The number of the next request of the whole trace.
    at: u64,
    from: u64,
    to: u64,
}

impl TracePart {
    /// The requests from `from` up to `to`, which is excluded, of a trace that is at its first request.
    pub fn new(whole: Box<dyn TraceReader>, from: u64, to: u64) -> TracePart {
        TracePart { whole, at: 0, from, to }
    }
}

impl TraceReader for TracePart {
    fn meta(&self) -> &Meta {
        self.whole.meta()
    }

    fn tables(&self) -> &Tables {
        self.whole.tables()
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        while batch.is_empty() && self.at < self.to {
            self.whole.read(batch)?;
            if batch.is_empty() {
                break;
            }
            let length = batch.len() as u64;
            let [before, end] = [self.from, self.to].map(|number| number.saturating_sub(self.at).min(length) as usize);
            self.at += length;
            keep(&mut batch.requests, before, end);
            keep(&mut batch.file_sizes, before, end);
            keep(&mut batch.ttls, before, end);
        }
        Ok(())
    }

    fn skipped(&self) -> u64 {
        self.whole.skipped()
    }

    fn remarks(&self) -> Vec<String> {
        self.whole.remarks()
    }
}

/// Leaves those from `before` up to `end`. A column may be shorter than the requests are.
fn keep<T>(column: &mut Vec<T>, before: usize, end: usize) {
    column.truncate(end);
    column.drain(..before.min(column.len()));
}
