//! The front door: a trace × policies × sizes → rows of results.
//!
//! A [`Sweep`] says what is replayed and how. [`Sweep::run`] reads a trace, replays every policy at every size on all
//! cores, and gives one row a cell, policy by policy. Rows of a trace of memory tell faults.

mod cache;
mod driven;
mod memory;

use std::ops::Range;

use hotset_core::classify::Rules;
use hotset_core::policy::PolicySpec;
use hotset_core::spec::{SizeSpec, SpecError};
use hotset_results::{Row, SeriesRow};
use hotset_trace::{Trace, TraceError};

use crate::clock;
use crate::error::SimError;
use crate::expand::options::Options;
use crate::paging::Frees;
use crate::progress::Observer;
use crate::select::Selection;

pub use driven::Driven;

/// Default sizes, each of at least one block.
pub const SIZES: &str = "2%,5%,10%,20%,40%,80%";

/// The sizes of a text as the setting `size` has it, or [`SIZES`].
pub fn sizes(text: Option<&str>) -> Result<SizeSpec, SpecError> {
    match text {
        Some(text) => SizeSpec::parse(text),
        None => SizeSpec::parse(SIZES).map(SizeSpec::at_least_one_block),
    }
}

/// The replayed traces and options.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The policies.
    pub policies: Vec<PolicySpec>,
    /// Only these of them, by number, are replayed on a trace of requests. All of them decide how it is read and held,
    /// so that the rows of parts together are those of the whole. (Rows of memory depend on each other, so they have no
    /// parts.)
    pub part: Option<Range<usize>>,
    /// True for traces of memory, whose policies are called on faults ([`PolicySpec::parse_paging_list`]); other traces
    /// are refused then. Otherwise the pages of such a trace are blocks like any other.
    pub of_memory: bool,
    /// The sizes of the cache.
    pub sizes: SizeSpec,
    /// How traces are cut into blocks. Whether requests and times are kept follows from the policies.
    pub options: Options,
    /// Which requests are replayed, and which of them count.
    pub selection: Selection,
    /// Classes of data in place of the built-in ones.
    pub rules: Option<Rules>,
    /// Seed of the policies that draw random numbers.
    pub seed: u64,
    /// Replays on a clock, if there is one.
    pub clock: Option<clock::ClockOptions>,
    /// What frees do, in traces of memory.
    pub frees: Frees,
    /// Rows tell what policies have learnt.
    pub explain: bool,
    /// The policies are all of the registry: those that cannot be measured in bytes of objects are left out if sizes
    /// are in bytes, and the observer is informed.
    pub is_all: bool,
    /// Rows of caches measured in bytes of objects tell what no policy exceeds.
    pub bounds: bool,
}

/// The results of a sweep over one trace.
#[derive(Clone, Debug)]
pub struct Swept {
    /// One row a cell: policy by policy, each at all sizes.
    pub rows: Vec<Row>,
    /// Rows of one stretch of time after another, if the clock has samples.
    pub series: Vec<SeriesRow>,
}

impl Sweep {
    /// These policies at these sizes; all else is the default.
    pub fn new(policies: Vec<PolicySpec>, sizes: SizeSpec) -> Sweep {
        Sweep {
            policies,
            part: None,
            of_memory: false,
            sizes,
            options: Options::default(),
            selection: Selection::default(),
            rules: None,
            seed: 1,
            clock: None,
            frees: Frees::Drop,
            explain: false,
            is_all: false,
            bounds: false,
        }
    }

    /// The same from text, as the settings `policy` and `size` have it.
    pub fn parse(policies: &str, sizes: &str) -> Result<Sweep, SpecError> {
        Ok(Sweep::new(PolicySpec::parse_list(policies)?, SizeSpec::parse(sizes)?))
    }

    /// The policies that are replayed.
    fn replayed(&self) -> &[PolicySpec] {
        let all = 0..self.policies.len();
        let part = self.part.clone().map_or(all.clone(), |part| part.start.min(all.end)..part.end.min(all.end));
        self.policies.get(part).unwrap_or_default()
    }

    /// Replays the trace that `open` opens, twice where the selection must know its length. Its rows and errors call it
    /// `name`.
    pub fn run(
        &self,
        name: &str,
        open: impl Fn() -> Result<Trace, TraceError>,
        observer: &dyn Observer,
    ) -> Result<Swept, SimError> {
        // Where blocks have a size of their own, sizes are kept in any case.
        let options = Options { keep_sizes: self.sizes.has_bytes(), ..self.options.clone() };
        let mut trace = self.selection.open(name, open, &options)?;
        if self.of_memory && trace.reader.memory().is_none() {
            return Err(SimError::NoMemoryTrace { trace: name.to_owned() });
        }
        match self.of_memory {
            true => Ok(Swept { rows: self.over_memory(name, trace, observer)?, series: Vec::new() }),
            false => self.over_requests(name, trace, observer),
        }
    }
}
