//! `lcs`: libCacheSim's own format, versions 1 to 8. A header of 8192 bytes (a mark, the version, statistics of which
//! the first is the count of requests, the mark again) is followed by little-endian records:
//!
//! | version | record |
//! |---|---|
//! | 1 | u32 seconds, u64 object, u32 bytes, i64 next access |
//! | 2 | u32 seconds, u64 object, u32 bytes, u8 operation, u24 tenant, i64 next access |
//! | 3 | u32 seconds, u64 object, i64 bytes, u8 operation, u24 tenant, u32 time to live, i64 next access |
//! | 4 to 8 | as 3, and 1, 2, 4, 8 or 16 features of u32 |
//!
//! A tenant is an application here. Features and the next access are not used. Times to live are seconds.
//! [`LcsWriter`] writes version 3.

mod writer;

use hotset_core::request::{FLAG_FAILED, Op, Request};

use super::{Confidence, Format, Head, OpenOptions, Opened};
use crate::{
    Addressing, Batch, Meta, Tables, TraceError, TraceReader,
    error::Place,
    input::Input,
    runner::{
        Malformed,
        numbering::Numbering,
        records::{RecordFormat, Records},
    },
};

pub(super) const FORMAT: Format = Format {
    name: "lcs",
    summary: "libCacheSim's own binary format, versions 1 to 8",
    example: "header of 8192 bytes, then u32 seconds, u64 object, u32 or i64 bytes, operation, tenant, time to live",
    sample: &SAMPLE,
    detect,
    open,
};

pub use writer::{LcsOp, LcsRecord, LcsWriter};

const HEADER_BYTES: usize = 8192;
const MARK: u64 = 0x1234_5678_9abc_def0;
const SECOND: u64 = 1_000_000_000;

/// Two records of version 3.
const SAMPLE: [u8; HEADER_BYTES + 72] = {
    let mut bytes = [0; HEADER_BYTES + 72];
    put(&mut bytes, 0, MARK);
    put(&mut bytes, 8, 3);
    put(&mut bytes, 24, 2);
    put(&mut bytes, HEADER_BYTES - 8, MARK);
    let mut record = 0;
    while record < 2 {
        let at = HEADER_BYTES + record * 36;
        put(&mut bytes, at, 1 + record as u64);
        put(&mut bytes, at + 4, 7);
        put(&mut bytes, at + 12, 4096);
        // A get, then a set of tenant 1.
        put(&mut bytes, at + 20, [1, 3 | 1 << 8][record]);
        put(&mut bytes, at + 28, u64::MAX);
        record += 1;
    }
    bytes
};

