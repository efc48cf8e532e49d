//! Errors of a simulation.

use hotset_core::setting::SettingName;
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
    /// A size cannot be had; the error has its place in the text of the sizes.
    #[error("{0}")]
    Sizes(SpecError),
    /// Nothing of a trace, or of what was chosen of it, reads or writes data.
    #[error(
        "{trace}: no request {} reads or writes data, so there is nothing to cache",
        if chosen.is_empty() { "in the trace".to_owned() } else { format!("of those chosen ({chosen})") }
    )]
    NothingReferenced {
        /// The trace.
        trace: String,
        /// The selection of it, in words; empty for everything.
        chosen: String,
    },
    /// Requests went through the cache, but none of them counts.
    #[error(
        "{trace}: no reference of the requests chosen ({chosen}) counts: expected a shorter {}, or another {}",
        SettingName("warmup"),
        SettingName("count_only")
    )]
    NothingCounted {
        /// The trace.
        trace: String,
        /// The selection of it, in words.
        chosen: String,
    },
    /// The selection does not fit the trace.
    #[error("{trace}: {error}")]
    Selection {
        /// The trace.
        trace: String,
        /// Why not.
        error: Box<SimError>,
    },
    /// A trace of requests among those of memory.
    #[error("{trace} is not a trace of memory: replay it separately")]
    NoMemoryTrace {
        /// The trace.
        trace: String,
    },
    /// Something that works on requests was asked of a trace of memory.
    #[error("{trace} is a trace of memory, which has no requests: leave {what} out")]
    NotOfMemory {
        /// The trace.
        trace: String,
        /// The request.
        what: String,
    },
    /// A trace of memory was to be cut into other blocks than its pages.
    #[error("{block}: {trace} has pages of {page_bytes} bytes, which cannot be cut into other blocks", block = SettingName("block"))]
    CutPages {
        /// The trace.
        trace: String,
        /// Bytes of a page.
        page_bytes: u32,
    },
    /// A curve at every size was asked of a policy that must be replayed size by size.
    #[error("{points}: {policy} must be simulated at every size; expected a number of sizes", points = SettingName("points").of("all"))]
    EverySize {
        /// The policy.
        policy: String,
    },
    /// A share of the blocks that is none.
    #[error("{sample}: {0}", sample = SettingName("sample"))]
    SampleRate(#[from] BadRate),
    /// A sample was asked of another policy than LRU.
    #[error("a sample gives the curve of lru only, not of {policy}: expected {lru}", lru = SettingName("policy").of("lru"))]
    NotSampled {
        /// The policy.
        policy: String,
    },
    /// A sample of a number of objects was asked of a curve over bytes.
    #[error(
        "a curve over bytes takes a share of the objects: expected {} in place of {}",
        SettingName("sample").of(0.01), SettingName("sample_size")
    )]
    SampleOfBytes,
    /// A sample was asked of which only a part counts.
    #[error(
        "a sample counts all references: leave {} and {} out, or {}",
        SettingName("warmup"),
        SettingName("count_only"),
        SettingName("sample")
    )]
    SampleCountsAll,
    /// A trace that is a sample already was to be sampled, or its curve to be drawn.
    #[error("the trace is a sample already; give the whole trace, and sample it if it is long")]
    IsSample,
    /// A selection contains times, but the trace has none.
    #[error("the trace has no times: expected places and a warm-up in references, such as 20000")]
    NoTimeToSelect,
    /// A warm-up is a share of a trace whose length was not counted before.
    #[error("a warm-up in percent needs the number of references: resolve it first (Selection::resolve)")]
    UnknownLength,
    /// More distinct blocks than 32 bits can number.
    #[error("the trace has more than 4 billion distinct blocks: choose a larger {block}", block = SettingName("block"))]
    TooManyBlocks,
    /// A policy wants to see the trace in another view than the plain one, but only plain references were kept.
    #[error("{policy} classifies requests, which were not kept: set Options::keep_requests")]
    NoRequests {
        /// The policy.
        policy: String,
    },
    /// A policy does something once in so much time, but the references have no times.
    #[error(
        "{policy} has an interval or a quantum of time, but the trace has no times; give a number of references, such as interval=10000"
    )]
    NoTimes {
        /// The policy.
        policy: String,
    },
    /// A policy depends on the load of the storage, but there is no storage model.
    #[error(
        "{policy} with quantum=auto follows the load of the storage, which is unknown here; set a storage model or give a quantum such as quantum=2000"
    )]
    NoLoad {
        /// The policy.
        policy: String,
    },
    /// A policy must know the future, but the order of requests follows from what it decides.
    #[error(
        "{policy} must know the future, but which application comes next on a disk follows from what it decides: leave {store} out, or choose the requests of one application",
        store = SettingName("store")
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
    /// A size in bytes of objects for something that works on blocks.
    #[error("{size}: {policy} cannot be measured in bytes of objects, since {why}: expected a number of objects", size = SettingName("size"))]
    InBytes {
        /// The policy.
        policy: String,
        /// Why not.
        why: String,
    },
    /// A curve over bytes of a trace without objects of many sizes.
    #[error("{bytes}: {trace}: {why}; leave {bytes} out for the curve over blocks", bytes = SettingName("bytes"))]
    NoObjectSizes {
        /// The trace.
        trace: String,
        /// Why there is none.
        why: &'static str,
    },
    /// A ranking of something that the trace does not tell.
    #[error("{}: {why}; expected another of file, dir, app, class, object", SettingName("by").of(by))]
    NotRanked {
        /// What requests were to be counted by.
        by: &'static str,
        /// Why not.
        why: &'static str,
    },
    /// A replay on a clock of a trace without times.
    #[error(
        "the trace has no times, which a disk and a series by time need: leave {} out, and give {} in references, such as 10000",
        SettingName("store"),
        SettingName("every")
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
        "{what} needs every distinct block numbered, but {distinct} of them already take the {budget} of memory allowed: raise {memory}, {instead}",
        memory = SettingName("memory")
    )]
    OverBudget {
        /// The impossible operation.
        what: String,
        /// Distinct blocks met so far.
        distinct: u64,
        /// The budget, readable.
        budget: String,
        /// The alternative.
        instead: String,
    },
    /// Something needs the whole trace at hand, of which memory holds a part.
    #[error("{what}, of which the {budget} of memory allowed holds a part: raise {memory}, {instead}", memory = SettingName("memory"))]
    Part {
        /// The feature that needs it.
        what: String,
        /// The budget, readable.
        budget: String,
        /// The alternative.
        instead: String,
    },
    /// A trace of memory takes more memory than allowed, packed as it is.
    #[error("the trace of {pages} pages so far takes more than the {mebibytes} MiB of memory allowed: raise {memory}", memory = SettingName("memory"))]
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
        instead: impl Into<String>,
    ) -> SimError {
        let budget = format!("{} MiB", memory_bytes >> 20);
        SimError::OverBudget { what: what.into(), distinct: distinct.into(), budget, instead: instead.into() }
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

/// A sampling rate outside of what can be sampled.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("cannot sample at rate {0}: expected a number above 0 and at most 1")]
pub struct BadRate(pub f64);
