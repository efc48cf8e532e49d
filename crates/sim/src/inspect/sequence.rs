//! How sequential the requests are.

use hashbrown::HashMap;
use hotset_core::request::Request;
use serde::Serialize;

/// Runs of reads and writes, each of which begins where the one before it to the same file ended. Mappings are left
/// out: the accesses to a mapped range are not seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sequences {
    /// Reads and writes of at least one byte.
    pub requests: u64,
    /// Those that begin where the one before them to the same file ended.
    pub sequential: u64,
    /// The same as a share, 0 to 1.
    pub sequential_share: f64,
    /// Runs, those of a single request included.
    pub runs: u64,
    /// Requests a run, on average.
    pub mean_run_requests: f64,
    /// Bytes a run, on average.
    pub mean_run_bytes: f64,
}

#[derive(Default)]
pub(super) struct SequenceMeter {
    /// Where the last request to each file ended.
    ends: HashMap<u32, u64>,
    requests: u64,
    sequential: u64,
    bytes: u128,
}

impl SequenceMeter {
    pub fn note(&mut self, request: &Request, continued: bool) {
        let end = request.offset.saturating_add(request.length.into());
        let before = self.ends.insert(request.file, end);
        self.bytes += u128::from(request.length);
        if !continued {
            self.requests += 1;
            self.sequential += u64::from(before == Some(request.offset));
        }
    }

    /// Absent without such requests.
    pub fn finish(self) -> Option<Sequences> {
        let SequenceMeter { requests, sequential, bytes, .. } = self;
        // The first request to a file begins a run, so there is one where there are requests.
        let runs = requests - sequential;
        (runs > 0).then(|| Sequences {
            requests,
            sequential,
            sequential_share: sequential as f64 / requests as f64,
            runs,
            mean_run_requests: requests as f64 / runs as f64,
            mean_run_bytes: bytes as f64 / runs as f64,
        })
    }
}
