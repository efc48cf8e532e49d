//! What a running cache tells of itself.

use hotset_core::counters::Counters;
use serde::Serialize;

use crate::cache::Cache;
use crate::counts::Traffic;

/// Everything that `hotset top`, the metrics and the JSON status show.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The scheme, as specs are printed.
    pub policy: String,
    /// Bytes of memory that the scheme was given.
    pub memory_bytes: u64,
    /// Bytes that its frames take.
    pub frame_bytes: u64,
    /// Blocks that are resident.
    pub resident_blocks: u32,
    /// Blocks whose data left.
    pub evictions: u64,
    /// Blocks that the scheme had read though nobody asked for them then.
    pub extra_reads: u64,
    /// The counts over all references.
    #[serde(flatten)]
    pub total: Counters,
    /// What was moved.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// By application; those that referenced something.
    pub apps: Vec<Named>,
    /// By class; empty when the scheme does not tell classes apart.
    pub classes: Vec<Named>,
}

/// The counts of an application or class.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counters,
}

impl Status {
    /// The status of a cache now.
    pub fn of(cache: &Cache) -> Status {
        let ((counts, traffic), (policy, memory_bytes)) = (cache.counts(), cache.policy());
        let (frame_bytes, resident_blocks) = cache.memory();
        Status {
            policy: policy.to_string(),
            memory_bytes,
            frame_bytes,
            resident_blocks,
            evictions: counts.evictions,
            extra_reads: counts.extra_reads,
            total: counts.total,
            traffic,
            apps: named(cache.apps(), &counts.apps),
            classes: named(cache.classes(), &counts.classes),
        }
    }
}

fn named(names: Vec<String>, counts: &[Counters]) -> Vec<Named> {
    let named = names.into_iter().zip(counts).map(|(name, &counts)| Named { name, counts });
    named.filter(|named| named.counts.references > 0).collect()
}
