//! The blocks of a trace in the order of their references, handed over as they are cut: nothing is numbered, nothing is
//! held.

use hotset_trace::{Batch, TraceReader};

use crate::error::SimError;
use crate::expand::{Expanded, Expander};
use crate::prepare::Options;
use crate::progress::Progress;

/// Reads a trace to its end and hands the keys of its blocks to `visit`, a piece at a time.
pub fn scan(
    reader: &mut dyn TraceReader,
    options: &Options,
    progress: &dyn Progress,
    mut visit: impl FnMut(&[u64]),
) -> Result<(), SimError> {
    let mut expander = Expander::of(reader.meta(), options);
    let mut expanded = Expanded::default();
    let mut batch = Batch::new();
    loop {
        reader.read(&mut batch)?;
        if batch.is_empty() {
            return Ok(());
        }
        let mut rest = &batch.requests[..];
        while !rest.is_empty() {
            expanded.clear();
            expander.expand(&mut rest, &mut expanded)?;
            visit(&expanded.keys);
            progress.advance(expanded.keys.len() as u64);
        }
    }
}
