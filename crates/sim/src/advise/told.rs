//! What advice says, and how it follows from rows.

use hotset_results::{Choice, Row, SeriesRow};
use serde::Serialize;

use super::{Action, ENOUGH, Evidence, Finding, MOUNT_HIT, Measure, NEAR, REPEATED, WORTHWHILE, share};

/// The share of the attainable hits that today's policy must have for its memory to be compared with less of it.
const COMPARABLE: f64 = 0.1;

/// Advice on one trace. Hits and reads leave repeats out.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// Version of the schema of results.
    pub version: u32,
    /// The trace as the user named it.
    pub trace: String,
    /// Selected requests and the way of counting.
    #[serde(flatten)]
    pub choice: Choice,
    /// The evidence of the recording in addition to its references.
    pub evidence: Evidence,
    /// The kind of the advice.
    pub finding: Finding,
    /// Reads of blocks.
    pub reads: u64,
    /// Reads that hit when everything fits: the others are the first of their blocks, which no cache serves.
    pub attainable_hits: u64,
    /// Distinct blocks.
    pub distinct_blocks: u64,
    /// Bytes of a block, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<u64>,
    /// The policy that runs today.
    pub today: String,
    /// The policy to have.
    pub policy: String,
    /// The policy that knows the future, which none passes.
    pub bound: String,
    /// All that were compared, the best first.
    pub standings: Vec<Standing>,
    /// How much memory there should be; absent where no cache is worth having.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// The gain of a change of policy; absent if no cache is worth having.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// What would help, the most seconds saved first.
    pub measures: Vec<Measure>,
    /// What else runs today, in the memory of `change`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// The sizes that were looked at, ascending.
    pub sizes: Vec<AtSize>,
}

/// How a policy did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// Its spec.
    pub policy: String,
    /// Hits per read, mean over the sizes compared.
    pub mean_ratio: f64,
    /// It knows the future, so it cannot run.
    pub is_bound: bool,
}

/// A policy that runs today beside the one that advice is compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Beside {
    /// Its spec.
    pub policy: String,
    /// Its hits.
    pub hits: u64,
}

/// Hits at one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AtSize {
    /// The size.
    pub size_blocks: u32,
    /// The same in bytes, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// All references, writes and repeats included.
    pub references: u64,
    /// Of the policy that runs today.
    pub today_hits: u64,
    /// Of the policy to have.
    pub hits: u64,
    /// Of the policy that knows the future.
    pub bound_hits: u64,
}

/// The memory to have under the policy that runs today.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Memory {
    /// The least size that is enough.
    pub size_blocks: u32,
    /// The same in bytes, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Hits there.
    pub hits: u64,
    /// The gain of the next larger size; absent at the largest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStep>,
}

/// A larger size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NextStep {
    /// The size.
    pub size_blocks: u32,
    /// The same in bytes, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Reads from storage that it saves.
    pub fewer_reads: u64,
    /// Seconds that it saves; absent without a store or without times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fewer_seconds: Option<f64>,
}

/// The policy to have beside the one that runs today, in the memory that there is or should be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The memory.
    pub size_blocks: u32,
    /// The same in bytes, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Hits of today's policy.
    pub today_hits: u64,
    /// Hits of the policy to have.
    pub hits: u64,
    /// The least size at which the policy to have hits as much as today's does; absent if that is none smaller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enough_blocks: Option<u32>,
    /// True if it is among the measures that gain.
    pub pays: bool,
    /// Its additional hits, by interval of the trace, as a share of the interval's reads; negative is fewer.
    pub gains: Vec<f64>,
    /// Seconds until the end under the policy to have; absent without a store or without times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The same under today's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub today_seconds: Option<f64>,
}

/// Policies by their mean ratio, the best first; equals as they stand.
pub(super) fn standings(rows: &[Row]) -> Vec<Standing> {
    let of_policy = |rows: &[Row]| Standing {
        policy: rows[0].policy.clone(),
        mean_ratio: rows.iter().map(|row| share(row).ratio()).sum::<f64>() / rows.len() as f64,
        is_bound: rows[0].policy == super::BOUND,
    };
    let mut standings: Vec<Standing> = rows.chunk_by(|one, other| one.policy == other.policy).map(of_policy).collect();
    standings.sort_by(|one, other| other.mean_ratio.total_cmp(&one.mean_ratio));
    standings
}

/// Size by size, ascending.
pub(super) fn sizes(rows: &[Row], today: &str, policy: &str, bound: &str) -> Vec<AtSize> {
    let hits = |policy: &str, size: u64| {
        let row = rows.iter().find(|row| row.policy == policy && row.size_blocks == size);
        row.map_or(0, |row| share(row).hits)
    };
    let at = |row: &Row| AtSize {
        size_blocks: row.size_blocks as u32,
        size_bytes: row.size_bytes,
        references: row.counts.references,
        today_hits: hits(today, row.size_blocks),
        hits: hits(policy, row.size_blocks),
        bound_hits: hits(bound, row.size_blocks),
    };
    let mut sizes: Vec<AtSize> = rows.iter().filter(|row| row.policy == today).map(at).collect();
    sizes.sort_by_key(|size| size.size_blocks);
    sizes
}

