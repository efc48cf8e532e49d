//! Points of curves as rows of results.

use hotset_results::{Counts, Row};

use super::{ByteCurves, BytePoint, Line};
use crate::facts::TraceFacts;

/// The row of a line at a size.
pub(super) fn of_blocks(facts: &TraceFacts, line: &Line, size: u64, seed: u64) -> Row {
    let ratio = line.ratio(size);
    let counts = Counts {
        hit_ratio: ratio,
        miss_ratio: Some(1.0 - ratio),
        ..Counts::new(line.references, line.hits(size).round() as u64)
    };
    Row {
        distinct_blocks: Some(line.distinct),
        sampling: line.sampling,
        ..facts.counted(line.policy.clone(), size, seed, counts)
    }
}

/// The row of a point over bytes, with its bound.
pub(super) fn of_bytes(
    facts: &TraceFacts,
    policy: &str,
    curves: &ByteCurves,
    (point, bound): (&BytePoint, &BytePoint),
    seed: u64,
) -> Row {
    let of_references = |hits: u64| hits as f64 / curves.references.max(1) as f64;
    let of_bytes = |bytes: u64| bytes as f64 / curves.bytes.max(1) as f64;
    let mean = curves.footprint as f64 / curves.distinct.max(1) as f64;
    let counts =
        Counts { miss_ratio: Some(1.0 - of_references(point.hits)), ..Counts::new(curves.references, point.hits) };
    Row {
        size_bytes: Some(point.size),
        object_bytes: Some(curves.bytes),
        object_bytes_hit: Some(point.bytes_hit),
        byte_hit_ratio: Some(of_bytes(point.bytes_hit)),
        bound_hit_ratio: Some(of_references(bound.hits)),
        bound_byte_hit_ratio: Some(of_bytes(bound.bytes_hit)),
        distinct_blocks: Some(curves.distinct),
        sampling: curves.sampling,
        ..facts.counted(policy.to_owned(), (point.size as f64 / mean) as u64, seed, counts)
    }
}
