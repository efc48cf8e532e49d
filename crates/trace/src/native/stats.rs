//! The `STAT` section: totals of a trace.

use hotset_core::request::{Op, Request};

use super::{Fault, bytes::Fields};

/// Totals of a trace. Sums stop at `u64::MAX`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests.
    pub requests: u64,
    /// Requests by the number of their [`Op`].
    pub by_op: [u64; Op::ALL.len()],
    /// Least time in nanoseconds.
    pub first_time: u64,
    /// Greatest time in nanoseconds.
    pub last_time: u64,
    /// Bytes of requests that read, failed ones left out.
    pub bytes_read: u64,
    /// Bytes of requests that write, failed ones left out.
    pub bytes_written: u64,
    /// Bytes of requests that map, failed ones left out.
    pub bytes_mapped: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Entries in the file table.
    pub files: u64,
    /// Entries in the application table.
    pub apps: u64,
    /// Greatest file number in a request.
    pub max_file: u64,
    /// Blocks that the requests or runs are stored in.
    pub blocks: u64,
    /// Runs of references to a page, in a trace of memory.
    pub runs: u64,
    /// References in these runs.
    pub references: u64,
    /// How many of them write.
    pub written_references: u64,
    /// Memory objects that came or went.
    pub object_events: u64,
    /// Instructions executed; 0 if they were not counted.
    pub instructions: u64,
    /// Bytes of reads that the recorded machine's own page cache had ([`Request::was_cached`]).
    pub bytes_cached: u64,
    /// Bytes of reads for which it read storage.
    pub bytes_fetched: u64,
}

/// The ids that only some traces have: those of memory, and those that tell what the page cache had.
const RARE: std::ops::RangeInclusive<u16> = 12..=18;

/// The id of the first operation's count.
const FIRST_OP: u16 = 100;

impl Stats {
    /// Requests with this operation.
    pub fn count(&self, op: Op) -> u64 {
        self.by_op[op as usize]
    }

    /// Counts a request, whose operation is valid.
    #[inline]
    pub(super) fn note(&mut self, request: &Request) {
        self.first_time = if self.requests == 0 { request.time } else { self.first_time.min(request.time) };
        self.last_time = self.last_time.max(request.time);
        self.max_file = self.max_file.max(u64::from(request.file));
        self.requests += 1;
        self.by_op[request.op as usize] += 1;
        if request.failed() {
            self.failed += 1;
            return;
        }
        let bytes = match request.op() {
            Op::Read => &mut self.bytes_read,
            Op::Write => &mut self.bytes_written,
            Op::Map => &mut self.bytes_mapped,
            _ => return,
        };
        *bytes = bytes.saturating_add(u64::from(request.length));
        let had = match (request.op(), request.was_cached()) {
            (Op::Read, Some(true)) => &mut self.bytes_cached,
            (Op::Read, Some(false)) => &mut self.bytes_fetched,
            _ => return,
        };
        *had = had.saturating_add(u64::from(request.length));
    }

    /// The value stored under an id; `None` for ids that are not known.
    fn value(&mut self, id: u16) -> Option<&mut u64> {
        Some(match id {
            1 => &mut self.requests,
            2 => &mut self.first_time,
            3 => &mut self.last_time,
            4 => &mut self.bytes_read,
            5 => &mut self.bytes_written,
            6 => &mut self.bytes_mapped,
            7 => &mut self.failed,
            8 => &mut self.files,
            9 => &mut self.apps,
            10 => &mut self.max_file,
            11 => &mut self.blocks,
            12 => &mut self.runs,
            13 => &mut self.references,
            14 => &mut self.written_references,
            15 => &mut self.object_events,
            16 => &mut self.instructions,
            17 => &mut self.bytes_cached,
            18 => &mut self.bytes_fetched,
            FIRST_OP.. => return self.by_op.get_mut(usize::from(id - FIRST_OP)),
            _ => return None,
        })
    }

    pub(super) fn encode(mut self) -> Vec<u8> {
        let mut out = Vec::new();
        for id in 1..FIRST_OP + Op::ALL.len() as u16 {
            let told = self.value(id).map(|value| *value).filter(|&value| value > 0 || !RARE.contains(&id));
            if let Some(value) = told {
                out.extend_from_slice(&id.to_le_bytes());
                out.extend_from_slice(&value.to_le_bytes());
            }
        }
        out
    }

    pub(super) fn decode(raw: &[u8]) -> Result<Stats, Fault> {
        let mut stats = Stats::default();
        let mut fields = Fields::new(raw);
        while fields.left() > 0 {
            let (id, value) = (fields.u16()?, fields.u64()?);
            if let Some(place) = stats.value(id) {
                *place = value;
            }
        }
        Ok(stats)
    }
}