/// The least size with enough hits, and the next one.
pub(super) fn memory(sizes: &[AtSize], attainable: u64) -> Memory {
    let enough = |size: &AtSize| size.today_hits as f64 >= ENOUGH * attainable as f64;
    let at = sizes.iter().position(enough).unwrap_or(sizes.len() - 1);
    let here = sizes[at];
    let next = sizes.get(at + 1).map(|next| NextStep {
        size_blocks: next.size_blocks,
        size_bytes: next.size_bytes,
        fewer_reads: next.today_hits.saturating_sub(here.today_hits),
        fewer_seconds: None,
    });
    Memory { size_blocks: here.size_blocks, size_bytes: here.size_bytes, hits: here.today_hits, next }
}

/// The gain of the recommended policy in `at` blocks, where it and today's have so many hits.
pub(super) fn change(advice: &Advice, at: u32, today_hits: u64, hits: u64) -> Change {
    let enough = advice.sizes.iter().find(|size| size.size_blocks < at && size.hits >= today_hits);
    // Where today's policy hits as much in the smaller memory, too, the other policy gains nothing there.
    let is_less = |size: &&AtSize| (size.today_hits as f64) < today_hits as f64 - NEAR * advice.reads as f64;
    let compares = advice.policy != advice.today && today_hits as f64 >= COMPARABLE * advice.attainable_hits as f64;
    let enough_blocks = enough.filter(is_less).map(|size| size.size_blocks).filter(|_| compares);
    Change {
        size_blocks: at,
        size_bytes: advice.block_bytes.map(|block| block * u64::from(at)),
        today_hits,
        hits,
        enough_blocks,
        pays: false,
        gains: Vec::new(),
        seconds: None,
        today_seconds: None,
    }
}

/// Why no figures are given: nothing repeats, or too little was recorded to tell.
pub(super) fn too_little(advice: &Advice) -> Option<Finding> {
    let attainable = advice.attainable_hits as f64;
    if advice.reads >= REPEATED && attainable < WORTHWHILE * advice.reads as f64 {
        return Some(Finding::NothingRepeats);
    }
    (advice.attainable_hits < REPEATED).then_some(Finding::TooLittle)
}

/// All measures with figures, whether they gain or not. `seconds` are those of a policy at a size, where known.
pub(super) fn measures(
    advice: &Advice,
    memory: &Memory,
    change: &Change,
    seconds: impl Fn(&str, u32) -> Option<f64>,
) -> Vec<Measure> {
    let at = change.size_blocks;
    let measure = |action: Action, policy: Option<&str>, size_blocks: u32, hits: u64| {
        let ours = seconds(policy.unwrap_or(&advice.today), size_blocks);
        Measure {
            action,
            policy: policy.map(str::to_owned),
            size_blocks,
            size_bytes: advice.block_bytes.map(|block| block * u64::from(size_blocks)),
            fewer_reads: hits as i64 - change.today_hits as i64,
            fewer_seconds: ours.zip(change.today_seconds).map(|(ours, todays)| todays - ours),
        }
    };
    let mut measures = Vec::new();
    if memory.size_blocks > at {
        measures.push(measure(Action::Memory, None, memory.size_blocks, memory.hits));
    }
    if advice.policy != advice.today {
        measures.push(measure(Action::Steer, Some(&advice.policy), at, change.hits));
        let mut mount = measure(Action::Mount, Some(&advice.policy), at, change.hits);
        mount.fewer_seconds = mount.fewer_seconds.map(|saved| saved - MOUNT_HIT * advice.reads as f64);
        // Without a storage model nothing shows that the source is slower than a hit in a mount.
        if mount.fewer_seconds.is_some() && !advice.evidence.is_database && advice.beside.is_empty() {
            measures.push(mount);
        }
    }
    measures.extend(advice.beside.iter().map(|one| measure(Action::Buffers, Some(&one.policy), at, one.hits)));
    measures
}

/// References and hits of a policy, all applications together, one stretch after the other.
pub(super) fn stretches(series: &[SeriesRow], policy: &str) -> Vec<(u64, u64)> {
    let mut stretches: Vec<(Option<u64>, u64, u64)> = Vec::new();
    for row in series.iter().filter(|row| row.policy == policy) {
        match stretches.last_mut() {
            Some((end, references, hits)) if *end == row.end_references => {
                *references += row.references;
                *hits += row.hits;
            }
            _ => stretches.push((row.end_references, row.references, row.hits)),
        }
    }
    stretches.into_iter().map(|(_, references, hits)| (references, hits)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(size_blocks: u32, today_hits: u64, hits: u64) -> AtSize {
        AtSize { size_blocks, size_bytes: None, references: 1000, today_hits, hits, bound_hits: hits }
    }

    #[test]
    fn the_memory_to_have_is_the_least_with_nine_tenths_of_the_hits() {
        let sizes = [at(10, 100, 0), at(20, 539, 0), at(40, 540, 0), at(80, 600, 0)];
        let memory = memory(&sizes, 600);
        assert_eq!((memory.size_blocks, memory.hits), (40, 540));
        assert_eq!(memory.next.map(|next| (next.size_blocks, next.fewer_reads)), Some((80, 60)));
    }

    #[test]
    fn a_cliff_needs_all_of_it() {
        let sizes = [at(10, 0, 0), at(20, 0, 0), at(40, 500, 0)];
        let memory = memory(&sizes, 500);
        assert_eq!((memory.size_blocks, memory.next), (40, None));
    }
}
