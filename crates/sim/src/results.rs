//! Rows of a results file: one a cell, self-contained (DESIGN section 6).

use hotset_core::policy::{PartRoom, Repartition};
use serde::Serialize;

use crate::cell::{ClassTally, Tally};
use hotset_core::counters::Counters;

/// Version of the row's schema; a reader refuses what it does not know.
pub const SCHEMA_VERSION: u32 = 1;

/// One cell: trace, policy, size and what was counted. A field that does not apply is absent.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Version of the schema, [`SCHEMA_VERSION`].
    pub version: u32,
    /// The trace as the user named it.
    pub trace: String,
    /// Canonical spec of the policy.
    pub policy: String,
    /// Capacity in blocks.
    pub size_blocks: u32,
    /// Capacity in bytes, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Bytes of a block, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<u64>,
    /// Seed of the policy's random numbers.
    pub seed: u64,
    /// The counts over the whole trace.
    #[serde(flatten)]
    pub counts: Counts,
    /// Distinct blocks of the trace; absent when the trace was too large to number them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinct_blocks: Option<u32>,
    /// Blocks written to storage; absent when the trace does not tell writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_backs: Option<u64>,
    /// Blocks read from storage though nobody asked for them then; absent when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_reads: Option<u64>,
    /// Accesses to storage: reading requests that missed, by pieces of at most their part, and blocks written. Only for schemes that tell classes apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_accesses: Option<u64>,
    /// Bytes read from storage; only for schemes that tell classes apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_read: Option<u64>,
    /// Bytes written to storage; only for schemes that tell classes apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<u64>,
    /// How often a scheme divided its room in another way than before; absent for schemes that do not divide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repartitions: Option<u64>,
    /// The same counts for each application; absent when there is only one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub apps: Vec<Named>,
    /// The counts of each class; absent when the scheme does not tell them apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<NamedClass>,
}

/// The counts of a class.
#[derive(Clone, Debug, Serialize)]
pub struct NamedClass {
    /// Its name.
    pub name: String,
    /// Bytes of its blocks.
    pub block_bytes: u64,
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// Its blocks written to storage.
    pub write_backs: u64,
    /// Bytes read from storage.
    pub bytes_read: u64,
    /// Bytes written to storage.
    pub bytes_written: u64,
}

impl NamedClass {
    fn new(tally: &ClassTally) -> NamedClass {
        NamedClass {
            name: tally.name.clone(),
            block_bytes: tally.block_bytes,
            counts: Counts::new(&tally.counters, true),
            write_backs: tally.write_backs,
            bytes_read: tally.blocks_read * tally.block_bytes,
            bytes_written: tally.write_backs * tally.block_bytes,
        }
    }
}

/// The counts of an application.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// Blocks that it may have resident after the last division; absent for schemes that do not divide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_blocks: Option<u32>,
    /// What it was promised could not be met at the last division; absent for schemes that do not divide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flagged: Option<bool>,
}

/// [`Counters`] as they are written.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Counts {
    /// Blocks referenced.
    pub references: u64,
    /// References that found their block.
    pub hits: u64,
    /// References that did not.
    pub misses: u64,
    /// Hits per reference.
    pub hit_ratio: f64,
    /// Requests that touch at least one block.
    pub requests: u64,
    /// Requests with at least one miss.
    pub request_misses: u64,
    /// Requests that read.
    pub read_requests: u64,
    /// Reading requests with at least one miss.
    pub read_request_misses: u64,
    /// Requests that write; absent when the trace does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_requests: Option<u64>,
}

impl Counts {
    fn new(counters: &Counters, has_ops: bool) -> Counts {
        Counts {
            references: counters.references,
            hits: counters.hits,
            misses: counters.misses(),
            hit_ratio: counters.hit_ratio(),
            requests: counters.requests,
            request_misses: counters.request_misses,
            read_requests: counters.read_requests,
            read_request_misses: counters.read_request_misses,
            write_requests: has_ops.then_some(counters.write_requests),
        }
    }
}

/// What a decision gives an application; nothing if it has left.
fn room_of(decision: &Repartition, app: usize) -> PartRoom {
    decision.parts.iter().find(|part| part.app as usize == app).copied().unwrap_or_default()
}

/// What the rows of one trace have in common.
#[derive(Clone, Debug)]
pub struct TraceFacts {
    /// The trace as the user named it.
    pub name: String,
    /// Bytes of a block, where blocks have a size.
    pub block_bytes: Option<u64>,
    /// Distinct blocks, if they were numbered.
    pub distinct: Option<u32>,
    /// Reads and writes are told apart.
    pub has_ops: bool,
    /// Names of applications, by number.
    pub apps: Vec<String>,
}

impl TraceFacts {
    /// The row of one cell.
    pub fn row(&self, policy: String, size_blocks: u32, seed: u64, tally: &Tally) -> Row {
        let seen = tally.classes.iter().filter(|class| class.counters.references > 0);
        let classes: Vec<NamedClass> = seen.map(NamedClass::new).collect();
        let of_classes = |count: u64| (!tally.classes.is_empty()).then_some(count);
        Row {
            version: SCHEMA_VERSION,
            trace: self.name.clone(),
            policy,
            size_blocks,
            size_bytes: self.block_bytes.map(|block| block * u64::from(size_blocks)),
            block_bytes: self.block_bytes,
            seed,
            counts: Counts::new(&tally.total, self.has_ops),
            distinct_blocks: self.distinct,
            write_backs: (self.has_ops || !classes.is_empty()).then_some(tally.write_backs),
            extra_reads: (tally.extra_reads > 0).then_some(tally.extra_reads),
            disk_accesses: of_classes(
                tally.classes.iter().map(|class| class.read_accesses).sum::<u64>() + tally.write_backs,
            ),
            bytes_read: of_classes(classes.iter().map(|class| class.bytes_read).sum()),
            bytes_written: of_classes(classes.iter().map(|class| class.bytes_written).sum()),
            repartitions: (!tally.decisions.is_empty()).then_some(tally.decisions.len() as u64),
            apps: self.app_rows(tally),
            classes,
        }
    }

    fn app_rows(&self, tally: &Tally) -> Vec<Named> {
        let seen = || tally.apps.iter().enumerate().filter(|(_, counters)| counters.references > 0);
        if seen().count() < 2 {
            return Vec::new();
        }
        let name = |app: usize| self.apps.get(app).cloned().unwrap_or_else(|| format!("app {app}"));
        let named = |(app, counters): (usize, &Counters)| {
            let part = tally.decisions.last().map(|last| room_of(last, app));
            Named {
                name: name(app),
                counts: Counts::new(counters, self.has_ops),
                room_blocks: part.map(|part| part.blocks),
                flagged: part.map(|part| part.is_flagged),
            }
        };
        seen().map(named).collect()
    }
}
