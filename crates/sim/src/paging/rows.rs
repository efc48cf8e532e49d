//! Rows of results of a memory trace: the counts of any cell, and the measures of paging.

use serde::{Deserialize, Serialize};

use super::cell::PagingTally;
use super::held::HeldMemory;
use crate::results::SCHEMA_VERSION;

/// One cell. A field that does not apply is absent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PagingRow {
    /// Version of the schema, [`SCHEMA_VERSION`].
    pub version: u32,
    /// The trace as the user named it.
    pub trace: String,
    /// Canonical spec of the policy.
    pub policy: String,
    /// Memory in pages.
    pub size_blocks: u32,
    /// Memory in bytes.
    pub size_bytes: u64,
    /// Bytes of a page.
    pub block_bytes: u64,
    /// Seed of the policy's random numbers.
    pub seed: u64,
    /// References to memory.
    pub references: u64,
    /// References that found their page resident.
    pub hits: u64,
    /// Page faults.
    pub misses: u64,
    /// Hits per reference.
    pub hit_ratio: f64,
    /// Pages written to storage when they were evicted; absent when the trace does not tell writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_backs: Option<u64>,
    /// Distinct pages.
    pub distinct_blocks: u32,
    /// Faults after memory was full for the first time.
    pub faults_after_fill: u64,
    /// These faults per million references made in that time; absent if memory was never full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults_per_million_references: Option<f64>,
    /// These faults per million instructions executed in that time; absent where instructions were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults_per_million_instructions: Option<f64>,
    /// Faults on pages that had been evicted.
    pub refaults: u64,
    /// References between the eviction of a page and the fault on it, on average; absent without such faults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refault_distance: Option<f64>,
    /// That distance by the one of `clock` with as much memory; absent where that was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refault_distance_to_clock: Option<f64>,
}

/// The common part of the rows of one trace.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The trace as the user named it.
    pub name: String,
    /// Reads and writes are distinguished.
    pub has_writes: bool,
}

impl Facts {
    /// The row of one cell.
    pub fn row(&self, trace: &HeldMemory, policy: String, frames: u32, seed: u64, tally: &PagingTally) -> PagingRow {
        let hits = tally.references - tally.faults;
        let since = |total: u64, before: u64| {
            let millions = total.saturating_sub(before) as f64 / 1e6;
            (millions > 0.0).then(|| tally.faults_after_fill as f64 / millions)
        };
        let (references, instructions) = match tally.filled_at {
            Some((references, instructions)) => {
                let counted = trace.instructions().and_then(|total| since(total, instructions));
                (since(tally.references, references), counted)
            }
            None => (None, None),
        };
        PagingRow {
            version: SCHEMA_VERSION,
            trace: self.name.clone(),
            policy,
            size_blocks: frames,
            size_bytes: u64::from(frames).saturating_mul(trace.page_bytes()),
            block_bytes: trace.page_bytes(),
            seed,
            references: tally.references,
            hits,
            misses: tally.faults,
            hit_ratio: if tally.references == 0 { 0.0 } else { hits as f64 / tally.references as f64 },
            write_backs: self.has_writes.then_some(tally.write_backs),
            distinct_blocks: trace.pages(),
            faults_after_fill: tally.faults_after_fill,
            faults_per_million_references: references,
            faults_per_million_instructions: instructions,
            refaults: tally.refaults,
            refault_distance: (tally.refaults > 0).then(|| tally.refault_distance as f64 / tally.refaults as f64),
            refault_distance_to_clock: None,
        }
    }
}

/// The base of distances and faults: CLOCK, as in an operating system.
pub const BASELINE: &str = "clock";

/// Fills in the distances relative to CLOCK, for rows of one trace among which are some of `clock`.
pub fn relate_to_clock(rows: &mut [PagingRow]) {
    let clock: Vec<(u32, Option<f64>)> =
        rows.iter().filter(|row| row.policy == BASELINE).map(|row| (row.size_blocks, row.refault_distance)).collect();
    for row in rows {
        let of_clock = clock.iter().find(|(size, _)| *size == row.size_blocks).and_then(|(_, distance)| *distance);
        row.refault_distance_to_clock =
            row.refault_distance.zip(of_clock).filter(|(_, clock)| *clock > 0.0).map(|(own, clock)| own / clock);
    }
}
