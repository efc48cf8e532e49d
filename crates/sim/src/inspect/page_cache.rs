//! Counts of the recorded machine's page cache.

use hotset_core::request::{FLAG_TOUCHED, Op, Request};
use serde::Serialize;

/// Reads and first touches by whether the page cache of the recorded machine served them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PageCache {
    /// Bytes of reads that it served.
    pub cached_bytes: u64,
    /// Bytes of reads for which storage was read.
    pub fetched_bytes: u64,
    /// Bytes of reads that bypassed it: direct I/O, and files of tmpfs.
    pub bypassed_bytes: u64,
    /// First touches of pages of mapped files.
    pub touches: u64,
    /// Those of them that waited for storage.
    pub fetched_touches: u64,
}

impl PageCache {
    /// Counts a request that did not fail.
    pub(super) fn note(&mut self, request: &Request) {
        match (request.op(), request.was_cached()) {
            (Op::Read, Some(true)) => self.cached_bytes += u64::from(request.length),
            (Op::Read, Some(false)) => self.fetched_bytes += u64::from(request.length),
            (Op::Read, None) => self.bypassed_bytes += u64::from(request.length),
            (Op::Map, was_cached) if request.flags & FLAG_TOUCHED != 0 => {
                self.touches += 1;
                self.fetched_touches += u64::from(was_cached == Some(false));
            }
            _ => {}
        }
    }

    /// Returns the counts; `None` if the recording has no flags of the page cache.
    pub(super) fn finish(self) -> Option<PageCache> {
        (self.cached_bytes + self.fetched_bytes + self.touches > 0).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use hotset_core::request::{FLAG_CACHED, FLAG_FETCHED};

    use super::*;

    #[test]
    fn reads_count_in_bytes_and_touches_in_pages() {
        let request = |op: Op, length, flags| Request { op: op as u8, length, flags, ..Request::default() };
        let mut seen = PageCache::default();
        seen.note(&request(Op::Read, 100, 0));
        seen.note(&request(Op::Write, 100, FLAG_CACHED));
        assert_eq!(seen.finish(), None, "a recording without flags tells nothing of the page cache");
        seen.note(&request(Op::Read, 10, FLAG_CACHED));
        seen.note(&request(Op::Read, 7, FLAG_FETCHED));
        seen.note(&request(Op::Map, 4096, FLAG_TOUCHED | FLAG_CACHED));
        seen.note(&request(Op::Map, 4096, FLAG_TOUCHED | FLAG_FETCHED));
        seen.note(&request(Op::Map, 65536, 0));
        let expected =
            PageCache { cached_bytes: 10, fetched_bytes: 7, bypassed_bytes: 100, touches: 2, fetched_touches: 1 };
        assert_eq!(seen.finish(), Some(expected));
    }
}
