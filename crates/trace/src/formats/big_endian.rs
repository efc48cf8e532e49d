//! `u32be` and `u64be`: nothing but big-endian ids of objects, one after the other.

use hotset_core::request::Request;

use super::{Confidence, Format, Head};
use crate::{
    Addressing, Batch, Meta,
    runner::{
        Malformed,
        records::{RecordFormat, Records},
    },
};

pub(super) const U32BE: Format = Format {
    name: "u32be",
    summary: "big-endian 32-bit ids",
    example: "00 00 00 2a (object 42)",
    sample: &[0, 0, 0, 1, 0, 0, 2, 0],
    detect: |head| detect::<4>(head, ".u32be"),
    open: |input, options| Ok(Box::new(Records::<_, 4>::new(input, BigEndian, options.skip_bad))),
};

pub(super) const U64BE: Format = Format {
    name: "u64be",
    summary: "big-endian 64-bit ids",
    example: "00 00 00 00 00 00 00 2a (object 42)",
    sample: &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0],
    detect: |head| detect::<8>(head, ".u64be"),
    open: |input, options| Ok(Box::new(Records::<_, 8>::new(input, BigEndian, options.skip_bad))),
};

struct BigEndian;

const META_32: Meta =
    Meta { format: "u32be", addressing: Addressing::Objects, has_time: false, has_ops: false, sample: None };
const META_64: Meta = Meta { format: "u64be", ..META_32 };

impl RecordFormat<4> for BigEndian {
    fn meta(&self) -> &Meta {
        &META_32
    }

    #[inline]
    fn record(&mut self, record: &[u8; 4], batch: &mut Batch) -> Result<(), Malformed> {
        batch.requests.push(Request { offset: u32::from_be_bytes(*record).into(), ..Request::default() });
        Ok(())
    }
}

impl RecordFormat<8> for BigEndian {
    fn meta(&self) -> &Meta {
        &META_64
    }

    #[inline]
    fn record(&mut self, record: &[u8; 8], batch: &mut Batch) -> Result<(), Malformed> {
        batch.requests.push(Request { offset: u64::from_be_bytes(*record), ..Request::default() });
        Ok(())
    }
}

/// The name says it, or the ids are small: the front quarter of nearly every one is zero and the rest is not.
fn detect<const BYTES: usize>(head: &Head, suffix: &str) -> Confidence {
    let (ids, rest) = head.bytes.as_chunks::<BYTES>();
    if ids.is_empty() || head.whole && !rest.is_empty() {
        return Confidence::No;
    }
    if head.name.ends_with(suffix) {
        return Confidence::Sure;
    }
    let zero =
        |range: std::ops::Range<usize>| ids.iter().filter(|id| id[range.clone()].iter().all(|&byte| byte == 0)).count();
    let most = ids.len() - ids.len() / 20;
    let small = zero(0..BYTES / 4) >= most && zero(BYTES / 2..BYTES) <= ids.len() / 20 + 1;
    if small && !head.is_text() { Confidence::Possible } else { Confidence::No }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{offsets, refused, skipping},
        *,
    };

    #[test]
    fn ids_are_big_endian() {
        assert_eq!(offsets(&U32BE, &[0, 0, 0, 1, 255, 255, 255, 255]), [1, u32::MAX.into()]);
        assert_eq!(offsets(&U64BE, &[0, 0, 0, 0, 0, 0, 1, 2]), [258]);
    }

    #[test]
    fn a_cut_id_is_an_error_with_its_byte() {
        assert_eq!(refused(&U32BE, &[0; 6]), "t, byte 4: truncated: found 2 bytes of a last record; expected 4");
        assert_eq!(refused(&U64BE, &[0; 7]), "t, byte 0: truncated: found 7 bytes of a last record; expected 8");
        assert_eq!(skipping(&U32BE, &[0; 6]).skipped, 1);
    }
}
