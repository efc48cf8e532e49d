//! Points of curves as rows of results.

use serde::Serialize;

use super::{Line, Sampling};
use crate::results::{Choice, SCHEMA_VERSION};

/// A point of a curve: the fields of a row of a sweep, as far as a curve tells them.
#[derive(Clone, Debug, Serialize)]
pub struct CurveRow {
    /// As in a row of a sweep.
    pub version: u32,
    /// The trace as the user named it.
    pub trace: String,
    /// Canonical spec of the policy.
    pub policy: String,
    /// Capacity in blocks.
    pub size_blocks: u64,
    /// Capacity in bytes, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Bytes of a block, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<u64>,
    /// Seed of the sample and of the policy's random numbers.
    pub seed: u64,
    /// As in a row of a sweep.
    #[serde(flatten)]
    pub choice: Choice,
    /// Blocks referenced.
    pub references: u64,
    /// References that found their block; of a sampled curve an estimate, rounded.
    pub hits: u64,
    /// References that did not.
    pub misses: u64,
    /// Hits per reference.
    pub hit_ratio: f64,
    /// Distinct blocks of the trace.
    pub distinct_blocks: u64,
    /// Absent for exact curves.
    #[serde(flatten)]
    pub sampling: Option<Sampling>,
}

impl CurveRow {
    pub(super) fn new(
        trace: &str,
        line: &Line,
        size: u64,
        seed: u64,
        choice: &Choice,
        block_bytes: Option<u64>,
    ) -> CurveRow {
        let hits = line.hits(size).round() as u64;
        CurveRow {
            version: SCHEMA_VERSION,
            trace: trace.to_owned(),
            policy: line.policy.clone(),
            size_blocks: size,
            size_bytes: block_bytes.map(|block| block.saturating_mul(size)),
            block_bytes,
            seed,
            choice: choice.clone(),
            references: line.references,
            hits,
            misses: line.references - hits,
            hit_ratio: line.ratio(size),
            distinct_blocks: line.distinct,
            sampling: line.sampling,
        }
    }
}
