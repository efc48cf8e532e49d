//! How much a store is asked for, and was.

use std::time::Duration;

/// How much a store is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests under way at a time.
    pub requests: usize,
    /// For how long a call may be under way, with all that is asked again.
    pub timeout: Duration,
    /// So often a request is made again that failed.
    pub retries: usize,
    /// Reads that take much longer than recent ones are requested a second time, at most one of twenty.
    pub hedges: bool,
    /// Bytes a second that are read and written, all together; none for as many as there may be.
    pub bandwidth: Option<u64>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { requests: 64, timeout: Duration::from_secs(60), retries: 8, hedges: true, bandwidth: None }
    }
}

/// Reads, and how many of them were repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hedged {
    /// Reads of ranges of objects.
    pub reads: u64,
    /// Those for which a second request was made.
    pub hedges: u64,
    /// Those of them that the second request has answered.
    pub hedges_won: u64,
}

/// Bytes moved, and the time that they were delayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes that were asked for, those that were asked for a second time included.
    pub read: u64,
    /// Bytes that were sent in objects and parts of them, each of them once.
    pub written: u64,
    /// For so long reads and writes have waited for their turn, all together.
    pub held_back: Duration,
}
