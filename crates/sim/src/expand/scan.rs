//! The blocks of a trace in the order of their references, handed over as they are cut, and what is deleted between
//! them: nothing is numbered, nothing is held.

use hotset_trace::{Batch, TraceReader};

use crate::error::SimError;
use crate::expand::Expanded;
use crate::expand::options::Options;
use crate::progress::Progress;
use crate::window::What;

/// The next entry of a trace.
#[derive(Clone, Copy, Debug)]
pub enum Scanned<'a> {
    /// The keys of referenced blocks: the object in the high half.
    Blocks(&'a [u64]),
    /// A block is invalidated.
    Removed(u64),
    /// A block is invalidated, and all whose keys are greater and have the same high half.
    RemovedFrom(u64),
}

/// Reads a trace to its end and hands it to `visit`, a piece at a time.
pub fn scan(
    reader: &mut dyn TraceReader,
    options: &Options,
    progress: &dyn Progress,
    mut visit: impl FnMut(&Scanned),
) -> Result<(), SimError> {
    let mut expander = options.expander(reader.meta());
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
            let mut begin = 0;
            for event in &expanded.events {
                visit(&Scanned::Blocks(&expanded.keys[begin..event.at as usize]));
                begin = event.at as usize;
                for &key in &expanded.event_keys[event.keys.clone()] {
                    visit(&if event.what == What::Remove { Scanned::Removed(key) } else { Scanned::RemovedFrom(key) });
                }
            }
            visit(&Scanned::Blocks(&expanded.keys[begin..]));
            progress.advance(expanded.keys.len() as u64);
        }
    }
}
