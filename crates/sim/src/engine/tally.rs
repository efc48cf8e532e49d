//! The counts of a cell.

use hotset_core::counters::Counters;
use hotset_core::policy::{Explanation, Extra, Repartition};

use super::clocked::{IntervalSample, Times};
use crate::window::Repeats;

/// The results of a cell.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// Its counts.
    pub tally: Tally,
    /// One stretch of time after another, where that was asked for.
    pub samples: Vec<IntervalSample>,
    /// The learnt state of the policy.
    pub explanations: Vec<Explanation>,
    /// Nanoseconds for which a reference kept a processor busy on average, where that was asked for.
    pub reference_nanoseconds: Option<f64>,
}

/// The counts of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Over all references.
    pub total: Counters,
    /// Reads of the block in hand, to which the application referred just before: references like any other, of which
    /// a program reads the block once.
    pub repeats: Repeats,
    /// Bytes of objects, where the cache is measured in them.
    pub bytes: ByteTally,
    /// By application number; empty when the trace has one application.
    pub apps: Vec<Counters>,
    /// Blocks written to storage: evicted dirty, or written past the cache.
    pub write_backs: u64,
    /// Blocks read from storage without a request at that time.
    pub extra_reads: u64,
    /// Reasons of reads without a request, and blocks that slid out of runs of virtual queues.
    pub extra: ExtraTally,
    /// How a scheme divided its room, whenever that changed something.
    pub decisions: Vec<Repartition>,
    /// By class; empty when the policy does not tell classes apart.
    pub classes: Vec<ClassTally>,
    /// The costs, if it was replayed on a clock with a disk.
    pub times: Option<Times>,
}

/// Bytes of the objects that were referred to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteTally {
    /// Over all references.
    pub all: u64,
    /// Over those that hit.
    pub hit: u64,
}

/// Transfers of blocks without a request at that time, by their reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtraTally {
    /// Blocks read because their positions were mapped.
    pub allocation_reads: u64,
    /// Blocks read because they slid into a run of mapped positions.
    pub fragment_reads: u64,
    /// Blocks that slid out of a run that is not at the head.
    pub push_outs: u64,
    /// Blocks read ahead of a sequential reader.
    pub prefetch_reads: u64,
}

impl ExtraTally {
    pub(crate) fn count(&mut self, why: Extra) {
        match why {
            Extra::Allocation => self.allocation_reads += 1,
            Extra::Moved => self.fragment_reads += 1,
            Extra::Refetch => {}
        }
    }

    /// True where a scheme maps positions, and something came of it.
    pub(crate) fn maps(&self) -> bool {
        self.allocation_reads + self.fragment_reads + self.push_outs > 0
    }
}

/// The counts of one class of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassTally {
    /// The class.
    pub name: String,
    /// Over its references.
    pub counters: Counters,
    /// Bytes of its blocks.
    pub block_bytes: u64,
    /// Accesses to storage by reads: one for a request that misses, one for each missing piece of a request longer
    /// than its part.
    pub read_accesses: u64,
    /// Blocks read from storage: those that reads missed. A block that is written first is not read.
    pub blocks_read: u64,
    /// Blocks written to storage.
    pub write_backs: u64,
}

/// What went to storage and came from it besides misses.
#[derive(Clone, Copy, Default)]
pub(crate) struct Transfers {
    pub write_backs: u64,
    pub extra_reads: u64,
    pub extra: ExtraTally,
}
