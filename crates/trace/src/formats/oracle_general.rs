//! `oracle-general`: libCacheSim's 24-byte little-endian record `{ u32 time, u64 object, u32 size, i64 next access }`.
//! Times are seconds. The next access, a record's number or -1, is not used: hotset works out its own.

use hotset_core::request::Request;

use super::{Confidence, Format, Head};
use crate::{
    Addressing, Batch, Meta,
    runner::{
        Malformed,
        records::{RecordFormat, Records},
    },
};

pub(super) const FORMAT: Format = Format {
    name: "oracle-general",
    summary: "24-byte little-endian records of libCacheSim",
    example: "u32 seconds, u64 object, u32 size, i64 next access",
    sample: b"\x01\0\0\0\x07\0\0\0\0\0\0\0\0\x10\0\0\x02\0\0\0\0\0\0\0\x02\0\0\0\x07\0\0\0\0\0\0\0\0\x10\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
    detect,
    open: |input, options| Ok(Box::new(Records::new(input, OracleGeneral, options.skip_bad))),
};

const RECORD_BYTES: usize = 24;
const NANOSECONDS: u64 = 1_000_000_000;

struct OracleGeneral;

const META: Meta =
    Meta { format: "oracle-general", addressing: Addressing::Objects, has_time: true, has_ops: false, sample: None };

impl RecordFormat<RECORD_BYTES> for OracleGeneral {
    fn meta(&self) -> &Meta {
        &META
    }

    #[inline]
    fn record(&mut self, record: &[u8; RECORD_BYTES], batch: &mut Batch) -> Result<(), Malformed> {
        let (time, object, length, _) = fields(record);
        batch.requests.push(Request {
            time: u64::from(time) * NANOSECONDS,
            offset: object,
            length,
            ..Request::default()
        });
        Ok(())
    }
}

/// Time, object, size and next access.
#[inline]
fn fields(record: &[u8; RECORD_BYTES]) -> (u32, u64, u32, i64) {
    let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
    let (front, next) = (word(8), word(16));
    let (time, low) = (word(0) as u32, word(0) >> 32);
    (time, low | (front & 0xffff_ffff) << 32, (front >> 32) as u32, next as i64)
}

/// Times never fall and every next access lies ahead.
fn detect(head: &Head) -> Confidence {
    let (records, rest) = head.bytes.as_chunks::<RECORD_BYTES>();
    if records.is_empty() || head.whole && !rest.is_empty() {
        return Confidence::No;
    }
    let mut before = 0;
    let fits = records.iter().enumerate().all(|(number, record)| {
        let (time, _, _, next) = fields(record);
        let rises = time >= before;
        before = time;
        rises && (next == -1 || next == i64::MAX || next > number as i64)
    });
    match fits {
        true if head.name.contains("oraclegeneral") => Confidence::Sure,
        true if !head.is_text() => Confidence::Likely,
        _ => Confidence::No,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{read, refused, skipping},
        *,
    };

    fn record(time: u32, object: u64, size: u32) -> Vec<u8> {
        [&time.to_le_bytes()[..], &object.to_le_bytes(), &size.to_le_bytes(), &(-1i64).to_le_bytes()].concat()
    }

    #[test]
    fn records_hold_seconds_object_and_size() {
        let whole = read(&FORMAT, &[record(7, u64::MAX - 1, 4096), record(u32::MAX, 1, 0)].concat());
        let [first, second] = whole.requests[..] else { panic!() };
        assert_eq!((first.time, first.offset, first.length), (7_000_000_000, u64::MAX - 1, 4096));
        assert_eq!((second.time, second.offset, second.length), (4_294_967_295_000_000_000, 1, 0));
    }

    #[test]
    fn a_cut_record_is_an_error_with_its_byte() {
        let cut = &record(1, 2, 3).repeat(2)[..40];
        assert_eq!(refused(&FORMAT, cut), "t, byte 24: truncated: found 16 bytes of a last record; expected 24");
        let whole = skipping(&FORMAT, cut);
        assert_eq!((whole.requests.len(), whole.skipped), (1, 1));
    }
}
