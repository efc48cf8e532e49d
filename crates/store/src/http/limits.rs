//! How long a request is waited for, and how often it is made again.

use std::time::Duration;

use crate::limits::Limits;

/// The number of repetitions if fewer bytes arrive than announced; requests that end with an error are repeated
/// separately.
pub(crate) const AGAIN: usize = 3;

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
