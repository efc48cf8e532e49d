//! The content of a trace: one pass that counts operations, sizes, sequences, applications, files and reuse distances.
//!
//! Requests are the entries of the trace, metadata operations included; references are blocks of requests that move
//! data, as everywhere (DESIGN section 6). Memory follows the number of files, applications and distinct blocks. If the
//! blocks outgrow the memory budget, footprint and reuse distances are estimated from a sample of them and everything
//! else is still counted.

mod blocks;
mod groups;
mod operations;
mod page_cache;
mod pattern;
mod places;
mod ranking;
mod sequence;
mod sizes;
mod told;

use hotset_core::request::{FLAG_CONTINUED, Op, Request};
use hotset_core::view::Cutting;
use hotset_trace::{Batch, Meta, Tables, TraceReader};
use serde::Serialize;

pub use blocks::{Bin, Reuse};
pub use groups::{File, Group, Ranked, Unseen};
pub use operations::Operation;
pub use page_cache::PageCache;
pub use pattern::{Grid, Pattern};
pub use places::Places;
pub use ranking::{By, Ranking};
pub use sequence::Sequences;
pub use sizes::{SizeBin, Sizes};
pub use told::{Told, choice};

use crate::error::SimError;
use crate::expand::options::Options;
use crate::expand::{Expanded, Expander};
use crate::progress::Progress;
use blocks::{Blocks, Seen};
use groups::{Groups, Share};
use operations::Operations;
use sequence::SequenceMeter;
use sizes::SizeMeter;

/// The content of a trace. A field that does not apply is absent.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// Name of its format.
    pub format: &'static str,
    /// Requests, metadata operations and failed ones included.
    pub requests: u64,
    /// Requests that failed: they count by operation and nowhere else.
    pub failed_requests: u64,
    /// The share of blocks from which footprint and reuse distances are estimated, when there were too many for the
    /// memory allowed; absent when they are exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling_rate: Option<f64>,
    /// Seconds from the least time to the greatest; absent when the trace has no times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_span_s: Option<f64>,
    /// Bytes of a block, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<u64>,
    /// Blocks referenced.
    pub references: u64,
    /// Distinct blocks.
    pub distinct_blocks: u64,
    /// The same in bytes, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub footprint_bytes: Option<u64>,
    /// By operation, those that occur; empty when the trace does not tell them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<Operation>,
    /// Sizes of the requests that move data; absent when the trace does not tell them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_sizes: Option<Sizes>,
    /// How sequential the requests are; absent for objects, which have no neighbours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequences: Option<Sequences>,
    /// The behaviour of the recorded machine's page cache; absent if the recording does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_cache: Option<PageCache>,
    /// Mapped data of which not every touch is a reference; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen: Option<Unseen>,
    /// Kinds of what is touched, the most referenced first; empty when the trace does not tell them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Group>,
    /// Applications; absent when the trace does not name them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apps: Option<Ranked<Group>>,
    /// Files; absent when the trace does not name them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Ranked<File>>,
    /// By what was asked for; absent unless something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranked: Option<RankedBy>,
    /// Reuse distances; absent without references.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse: Option<Reuse>,
}

/// A ranking that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankedBy {
    /// What requests are counted by.
    pub by: By,
    /// The first of them.
    #[serde(flatten)]
    pub groups: Ranked<Group>,
}

/// Reads the trace to its end and tells what is in it, as much of each ranking as `ranking` says; the picture of its
/// access pattern, if one is wanted, is drawn into `pattern`.
pub fn inspect(
    reader: &mut dyn TraceReader,
    options: &Options,
    ranking: &Ranking,
    mut pattern: Option<&mut Pattern>,
    progress: &dyn Progress,
) -> Result<Inspection, SimError> {
    let meta = reader.meta().clone();
    let mut inspector = Inspector::new(&meta, options, *ranking);
    let mut batch = Batch::new();
    if let Some(pattern) = pattern.as_deref_mut().filter(|_| inspector.cuts_objects()) {
        pattern.places = None;
    }
    loop {
        reader.read(&mut batch)?;
        if batch.is_empty() {
            pattern.into_iter().for_each(|pattern| pattern.name(reader.tables()));
            return inspector.finish(&meta, reader.tables());
        }
        progress.advance(inspector.feed(&batch.requests, reader.tables(), pattern.as_deref_mut())?);
    }
}

struct Inspector {
    cutting: Cutting,
    expander: Expander,
    expanded: Expanded,
    /// References of each request of the batch that has some.
    shares: Vec<Share>,
    requests: u64,
    failed: u64,
    references: u64,
    times: Option<(u64, u64)>,
    operations: Operations,
    sizes: SizeMeter,
    sequences: SequenceMeter,
    page_cache: PageCache,
    groups: Groups,
    ranking: Ranking,
    blocks: Blocks,
}

