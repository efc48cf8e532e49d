//! The counters of a cache, the same in the simulator and in the live cache.

use serde::Serialize;

/// Counts of one cache, one application or one class. A reference is one access to one block by one request. A
/// request misses if any of its references misses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Blocks referenced, reads and writes.
    pub references: u64,
    /// References that found their block resident.
    pub hits: u64,
    /// References that read, including mapped ranges.
    pub read_references: u64,
    /// Reading references that found their block resident.
    pub read_hits: u64,
    /// Requests that touch at least one block.
    pub requests: u64,
    /// Requests with at least one miss.
    pub request_misses: u64,
    /// Requests that read, including mapped ranges.
    pub read_requests: u64,
    /// Reading requests with at least one miss.
    pub read_request_misses: u64,
    /// Requests that write.
    pub write_requests: u64,
}

impl Counters {
    /// Returns the references that did not find their block resident.
    pub fn misses(&self) -> u64 {
        self.references - self.hits
    }

    /// Returns hits per reference; 0 without references.
    pub fn hit_ratio(&self) -> f64 {
        if self.references == 0 { 0.0 } else { self.hits as f64 / self.references as f64 }
    }

    /// Returns hits per reading reference; 0 without such references.
    pub fn read_hit_ratio(&self) -> f64 {
        if self.read_references == 0 { 0.0 } else { self.read_hits as f64 / self.read_references as f64 }
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Counters) {
        self.references += other.references;
        self.hits += other.hits;
        self.read_references += other.read_references;
        self.read_hits += other.read_hits;
        self.requests += other.requests;
        self.request_misses += other.request_misses;
        self.read_requests += other.read_requests;
        self.read_request_misses += other.read_request_misses;
        self.write_requests += other.write_requests;
    }
}
