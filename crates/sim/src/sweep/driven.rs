//! A replay with an external policy.

use hotset_core::spec::ObjectSize;
use hotset_results::Row;
use hotset_trace::{Trace, TraceError};

use super::Sweep;
use crate::engine::{Count, Tally, Transfers};
use crate::error::SimError;
use crate::expand::options::Options;
use crate::facts::TraceFacts;
use crate::progress::Observer;
use crate::references::References;
use crate::references::prepare::{Prepared, prepare};
use crate::select::Selection;
use crate::window::{Event, WINDOW};

/// The name of such a policy in errors.
const WHO: &str = "a policy of your own";

/// A trace whose references another program replays: it gets them in order, reports which of them hit, and gets the row
/// that a policy of the list would have.
pub struct Driven {
    references: References,
    facts: TraceFacts,
    sizes: Vec<u32>,
    seed: u64,
    selection: Selection,
}

impl Sweep {
    /// The trace that `open` opens, for another program's replay. The policies and the clock of the sweep do not
    /// matter. Fails where a replay of this sweep would, for a trace that memory does not hold, and for sizes in bytes
    /// of objects.
    pub fn driven(
        &self,
        name: &str,
        open: impl Fn() -> Result<Trace, TraceError>,
        observer: &dyn Observer,
    ) -> Result<Driven, SimError> {
        let mut trace = self.selection.open(name, open, &self.options)?;
        if trace.reader.memory().is_some() {
            return Err(SimError::NotOfMemory { trace: name.to_owned(), what: WHO.to_owned() });
        }
        let meta = trace.meta().clone();
        let block_bytes = self.options.block_bytes(&meta);
        if self.is_in_bytes(block_bytes) {
            let why = "it has keys and no sizes";
            return Err(SimError::InBytes { policy: WHO.to_owned(), why: why.to_owned() });
        }
        let options = Options { keep_requests: false, keep_times: false, keep_sizes: false, ..self.options.clone() };
        let prepared = {
            let reading = observer.reading(name, &trace.progress);
            prepare(trace.reader, &options, reading.as_ref())?
        };
        let (references, reader) = match prepared {
            (Prepared::Held(references), Some(reader)) => (references, reader),
            (Prepared::Held(_), None) => unreachable!("a held trace has been read"),
            (Prepared::Stream(stream), _) => return Err(stream.refuse(WHO, "or leave it out")),
        };
        observer.read(name, reader.as_ref());
        if references.is_empty() {
            return Err(SimError::nothing_referenced(name, &self.selection));
        }
        let footprint = references.distinct();
        let sizes = self.resolved(footprint.into(), &references, block_bytes, meta.sample)?;
        let facts = self.facts(name, &meta, reader.as_ref(), block_bytes, Some(footprint));
        let sizes = sizes.into_iter().map(|size| size.objects).collect();
        Ok(Driven { references, facts, sizes, seed: self.seed, selection: self.selection.clone() })
    }
}

impl Driven {
    /// The sizes of the sweep, in blocks.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// References in all.
    pub fn references(&self) -> u64 {
        self.references.len()
    }

    /// Windows of references, one after another.
    pub fn windows(&self) -> usize {
        self.references.ids().len().div_ceil(WINDOW)
    }

    /// The blocks of a window that are referred to, numbered from 0 on as they first appear in the trace.
    pub fn blocks(&self, window: usize) -> &[u32] {
        let ids = self.references.ids();
        let begin = (window * WINDOW).min(ids.len());
        &ids[begin..(begin + WINDOW).min(ids.len())]
    }

    /// Blocks whose data became worth nothing, as their file was deleted or cut: before which reference of the window,
    /// and the block. In order.
    pub fn removals(&self, window: usize) -> Vec<(usize, u32)> {
        let shown = self.references.window_of((window * WINDOW) as u64, self.blocks(window));
        let of_event = |event: &Event| {
            let at = (event.at - shown.first) as usize;
            shown.event_keys[event.keys.clone()].iter().map(move |&block| (at, block)).collect::<Vec<_>>()
        };
        shown.events.iter().flat_map(of_event).collect()
    }

    /// The row of a policy with a capacity of `size` blocks, under which these references of all hit: a bit each, the
    /// lowest of the first word for the first. Facts that only the policy knows, such as blocks written back, are
    /// absent.
    pub fn row(&self, policy: String, size: u32, hits: &[u64]) -> Result<Row, SimError> {
        let mut count = Count::new(&[], self.references.has_apps());
        for (window, hits) in self.references.windows().zip(hits.chunks(WINDOW / 64)) {
            count.add(&window, hits, |_| u32::MAX);
        }
        let tally: Tally = count.tally(&Transfers::default(), &[]);
        if tally.total.references == 0 {
            return Err(SimError::nothing(&self.facts.name, &self.selection));
        }
        let row = self.facts.row(policy, ObjectSize::of_objects(size), self.seed, &tally);
        Ok(Row { write_backs: None, ..row })
    }
}
