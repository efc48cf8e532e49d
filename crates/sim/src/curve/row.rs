//! Points of curves as rows of results.

use serde::Serialize;

use super::{ByteCurves, BytePoint, Line, Sampling};
use crate::results::{Choice, SCHEMA_VERSION};

/// A point of a curve: the fields of a row of a sweep, as far as a curve tells them.
#[derive(Clone, Debug, Serialize)]
pub struct CurveRow {
    /// As in [`Row`](crate::results::Row).
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
    /// As in [`Row`](crate::results::Row).
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
    /// Misses per reference.
    pub miss_ratio: f64,
    /// Bytes of the objects referred to; absent where the capacity is not measured in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_bytes: Option<u64>,
    /// The same of those that hit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_bytes_hit: Option<u64>,
    /// The one per the other, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_hit_ratio: Option<f64>,
    /// The hit ratio that no policy exceeds at so many bytes (PFOO-L), of a sampled curve an estimate; absent where the
    /// capacity is in blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_hit_ratio: Option<f64>,
    /// The same of bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_byte_hit_ratio: Option<f64>,
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
            miss_ratio: 1.0 - line.ratio(size),
            object_bytes: None,
            object_bytes_hit: None,
            byte_hit_ratio: None,
            bound_hit_ratio: None,
            bound_byte_hit_ratio: None,
            distinct_blocks: line.distinct,
            sampling: line.sampling,
        }
    }

    /// A point over bytes, with its bound.
    pub(super) fn of_bytes(
        trace: &str,
        policy: &str,
        curves: &ByteCurves,
        (point, bound): (&BytePoint, &BytePoint),
        seed: u64,
        choice: &Choice,
    ) -> CurveRow {
        let of_references = |hits: u64| hits as f64 / curves.references.max(1) as f64;
        let of_bytes = |bytes: u64| bytes as f64 / curves.bytes.max(1) as f64;
        let mean = curves.footprint as f64 / curves.distinct.max(1) as f64;
        CurveRow {
            version: SCHEMA_VERSION,
            trace: trace.to_owned(),
            policy: policy.to_owned(),
            size_blocks: (point.size as f64 / mean) as u64,
            size_bytes: Some(point.size),
            block_bytes: None,
            seed,
            choice: choice.clone(),
            references: curves.references,
            hits: point.hits,
            misses: curves.references - point.hits,
            hit_ratio: of_references(point.hits),
            miss_ratio: 1.0 - of_references(point.hits),
            object_bytes: Some(curves.bytes),
            object_bytes_hit: Some(point.bytes_hit),
            byte_hit_ratio: Some(of_bytes(point.bytes_hit)),
            bound_hit_ratio: Some(of_references(bound.hits)),
            bound_byte_hit_ratio: Some(of_bytes(bound.bytes_hit)),
            distinct_blocks: curves.distinct,
            sampling: curves.sampling,
        }
    }
}