/// Writes eight little-endian bytes.
const fn put(bytes: &mut [u8], at: usize, number: u64) {
    let number = number.to_le_bytes();
    let mut byte = 0;
    while byte < 8 {
        bytes[at + byte] = number[byte];
        byte += 1;
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Records of one version, which their length tells.
struct Lcs<const BYTES: usize> {
    meta: Meta,
    tenants: Numbering,
    tables: Tables,
}

impl<const BYTES: usize> Lcs<BYTES> {
    fn new() -> Lcs<BYTES> {
        let meta =
            Meta { format: "lcs", addressing: Addressing::Objects, has_time: true, has_ops: BYTES > 24, sample: None };
        Lcs { meta, tenants: Numbering::default(), tables: Tables::default() }
    }
}

impl<const BYTES: usize> RecordFormat<BYTES> for Lcs<BYTES> {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    #[inline]
    fn record(&mut self, record: &[u8; BYTES], batch: &mut Batch) -> Result<(), Malformed> {
        let mut request =
            Request { time: u64::from(half(record, 0)) * SECOND, offset: word(record, 4), ..Request::default() };
        let (length, about) = match BYTES {
            24 => (i64::from(half(record, 12)), None),
            28 => (i64::from(half(record, 12)), Some(half(record, 16))),
            _ => (word(record, 12) as i64, Some(half(record, 20))),
        };
        if let Some(about) = about {
            request.op = op_of(about as u8)? as u8;
            request.app = self.tenants.of_number(u64::from(about >> 8))?;
            self.tables.name_app(request.app, || format!("tenant {}", about >> 8));
        }
        match u32::try_from(length) {
            Ok(length) => request.length = length,
            Err(_) if length < 0 => request.flags |= FLAG_FAILED,
            Err(_) => return Err(format!("found an object of {length} bytes; expected less than 4 GiB").into()),
        }
        batch.requests.push(request);
        if BYTES >= 36 {
            batch.set_ttl(u64::from(half(record, 24)) * SECOND);
        }
        Ok(())
    }
}

/// The operation with libCacheSim's number; without one a request is a read.
#[inline]
fn op_of(number: u8) -> Result<Op, Malformed> {
    match number {
        0 | 1 | 2 | 12 | 255 => Ok(Op::Read),
        3..=8 | 10 | 11 | 13 | 14 => Ok(Op::Write),
        9 => Ok(Op::Unlink),
        _ => Err(format!("found the operation {number}; expected a number of libCacheSim's, up to 14").into()),
    }
}

fn detect(head: &Head) -> Confidence {
    let is_marked = head.bytes.len() >= 16 && word(head.bytes, 0) == MARK;
    if is_marked { Confidence::Sure } else { Confidence::No }
}

fn open(mut input: Input, options: &OpenOptions) -> Opened {
    let header = input.at_least(HEADER_BYTES)?;
    let checked = check(&header[..header.len().min(HEADER_BYTES)]);
    let (version, requests) =
        checked.map_err(|(at, message)| TraceError::new(input.path(), Place::Byte(at), message))?;
    input.consume(HEADER_BYTES);
    let path = input.path().to_owned();
    let skip = options.skip_bad;
    let reader: Box<dyn TraceReader> = match version {
        1 => Box::new(Records::new(input, Lcs::<24>::new(), skip)),
        2 => Box::new(Records::new(input, Lcs::<28>::new(), skip)),
        3 => Box::new(Records::new(input, Lcs::<36>::new(), skip)),
        4 => Box::new(Records::new(input, Lcs::<40>::new(), skip)),
        5 => Box::new(Records::new(input, Lcs::<44>::new(), skip)),
        6 => Box::new(Records::new(input, Lcs::<52>::new(), skip)),
        7 => Box::new(Records::new(input, Lcs::<68>::new(), skip)),
        _ => Box::new(Records::new(input, Lcs::<100>::new(), skip)),
    };
    let expected = (requests > 0).then_some(requests);
    Ok(Box::new(Whole { reader, path, expected, found: 0, has_other_count: false, skip_bad: skip }))
}

/// The version and the count of requests that a header tells, or where it is wrong.
fn check(header: &[u8]) -> Result<(u64, u64), (u64, String)> {
    if header.len() < HEADER_BYTES {
        return Err((0, format!("truncated: found {} bytes of the header; expected {HEADER_BYTES}", header.len())));
    }
    for at in [0, HEADER_BYTES - 8] {
        if word(header, at) != MARK {
            let found = word(header, at);
            return Err((at as u64, format!("found {found:#x}; expected the mark of an lcs header, {MARK:#x}")));
        }
    }
    match word(header, 8) {
        version @ 1..=8 => Ok((version, word(header, 24))),
        version => Err((8, format!("found version {version} of the format; expected 1 to 8"))),
    }
}

/// A reader that holds a trace to the count of requests in its header.
struct Whole {
    reader: Box<dyn TraceReader>,
    path: std::path::PathBuf,
    expected: Option<u64>,
    found: u64,
    /// The trace has ended with another count than the header's.
    has_other_count: bool,
    skip_bad: bool,
}

impl TraceReader for Whole {
    fn meta(&self) -> &Meta {
        self.reader.meta()
    }

    fn tables(&self) -> &Tables {
        self.reader.tables()
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        self.reader.read(batch)?;
        self.found += batch.len() as u64;
        self.has_other_count |= batch.is_empty() && self.expected.is_some_and(|expected| expected != self.found);
        match self.expected {
            Some(expected) if self.has_other_count && !self.skip_bad => {
                let message =
                    format!("truncated or damaged: the header tells {expected} requests; found {}", self.found);
                Err(TraceError::new(&self.path, Place::File, message))
            }
            _ => Ok(()),
        }
    }

    fn skipped(&self) -> u64 {
        self.reader.skipped() + u64::from(self.has_other_count)
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.reader.remarks();
        if let Some(expected) = self.expected.filter(|&expected| expected != self.found) {
            remarks.push(format!("the header tells {expected} requests; {} were read", self.found));
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{read, refused, skipping},
        *,
    };

    /// A trace of this version, of `(seconds, object, bytes, operation, tenant, time to live)`.
    fn trace(version: u64, count: u64, rows: &[(u32, u64, i64, u32, u32, u32)]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        put(&mut bytes, 0, MARK);
        put(&mut bytes, 8, version);
        put(&mut bytes, 24, count);
        put(&mut bytes, HEADER_BYTES - 8, MARK);
        for &(time, object, size, op, tenant, ttl) in rows {
            bytes.extend(time.to_le_bytes());
            bytes.extend(object.to_le_bytes());
            match version {
                1 | 2 => bytes.extend((size as u32).to_le_bytes()),
                _ => bytes.extend(size.to_le_bytes()),
            }
            if version > 1 {
                bytes.extend((op | tenant << 8).to_le_bytes());
            }
            if version > 2 {
                bytes.extend(ttl.to_le_bytes());
            }
            bytes.extend((-1i64).to_le_bytes());
            let features = [0, 0, 0, 0, 1, 2, 4, 8, 16][version as usize];
            bytes.extend(vec![9; features * 4]);
        }
        bytes
    }

    const ROWS: [(u32, u64, i64, u32, u32, u32); 3] =
        [(7, u64::MAX - 1, 4096, 1, 5, 0), (8, 1, 0, 3, 6, 60), (u32::MAX, 1, 12, 9, 5, 0)];

    #[test]
    fn every_version_keeps_what_it_has() {
        for version in 1..=8 {
            let whole = read(&FORMAT, &trace(version, 3, &ROWS));
            let rows = whole.requests.iter().map(|request| (request.time / SECOND, request.offset, request.length));
            let expected = [(7, u64::MAX - 1, 4096), (8, 1, 0), (4_294_967_295, 1, 12)];
            assert_eq!(rows.collect::<Vec<_>>(), expected, "version {version}");
            let ops: Vec<Op> = whole.requests.iter().map(Request::op).collect();
            let apps: Vec<u32> = whole.requests.iter().map(|request| request.app).collect();
            if version == 1 {
                assert_eq!((ops, apps), (vec![Op::Read; 3], vec![0; 3]));
            } else {
                assert_eq!((ops, apps), (vec![Op::Read, Op::Write, Op::Unlink], vec![0, 1, 0]), "version {version}");
                assert_eq!(whole.tables.apps, ["tenant 5", "tenant 6"]);
            }
            assert_eq!(whole.ttls.get(1), (version > 2).then_some(&(60 * SECOND)), "version {version}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let sound = trace(3, 3, &ROWS);
        assert_eq!(
            refused(&FORMAT, &sound[..100]),
            "t, byte 0: truncated: found 100 bytes of the header; expected 8192"
        );
        assert!(refused(&FORMAT, &trace(9, 0, &[])).starts_with("t, byte 8: found version 9 of the format"));
        assert_eq!(
            refused(&FORMAT, &sound[..HEADER_BYTES + 72]),
            "t: truncated or damaged: the header tells 3 requests; found 2"
        );
        assert!(refused(&FORMAT, &sound[..HEADER_BYTES + 80]).contains("truncated: found 8 bytes of a last record"));
        assert_eq!(read(&FORMAT, &trace(3, 0, &ROWS)).requests.len(), 3);
        let cut = skipping(&FORMAT, &sound[..HEADER_BYTES + 72]);
        assert!(cut.remarks.contains(&"the header tells 3 requests; 2 were read".to_owned()), "{:?}", cut.remarks);
        let large = trace(3, 1, &[(0, 1, 1 << 33, 1, 0, 0)]);
        assert!(refused(&FORMAT, &large).contains("found an object of 8589934592 bytes"));
        assert!(refused(&FORMAT, &trace(2, 1, &[(0, 1, 1, 77, 0, 0)])).contains("found the operation 77"));
        assert!(read(&FORMAT, &trace(3, 1, &[(0, 1, -1, 1, 0, 0)])).requests[0].failed());
        let mut unmarked = sound;
        unmarked[HEADER_BYTES - 1] = 0;
        assert!(refused(&FORMAT, &unmarked).starts_with("t, byte 8184: found "));
    }
}
