//! Writing `lcs`, version 3: what libCacheSim and its Python package read.
//!
//! A record has the number of the next request for its object, so records are completed in a second pass over the
//! file. Requests are numbered from 1. Memory: 8 bytes a request, and 22 bytes and the slack of a hash table an object.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use foldhash::fast::FixedState;

use super::{HEADER_BYTES, MARK, SECOND, put};
use crate::{TraceError, error::Place};

/// Bytes of a record, and where it tells the next request.
const RECORD_BYTES: usize = 36;
const NEXT_AT: usize = 28;
/// The next request of an object that is not requested again.
const NEVER: u64 = i64::MAX as u64;
/// Records that the second pass completes at a time.
const PIECE: usize = 1 << 15;

/// One request for an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LcsRecord {
    /// Time in nanoseconds; the file keeps whole seconds.
    pub time: u64,
    /// The object.
    pub object: u64,
    /// Bytes of the object.
    pub bytes: u32,
    /// The operation.
    pub op: LcsOp,
    /// The application, below 2^24.
    pub tenant: u32,
    /// Time to live in nanoseconds, 0 for none; the file keeps whole seconds, rounded up.
    pub ttl: u64,
}

/// The operation of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LcsOp {
    /// Reads the object.
    #[default]
    Get,
    /// Writes the object.
    Set,
    /// Deletes the object.
    Delete,
}

/// Facts of an object.
struct Object {
    /// Number of its last request.
    last: u64,
    /// The last size above 0.
    bytes: u32,
}

/// A trace in `lcs` that is being written.
pub struct LcsWriter<'a> {
    file: BufWriter<&'a mut File>,
    path: PathBuf,
    /// For each request, the number of the next one to its object.
    next: Vec<u64>,
    objects: HashMap<u64, Object, FixedState>,
    /// Bytes that all requests ask for.
    bytes: u64,
    /// Seconds of the first request and of the last.
    span: Option<(u64, u64)>,
}

impl<'a> LcsWriter<'a> {
    /// Begins a trace in `file`, which is empty and can be read. Errors call it `path`.
    pub fn new(file: &'a mut File, path: &Path) -> Result<LcsWriter<'a>, TraceError> {
        let mut writer = LcsWriter {
            file: BufWriter::with_capacity(1 << 17, file),
            path: path.to_owned(),
            next: Vec::new(),
            objects: HashMap::default(),
            bytes: 0,
            span: None,
        };
        let written = writer.file.write_all(&[0; HEADER_BYTES]);
        written.map_err(|error| TraceError::io(path, WRITING, error))?;
        Ok(writer)
    }

    /// Requests written.
    pub fn requests(&self) -> u64 {
        self.next.len() as u64
    }

    /// Distinct objects so far.
    pub fn objects(&self) -> u64 {
        self.objects.len() as u64
    }

    /// Appends a request. Fails if a time or an application is too large for the format.
    pub fn push(&mut self, record: &LcsRecord) -> Result<(), TraceError> {
        let number = self.requests() + 1;
        let refused =
            |message: String| TraceError::new(&self.path, Place::File, format!("request {number}: {message}"));
        let too_late = |what: &str, seconds: u64| {
            refused(format!("found {what} of {seconds} s; expected less than 2^32, the most that lcs has"))
        };
        let (seconds, ttl) = (record.time / SECOND, record.ttl.div_ceil(SECOND));
        let time = u32::try_from(seconds).map_err(|_| too_late("a time", seconds))?;
        let ttl = u32::try_from(ttl).map_err(|_| too_late("a time to live", ttl))?;
        if record.tenant >= 1 << 24 {
            return Err(refused(format!("found application {}; lcs has 2^24", record.tenant)));
        }
        let mut bytes = [0; RECORD_BYTES];
        bytes[..4].copy_from_slice(&time.to_le_bytes());
        bytes[4..12].copy_from_slice(&record.object.to_le_bytes());
        bytes[12..20].copy_from_slice(&u64::from(record.bytes).to_le_bytes());
        let op = match record.op {
            LcsOp::Get => 1,
            LcsOp::Set => 3,
            LcsOp::Delete => 9,
        };
        bytes[20..24].copy_from_slice(&(op | record.tenant << 8).to_le_bytes());
        bytes[24..28].copy_from_slice(&ttl.to_le_bytes());
        self.file.write_all(&bytes).map_err(|error| TraceError::io(&self.path, WRITING, error))?;

        let object = self.objects.entry(record.object).or_insert(Object { last: 0, bytes: 0 });
        if let Some(before) = object.last.checked_sub(1) {
            self.next[before as usize] = number;
        }
        object.last = number;
        if record.bytes > 0 {
            object.bytes = record.bytes;
        }
        self.next.push(NEVER);
        self.bytes = self.bytes.saturating_add(record.bytes.into());
        self.span = Some((self.span.map_or(seconds, |span| span.0), seconds));
        Ok(())
    }

    /// Completes the records and the header. Without it the file is not a trace.
    pub fn finish(self) -> Result<(), TraceError> {
        let path = self.path.clone();
        self.complete().map_err(|error| TraceError::io(&path, WRITING, error))
    }

    fn complete(mut self) -> std::io::Result<()> {
        self.file.flush()?;
        let header = self.header();
        let file = self.file.get_mut();
        let mut piece = Vec::with_capacity(PIECE * RECORD_BYTES);
        let mut at = HEADER_BYTES as u64;
        for next in self.next.chunks(PIECE) {
            piece.resize(next.len() * RECORD_BYTES, 0);
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(&mut piece)?;
            for (record, next) in piece.chunks_exact_mut(RECORD_BYTES).zip(next) {
                record[NEXT_AT..].copy_from_slice(&next.to_le_bytes());
            }
            file.seek(SeekFrom::Start(at))?;
            file.write_all(&piece)?;
            at += piece.len() as u64;
        }
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&header)?;
        file.seek(SeekFrom::End(0))?;
        Ok(())
    }

