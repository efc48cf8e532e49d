//! Traces of memory: references to pages in order, and the objects that were allocated and freed meanwhile.
//!
//! Consecutive references to one page are folded into a run. Events describe allocations, and carry the number of
//! references made before them. If a command needs requests, [`Requests`](crate::runner::memory::Requests) makes one of
//! each run.

use crate::TraceError;

/// Runs that a reader hands over at a time, at most.
pub const BATCH_RUNS: usize = crate::batch::BATCH_REQUESTS;

/// Page numbers are below this, so that addresses fit 64 bits.
pub const MOST_PAGES: u64 = 1 << 52;

/// Consecutive references to one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRun {
    /// The page's number: its address by the size of a page.
    pub page: u64,
    /// How many, at least 1.
    pub references: u64,
    /// How many of them write.
    pub writes: u64,
}

/// What happened to a memory object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectOp {
    /// It was allocated.
    Allocate,
    /// It was freed.
    Free,
    /// It is a variable of the program.
    Global,
}

/// A memory object came or went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectEvent {
    /// References made before.
    pub at: u64,
    /// What happened.
    pub op: ObjectOp,
    /// Its first byte.
    pub address: u64,
    /// Its size in bytes; 0 when it is freed.
    pub bytes: u64,
    /// Who asked for it: a code address or a name. Empty if unknown.
    pub caller: String,
}

/// A piece of a memory trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryBatch {
    /// References, in order.
    pub runs: Vec<PageRun>,
    /// Events, in order: at least all that are not later than the last reference of the batch.
    pub events: Vec<ObjectEvent>,
    /// Instructions executed up to the end of the batch; 0 if they were not counted.
    pub instructions: u64,
}

impl MemoryBatch {
    /// True if there is nothing: the end of the trace.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.events.is_empty()
    }

    /// Drops the contents, keeps the memory.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.events.clear();
    }
}

/// The facts known of a memory trace before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryMeta {
    /// Bytes of a page, a power of two.
    pub page_bytes: u32,
    /// Reads and writes are distinguished.
    pub has_writes: bool,
}

/// A memory trace being read from front to back.
pub trait MemoryReader: Send {
    /// The facts known before it is read.
    fn memory_meta(&self) -> MemoryMeta;

    /// Clears `batch` and fills it with up to [`BATCH_RUNS`] runs. An empty batch is the end of the trace.
    fn read_memory(&mut self, batch: &mut MemoryBatch) -> Result<(), TraceError>;
}
