//! Rows of results of a memory trace: the counts of any cell, and its faults.

use hotset_results::{Counts, Paging, Row};

use super::cell::PagingTally;
use super::held::HeldMemory;
use crate::facts::TraceFacts;

/// The row of one cell.
pub(crate) fn row(
    facts: &TraceFacts,
    trace: &HeldMemory,
    policy: String,
    frames: u32,
    seed: u64,
    tally: &PagingTally,
) -> Row {
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
    let counts = Counts::new(tally.references, tally.references - tally.faults);
    Row {
        write_backs: facts.has_ops.then_some(tally.write_backs),
        paging: Some(Paging {
            faults_after_fill: tally.faults_after_fill,
            faults_per_million_references: references,
            faults_per_million_instructions: instructions,
            refaults: tally.refaults,
            refault_distance: (tally.refaults > 0).then(|| tally.refault_distance as f64 / tally.refaults as f64),
            refault_distance_to_clock: None,
        }),
        ..facts.counted(policy, frames.into(), seed, counts)
    }
}

/// The base of distances and faults: CLOCK, as in an operating system.
pub const BASELINE: &str = "clock";

/// Fills in the distances relative to CLOCK, for rows of one trace among which are some of `clock`.
pub(crate) fn relate_to_clock(rows: &mut [Row]) {
    let distance = |row: &Row| row.paging.and_then(|paging| paging.refault_distance);
    let clock: Vec<(u64, Option<f64>)> =
        rows.iter().filter(|row| row.policy == BASELINE).map(|row| (row.size_blocks, distance(row))).collect();
    for row in rows {
        let of_clock = clock.iter().find(|(size, _)| *size == row.size_blocks).and_then(|(_, distance)| *distance);
        let Some(paging) = &mut row.paging else { continue };
        paging.refault_distance_to_clock =
            paging.refault_distance.zip(of_clock).filter(|(_, clock)| *clock > 0.0).map(|(own, clock)| own / clock);
    }
}
