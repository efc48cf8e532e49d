//! From a trace being read to references that cells can replay.

use hotset_core::policy::{PolicySpec, file_group};
use hotset_trace::{Addressing, Batch, TraceReader};

use crate::error::SimError;
use crate::expand::options::Options;
use crate::expand::requests::{Requests, Told};
use crate::expand::{Expanded, Expander};
use crate::progress::Progress;
use crate::references::References;
use crate::references::numbering::Numbering;

/// A trace ready to be replayed.
pub enum Prepared {
    /// Renumbered and held: any number of cells, curves and offline policies.
    Held(References),
    /// Too large to hold: one pass over all cells at once, through hash directories.
    Stream(Stream),
}

/// A trace that is read while it is replayed.
pub struct Stream {
    pub(crate) source: Box<Source>,
    /// What had been renumbered when the memory ran out, to be replayed first.
    pub(crate) begun: References,
    /// The requests so far, if they were kept for other views.
    pub(crate) requests: Option<Box<Requests>>,
    pub(crate) memory_bytes: u64,
}

impl Stream {
    /// Refuses what a stream cannot give: sizes relative to the footprint, and policies that must know the future.
    pub fn check(&self, needs_footprint: bool, offline: Option<&PolicySpec>) -> Result<(), SimError> {
        if needs_footprint {
            return Err(self.refuse("a size in percent of the footprint", "or give sizes in blocks or bytes"));
        }
        offline.map_or(Ok(()), |policy| Err(self.refuse_future(policy.to_string())))
    }

    /// The reader, once the trace was replayed.
    pub fn into_reader(self) -> Box<dyn TraceReader> {
        self.source.reader
    }

    /// The error for a policy that must know the future.
    pub(crate) fn refuse_future(&self, policy: String) -> SimError {
        self.refuse_part(format!("{policy} must know the future of the whole trace"), "or leave the policy out")
    }

    /// The error for something that a part of the trace does not tell.
    pub(crate) fn refuse_part(&self, what: impl Into<String>, instead: impl Into<String>) -> SimError {
        SimError::Part {
            what: what.into(),
            budget: format!("{} MiB", self.memory_bytes >> 20),
            instead: instead.into(),
        }
    }

    /// The error for something that needs every block numbered.
    pub fn refuse(&self, what: impl Into<String>, instead: impl Into<String>) -> SimError {
        SimError::over_budget(what, self.begun.distinct(), self.memory_bytes, instead)
    }
}

/// A reader and the cutter of its requests.
pub(crate) struct Source {
    reader: Box<dyn TraceReader>,
    expander: Expander,
    batch: Batch,
    /// Requests of the batch that are cut to their end.
    cut: usize,
}

impl Source {
    /// Reads the next batch of requests, once the one before it is cut; `false` at the end of the trace.
    pub fn read(&mut self) -> Result<bool, SimError> {
        self.reader.read(&mut self.batch)?;
        self.cut = 0;
        Ok(!self.batch.is_empty())
    }

    /// Cuts the next piece of the batch; `false` if all of it is cut.
    pub fn cut(&mut self, out: &mut Expanded) -> Result<bool, SimError> {
        out.clear();
        let mut rest = &self.batch.requests[self.cut..];
        self.expander.expand(&mut rest, out)?;
        self.cut = self.batch.len() - rest.len();
        Ok(!out.is_empty())
    }

    /// Appends the types of files that appeared since the last call. If offsets are not places in files, no type is
    /// known.
    pub fn append_groups(&self, known: &mut Vec<u32>) {
        if self.reader.meta().addressing != Addressing::Objects {
            let files = self.reader.tables().files.get(known.len()..).unwrap_or_default();
            known.extend(files.iter().map(|file| file_group(&file.path, file.kind)));
        }
    }

    /// The batch, uncut.
    pub fn told(&self) -> Told<'_> {
        Told { requests: &self.batch.requests, sizes: &self.batch.file_sizes, tables: self.reader.tables() }
    }
}

/// Reads and renumbers a trace, as far as memory allows. The reader comes back with its tables and remarks when all of
/// it was read.
pub fn prepare(
    reader: Box<dyn TraceReader>,
    options: &Options,
    progress: &dyn Progress,
) -> Result<(Prepared, Option<Box<dyn TraceReader>>), SimError> {
    let expander = options.expander(reader.meta());
    let mut source = Source { reader, expander, batch: Batch::new(), cut: 0 };
    let mut numbering = Numbering::default();
    let mut expanded = Expanded::default();
    let mut requests = options.keep_requests.then(|| Box::new(Requests::new(source.reader.meta(), options)));
    while source.read()? {
        if let Some(requests) = &mut requests {
            requests.append(&source.batch);
        }
        while source.cut(&mut expanded)? {
            numbering.append(&expanded)?;
            progress.advance(expanded.keys.len() as u64);
            let kept = requests.as_ref().map_or(0, |requests| requests.memory_bytes()) + source.reader.held_bytes();
            if numbering.memory_bytes() + kept > options.memory_bytes {
                let mut begun = numbering.begun();
                begun.apps.clone_from(&source.reader.tables().apps);
                source.append_groups(&mut begun.groups);
                let stream = Stream { source: Box::new(source), begun, requests, memory_bytes: options.memory_bytes };
                return Ok((Prepared::Stream(stream), None));
            }
        }
    }
    let mut held = numbering.finish();
    held.apps.clone_from(&source.reader.tables().apps);
    source.append_groups(&mut held.groups);
    if let Some(requests) = &mut requests {
        requests.tables = source.reader.tables().clone();
    }
    held.requests = requests;
    Ok((Prepared::Held(held), Some(source.reader)))
}
