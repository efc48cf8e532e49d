//! How much a store is asked for, and for how long.

use std::time::Duration;

/// The number of repetitions if fewer bytes arrive than announced; requests that end with an error are repeated
/// separately.
pub(crate) const AGAIN: usize = 3;

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

/// A connection is made in this time or not at all.
const CONNECT: Duration = Duration::from_secs(5);

impl Limits {
    /// How long one request is waited for: one that is lost has time to be made again.
    pub(crate) fn for_request(&self) -> Duration {
        self.timeout / 2
    }

    pub(crate) fn for_connection(&self) -> Duration {
        CONNECT.min(self.timeout / 4)
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { requests: 64, timeout: Duration::from_secs(60), retries: 8, hedges: true, bandwidth: None }
    }
}
