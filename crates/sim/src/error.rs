//! What can go wrong in a simulation.

use hotset_core::spec::SpecError;
use hotset_core::view::TooManySegments;
use hotset_trace::TraceError;

use crate::intern::TooManyBlocks;

/// An error of the simulator, as a sentence.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The trace could not be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A policy cannot be built at a size.
    #[error("{policy} of {blocks} block{}: {error}", if *blocks == 1 { "" } else { "s" })]
    Scheme {
        /// The policy.
        policy: String,
        /// Its size.
        blocks: u32,
        /// Why not.
        error: SpecError,
    },
    /// A selection speaks of times, but the trace has none.
    #[error("the trace has no times: expected places and a warm-up in references, such as 20000")]
    NoTimeToSelect,
    /// A warm-up is a share of a trace whose length was not counted before.
    #[error("a warm-up in percent needs the number of references: resolve it first (Selection::resolve)")]
    UnknownLength,
    /// More distinct blocks than 32 bits can number.
    #[error("the trace has more than 4 billion distinct blocks: choose a larger --block")]
    TooManyBlocks,
    /// A policy wants to see the trace in another view than the plain one, but only plain references were kept.
    #[error("{policy} classifies requests, which were not kept: set Options::keep_requests")]
    NoRequests {
        /// The policy.
        policy: String,
    },
    /// A policy does something once in so much time, but the references have no times.
    #[error(
        "{policy} divides the cache once in so much time, but the trace has no times: give a number of references, such as interval=10000"
    )]
    NoTimes {
        /// The policy.
        policy: String,
    },
    /// A policy must know the future, but the order of requests follows from what it decides.
    #[error(
        "{policy} must know the future, which a replay on a clock makes as it goes: leave it out, or leave --disk and --series out"
    )]
    Timeless {
        /// The policy.
        policy: String,
    },
    /// A policy must know the future, but what is read ahead follows from what it decides.
    #[error("{policy} must know the future, which reading ahead changes: give prefetch=off")]
    FutureAhead {
        /// The policy.
        policy: String,
    },
    /// A scheme that shows the trace in a view of its own was to be replayed on a clock.
    #[error(
        "{policy} cuts or classifies blocks in its own way, which a replay on a clock or a series cannot show: leave it out, or leave --disk and --series out"
    )]
    TimedView {
        /// The policy.
        policy: String,
    },
    /// A replay on a clock of a trace without times.
    #[error(
        "the trace has no times, which a disk and a series by time need: leave --disk out, and give --every in references, such as 10000"
    )]
    NoClock,
    /// More references than an offline policy can number.
    #[error("the trace has more than 4 billion references, too many for {policy}: leave it out or cut the trace")]
    TooManyReferences {
        /// The policy that needs the future.
        policy: String,
    },
    /// Something needs the whole trace renumbered, which the memory budget forbids.
    #[error(
        "{what} needs every distinct block numbered, but {distinct} of them already take the {budget} of memory allowed: raise --memory, {instead}"
    )]
    OverBudget {
        /// What cannot be done.
        what: String,
        /// Distinct blocks met so far.
        distinct: u64,
        /// The budget, readable.
        budget: String,
        /// What the user may do instead.
        instead: &'static str,
    },
    /// A trace of memory takes more memory than allowed, packed as it is.
    #[error("the trace of {pages} pages so far takes more than the {mebibytes} MiB of memory allowed: raise --memory")]
    MemoryTrace {
        /// Distinct pages met so far.
        pages: u32,
        /// The budget.
        mebibytes: u64,
    },
    /// A cell without a frame of memory.
    #[error("{policy} is to run in 0 frames, but a page that is referenced needs one: give 1 or more")]
    NoFrames {
        /// The policy.
        policy: String,
    },
    /// A policy must be called for every reference, but runs on a trace of memory.
    #[error("{0}")]
    EveryReference(SpecError),
    /// References could not be packed in memory.
    #[error("cannot pack the trace in memory: {0}")]
    Packer(std::io::Error),
}

impl SimError {
    /// [`SimError::OverBudget`] where `distinct` blocks take more than `memory_bytes`.
    pub(crate) fn over_budget(
        what: impl Into<String>,
        distinct: u32,
        memory_bytes: u64,
        instead: &'static str,
    ) -> SimError {
        let budget = format!("{} MiB", memory_bytes >> 20);
        SimError::OverBudget { what: what.into(), distinct: distinct.into(), budget, instead }
    }

    /// [`SimError::Scheme`] of a policy at a size.
    pub(crate) fn scheme(policy: &str, blocks: u32, error: SpecError) -> SimError {
        SimError::Scheme { policy: policy.to_owned(), blocks, error }
    }
}

impl From<TooManyBlocks> for SimError {
    fn from(_: TooManyBlocks) -> Self {
        SimError::TooManyBlocks
    }
}

impl From<TooManySegments> for SimError {
    fn from(_: TooManySegments) -> Self {
        SimError::TooManyBlocks
    }
}