impl Inspector {
    fn new(meta: &Meta, options: &Options, ranking: Ranking) -> Inspector {
        Inspector {
            cutting: options.cutting(meta),
            expander: options.expander(meta),
            expanded: Expanded::default(),
            shares: Vec::new(),
            requests: 0,
            failed: 0,
            references: 0,
            times: None,
            operations: Operations::default(),
            sizes: SizeMeter::default(),
            sequences: SequenceMeter::default(),
            page_cache: PageCache::default(),
            groups: Groups::new(ranking.by == Some(By::Object)),
            ranking,
            blocks: Blocks::new(options.memory_bytes),
        }
    }

    /// True if objects are cut into blocks, whose numbers do not tell which object they are of.
    fn cuts_objects(&self) -> bool {
        self.cutting.objects && self.cutting.block().bytes().is_some()
    }

    /// Counts requests and returns how many references they make.
    fn feed(
        &mut self,
        requests: &[Request],
        tables: &Tables,
        mut pattern: Option<&mut Pattern>,
    ) -> Result<u64, SimError> {
        let before = self.references;
        for request in requests {
            self.note(request);
            let mut first = self.cutting.blocks(request).first;
            let mut rest = std::slice::from_ref(request);
            while !rest.is_empty() {
                let cut = self.expanded.keys.len();
                self.expander.expand(&mut rest, &mut self.expanded)?;
                let references = (self.expanded.keys.len() - cut) as u64;
                if references > 0 {
                    self.shares.push(Share { file: request.file, kind: request.kind, first, references });
                    first = first.saturating_add(references);
                }
                if self.expanded.is_full() {
                    self.count_blocks(tables, pattern.as_deref_mut())?;
                }
            }
        }
        self.count_blocks(tables, pattern)?;
        Ok(self.references - before)
    }

    /// Counts the references that have been cut.
    fn count_blocks(&mut self, tables: &Tables, pattern: Option<&mut Pattern>) -> Result<(), SimError> {
        self.references += self.expanded.keys.len() as u64;
        let mut seen = Seen { groups: &mut self.groups, pattern, tables };
        self.blocks.feed(&self.expanded.keys, &self.shares, &mut seen)?;
        self.expanded.clear();
        self.shares.clear();
        Ok(())
    }

    /// Counts a single request.
    fn note(&mut self, request: &Request) {
        let continued = request.flags & FLAG_CONTINUED != 0;
        self.requests += u64::from(!continued);
        self.operations.note(request, continued);
        let (first, last) = self.times.unwrap_or((request.time, request.time));
        self.times = Some((first.min(request.time), last.max(request.time)));
        if request.failed() {
            self.failed += u64::from(!continued);
            return;
        }
        let references = self.cutting.references(request);
        self.groups.note(request, continued, references);
        self.page_cache.note(request);
        if request.op().is_data() && (request.op() != Op::Map || references > 0) {
            self.sizes.note(request.length.into(), continued);
        }
        if matches!(request.op(), Op::Read | Op::Write) && request.length > 0 {
            self.sequences.note(request, continued);
        }
    }

    fn finish(self, meta: &Meta, tables: &Tables) -> Result<Inspection, SimError> {
        let Ranking { top, by } = self.ranking;
        let span = self.times.filter(|_| meta.has_time).map(|(first, last)| (last - first) as f64 / 1e9);
        let known = self.blocks.finish();
        let block_bytes = self.cutting.block().bytes();
        let ranked = by.map(|by| self.groups.ranked(by, meta, tables, top)).transpose()?;
        Ok(Inspection {
            format: meta.format,
            requests: self.requests,
            failed_requests: self.failed,
            time_span_s: span,
            block_bytes,
            references: self.references,
            distinct_blocks: known.distinct,
            sampling_rate: known.sampling_rate,
            footprint_bytes: block_bytes.map(|bytes| known.distinct.saturating_mul(bytes)),
            operations: if meta.has_ops { self.operations.finish() } else { Vec::new() },
            request_sizes: self.sizes.finish(),
            sequences: if self.cutting.objects { None } else { self.sequences.finish() },
            page_cache: self.page_cache.finish(),
            unseen: self.groups.unseen(tables, block_bytes.unwrap_or(0)),
            kinds: self.groups.kinds(tables),
            apps: self.groups.apps(tables, top),
            files: self.groups.files(tables, self.references, known.sampling_rate.is_none(), top),
            ranked,
            reuse: known.reuse,
        })
    }
}

#[cfg(test)]
mod tests;
