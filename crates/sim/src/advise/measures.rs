//! What would help, ranked by seconds saved.
//!
//! A measure without a gain by its own figures is never listed: with a storage model it must save at least [`SAVED`] of
//! the seconds, otherwise at least [`NEAR`](super::NEAR) of the reads. Steering must also save [`SAVED_BY_STEERING`] of
//! the misses, without which it would do nothing.

use serde::Serialize;

use super::{Advice, Change, NEAR};

/// The share of today's seconds that a measure must save.
pub const SAVED: f64 = 0.01;
/// The share that a mount must save: it costs an installation and a process.
pub const SAVED_BY_MOUNT: f64 = 0.1;
/// The share of today's misses that steering must save: `hotset steer` does not begin below it.
pub const SAVED_BY_STEERING: f64 = 0.1;
/// Seconds that a hit in a mount costs beyond one in the kernel's page cache, for each block read.
pub const MOUNT_HIT: f64 = 16e-6;

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum Action {
    /// Give the page cache this much memory.
    Memory,
    /// Have the kernel keep what the policy keeps.
    Steer,
    /// Mount the directory under the policy.
    Mount,
    /// Give the memory to the database's buffers.
    Buffers,
    /// Drop a file behind its reader by `posix_fadvise`.
    DropBehind {
        /// The file.
        file: String,
    },
}

/// A measure with its gain over what runs today.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// What to do.
    #[serde(flatten)]
    pub action: Action,
    /// The policy, for a steered kernel, a mount or buffers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The memory.
    pub size_blocks: u32,
    /// The same in bytes, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Reads from storage saved.
    pub fewer_reads: i64,
    /// Seconds saved; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fewer_seconds: Option<f64>,
}

/// Keeps the measures that gain over `today`, the most seconds first; unknown seconds follow, by reads.
pub(super) fn ranked(mut measures: Vec<Measure>, advice: &Advice, today: &Change) -> Vec<Measure> {
    let misses = (advice.reads - today.today_hits) as f64;
    measures
        .retain(|measure| measure.action != Action::Steer || measure.fewer_reads as f64 >= SAVED_BY_STEERING * misses);
    measures.retain(|measure| match (measure.fewer_seconds, today.today_seconds) {
        (Some(saved), Some(today)) => {
            let least = if measure.action == Action::Mount { SAVED_BY_MOUNT } else { SAVED };
            saved > 0.0 && saved >= least * today
        }
        _ => measure.fewer_reads > 0 && measure.fewer_reads as f64 >= NEAR * advice.reads as f64,
    });
    measures.sort_by(|one, other| {
        let key = |measure: &Measure| measure.fewer_seconds.unwrap_or(f64::NEG_INFINITY);
        key(other).total_cmp(&key(one)).then(other.fewer_reads.cmp(&one.fewer_reads))
    });
    measures
}
