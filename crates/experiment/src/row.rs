//! A row of results, whatever was simulated.

use hotset_sim::paging::PagingRow;
use hotset_sim::results::{AppCounts, Row};
use serde::Serialize;

/// A row of either kind.
#[derive(Clone, Serialize)]
#[serde(untagged)]
pub enum AnyRow {
    /// Of a cache.
    Cache(Box<Row>),
    /// Of memory.
    Memory(Box<PagingRow>),
}

impl AnyRow {
    /// The name of the trace.
    pub fn trace(&self) -> &str {
        match self {
            AnyRow::Cache(row) => &row.trace,
            AnyRow::Memory(row) => &row.trace,
        }
    }

    /// Names the trace as the experiment does, wherever its file lies.
    pub fn set_trace(&mut self, name: &str) {
        let trace = match self {
            AnyRow::Cache(row) => &mut row.trace,
            AnyRow::Memory(row) => &mut row.trace,
        };
        name.clone_into(trace);
    }

    /// The policy, as a spec.
    pub fn policy(&self) -> &str {
        match self {
            AnyRow::Cache(row) => &row.policy,
            AnyRow::Memory(row) => &row.policy,
        }
    }

    /// The size in blocks.
    pub fn size_blocks(&self) -> u32 {
        match self {
            AnyRow::Cache(row) => row.size_blocks,
            AnyRow::Memory(row) => row.size_blocks,
        }
    }

    /// The size in bytes, where blocks have a size.
    pub fn size_bytes(&self) -> Option<u64> {
        match self {
            AnyRow::Cache(row) => row.size_bytes,
            AnyRow::Memory(row) => Some(row.size_bytes),
        }
    }

    /// Bytes of a block, where blocks have a size.
    pub fn block_bytes(&self) -> Option<u64> {
        self.size_bytes().map(|bytes| bytes / u64::from(self.size_blocks().max(1)))
    }

    /// The applications, if they are distinguished.
    pub fn apps(&self) -> &[AppCounts] {
        match self {
            AnyRow::Cache(row) => &row.apps,
            AnyRow::Memory(_) => &[],
        }
    }
}
