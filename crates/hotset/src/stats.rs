//! Counts of a cache.

use std::time::Duration;

/// The counts of a cache since it was built. Each is exact, but counts that other threads change meanwhile may belong
/// to slightly different moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// References that found a value.
    pub hits: u64,
    /// References that found none.
    pub misses: u64,
    /// Values that were inserted, rejected ones included.
    pub inserts: u64,
    /// Values that the policy has evicted.
    pub evictions: u64,
    /// Values that have ended and were taken out.
    pub expired: u64,
    /// Values that did not stay: the policy has bypassed them, or they weigh too much.
    pub rejected: u64,
    /// Hits that the policy has not seen, because the log of its shard was full.
    pub dropped_events: u64,
    /// Loads that were begun.
    pub loads: u64,
    /// Loads that have failed or panicked.
    pub failed_loads: u64,
    /// The time that loads have taken, one after the other.
    pub load_time: Duration,
}

impl Stats {
    /// Returns the hits of each reference; 0 without references.
    pub fn hit_ratio(&self) -> f64 {
        match self.hits + self.misses {
            0 => 0.0,
            all => self.hits as f64 / all as f64,
        }
    }
}

/// The counts of one tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantStats {
    /// References that found a value.
    pub hits: u64,
    /// References that found none.
    pub misses: u64,
}
