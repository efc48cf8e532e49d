//! Counts of a live cache: the same figures as the simulator's, and the traffic.

pub(crate) mod applications;
pub(crate) mod latency;
pub(crate) mod metadata;

use hotset_core::classify::Class;
use hotset_core::counters::Counters;
use serde::Serialize;

/// Counts since the cache began to serve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Over all references.
    pub total: Counters,
    /// By application number.
    pub apps: Vec<Counters>,
    /// By class; empty when the policy does not tell classes apart.
    pub classes: Vec<Counters>,
    /// Blocks whose data left the cache.
    pub evictions: u64,
    /// Blocks that the policy has prefetched.
    pub extra_reads: u64,
    /// Where writes do not go through: blocks of data that have left after they were written, and before they had gone
    /// to the source otherwise, and those that were written and not kept.
    pub write_backs: u64,
    /// The same of inodes and directories, of which the cache has no data: the source keeps them itself.
    pub metadata_write_backs: u64,
}

/// Traffic between the cache and its source, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Bytes that readers were given.
    pub bytes_served: u64,
    /// Bytes read from the source.
    pub bytes_read: u64,
    /// Bytes that writers gave.
    pub bytes_taken: u64,
    /// Bytes written to the source.
    pub bytes_written: u64,
    /// Reads of the source.
    pub reads: u64,
    /// Of these, read-ahead.
    pub reads_ahead: u64,
    /// Writes of the source: a cut or an extension is none.
    pub writes: u64,
    /// Times that a reader waited for a block that was already being read.
    pub waits: u64,
    /// Blocks that the policy counts as resident, but whose data was invalidated or not known, and was read again.
    pub refills: u64,
    /// Reads and writes of the source that failed.
    pub errors: u64,
}

/// The request that is being counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Open {
    missed: bool,
}

impl Counts {
    /// Counts one reference.
    pub(crate) fn note(
        &mut self,
        open: &mut Open,
        begins: bool,
        write: bool,
        hit: bool,
        app: u32,
        class: Option<Class>,
    ) {
        let mut one = Counters {
            references: 1,
            hits: hit.into(),
            read_references: (!write).into(),
            read_hits: (hit && !write).into(),
            ..Counters::default()
        };
        if begins {
            *open = Open::default();
            one.requests = 1;
            one.read_requests = (!write).into();
            one.write_requests = write.into();
        }
        if !hit && !open.missed {
            open.missed = true;
            one.request_misses = 1;
            one.read_request_misses = (!write).into();
        }
        self.total.add(&one);
        entry(&mut self.apps, app as usize).add(&one);
        if let Some(class) = class {
            entry(&mut self.classes, class.into()).add(&one);
        }
    }
}

fn entry(table: &mut Vec<Counters>, number: usize) -> &mut Counters {
    if number >= table.len() {
        table.resize(number + 1, Counters::default());
    }
    &mut table[number]
}