    /// The header: the mark, the version, and the statistics that libCacheSim's own converter writes. Those of the most
    /// frequent values stay zero.
    fn header(&self) -> [u8; HEADER_BYTES] {
        let sizes = self.objects.values().map(|object| u64::from(object.bytes));
        let (first, last) = self.span.unwrap_or_default();
        let mut header = [0; HEADER_BYTES];
        let words = [
            (0, MARK),
            (8, 3),
            (16, 1),
            (24, self.requests()),
            (32, self.objects()),
            (40, self.bytes),
            (48, sizes.clone().sum()),
            (56, first),
            (64, last),
            (96, sizes.clone().min().unwrap_or(0)),
            (104, sizes.max().unwrap_or(0)),
            (HEADER_BYTES - 8, MARK),
        ];
        words.into_iter().for_each(|(at, word)| put(&mut header, at, word));
        header
    }
}

const WRITING: &str = "cannot write the trace";

#[cfg(test)]
mod tests {
    use hotset_core::request::Op;

    use super::{
        super::{super::testing, FORMAT, word},
        *,
    };

    fn written(records: &[LcsRecord]) -> Vec<u8> {
        let mut file = tempfile::tempfile().unwrap();
        let mut writer = LcsWriter::new(&mut file, Path::new("t")).unwrap();
        records.iter().for_each(|record| writer.push(record).unwrap());
        writer.finish().unwrap();
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }

    fn record(seconds: u64, object: u64, bytes: u32, op: LcsOp) -> LcsRecord {
        LcsRecord { time: seconds * SECOND, object, bytes, op, ..LcsRecord::default() }
    }

    /// The statistics and next requests that libCacheSim's converter (version 0.3.5 of its Python package) gives for
    /// the same five requests.
    #[test]
    fn header_and_next_requests_are_those_of_libcachesim() {
        let get = |time, object, bytes| record(time, object, bytes, LcsOp::Get);
        let bytes = written(&[get(10, 5, 100), get(11, 6, 200), get(12, 5, 100), get(20, 7, 300), get(21, 5, 100)]);
        let words: Vec<u64> = [16, 24, 32, 40, 48, 56, 64, 96, 104].map(|at| word(&bytes, at)).into();
        assert_eq!(words, [1, 5, 3, 800, 600, 10, 21, 100, 300]);
        let next: Vec<u64> = (0..5).map(|at| word(&bytes, HEADER_BYTES + at * RECORD_BYTES + NEXT_AT)).collect();
        assert_eq!(next, [3, 0x7fff_ffff_ffff_ffff, 5, 0x7fff_ffff_ffff_ffff, 0x7fff_ffff_ffff_ffff]);
        assert_eq!(bytes.len(), HEADER_BYTES + 5 * RECORD_BYTES);
    }

    /// More records than one piece, every field: the reader gives the records back.
    #[test]
    fn records_are_read_as_written() {
        let ops = [LcsOp::Get, LcsOp::Set, LcsOp::Delete];
        let records: Vec<LcsRecord> = (0..PIECE as u64 + 1000)
            .map(|at| LcsRecord {
                tenant: (at % 3) as u32 * 7,
                ttl: (at % 5) * SECOND,
                ..record(at, at * at % 977, at as u32 % 1000, ops[at as usize % 3])
            })
            .collect();
        let whole = testing::read(&FORMAT, &written(&records));
        assert_eq!(whole.requests.len(), records.len());
        for (at, (request, record)) in whole.requests.iter().zip(&records).enumerate() {
            let op = [Op::Read, Op::Write, Op::Unlink][at % 3];
            assert_eq!((request.time, request.offset, request.length), (record.time, record.object, record.bytes));
            assert_eq!((request.op(), request.app), (op, record.tenant / 7));
            assert_eq!(whole.ttls.get(at).copied().unwrap_or(0), record.ttl);
        }
        assert_eq!(whole.tables.apps, ["tenant 0", "tenant 7", "tenant 14"]);
    }

    #[test]
    fn values_too_large_are_refused() {
        let mut file = tempfile::tempfile().unwrap();
        let mut writer = LcsWriter::new(&mut file, Path::new("t")).unwrap();
        writer.push(&record(u32::MAX.into(), 1, 1, LcsOp::Get)).unwrap();
        let late = writer.push(&record(1 << 32, 1, 1, LcsOp::Get)).unwrap_err().to_string();
        assert_eq!(late, "t: request 2: found a time of 4294967296 s; expected less than 2^32, the most that lcs has");
        let many = LcsRecord { tenant: 1 << 24, ..LcsRecord::default() };
        assert!(writer.push(&many).unwrap_err().to_string().contains("found application 16777216; lcs has 2^24"));
    }
}
