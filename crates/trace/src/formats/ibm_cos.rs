//! `ibm-cos`: `milliseconds REST.OPERATION.OBJECT object [bytes [begin end]]` between blanks, as in the traces of IBM's
//! object store (SNIA IOTTA, 2019). An object is cached whole: a range of it is a request for all of it, as in the
//! literature. `GET` reads, `PUT` and `COPY` write, `HEAD` asks for attributes, `DELETE` removes.

use hotset_core::{
    request::{Kind, Op, Request},
    words::grouped,
};

use super::{Confidence, Format, Head};
use crate::{
    Addressing, Batch, Meta,
    runner::{
        Malformed,
        ids::of_name,
        lines::{LineFormat, Lines, TextLine},
        number::{unexpected, whole},
        words::Words,
    },
};

pub(super) const FORMAT: Format = Format {
    name: "ibm-cos",
    summary: "milliseconds, REST.GET.OBJECT, object, bytes, range (IBM's object store)",
    example: "1219008 REST.PUT.OBJECT 8d4fcda3d675bac9 1056",
    sample:
        b"1219008 REST.PUT.OBJECT 8d4f 1056\n1232488 REST.GET.OBJECT 8d4f 1056 0 -1\n1256364 REST.DELETE.OBJECT 8d4f\n",
    detect,
    open: |input, options| Ok(Box::new(Lines::new(input, IbmCos::default(), 1, options.skip_bad))),
};

const META: Meta =
    Meta { format: "ibm-cos", addressing: Addressing::Objects, has_time: true, has_ops: true, sample: None };

const MILLISECOND: u64 = 1_000_000;

#[derive(Default)]
struct IbmCos {
    reads: u64,
    /// Reads of a part of an object.
    ranges: u64,
}

impl LineFormat for IbmCos {
    fn meta(&self) -> &Meta {
        &META
    }

    #[inline]
    fn line(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed> {
        let mut words = Words::new(line);
        let time = words.number("the time in milliseconds")?;
        let time = time
            .checked_mul(MILLISECOND)
            .ok_or_else(|| format!("found time {time}; expected milliseconds, below 2^64 nanoseconds"))?;
        let word = words.next().unwrap_or_default();
        let op = parse_op(word).ok_or_else(|| unexpected(word, "an operation such as REST.GET.OBJECT"))?;
        let offset = of_name(words.next().unwrap_or_default())?;
        let bytes = if words.is_done() { 0 } else { words.number("the size of the object in bytes")? };
        let is_data = matches!(op, Op::Read | Op::Write);
        let length = match u32::try_from(bytes) {
            Ok(length) if is_data => length,
            Err(_) if is_data => {
                return Err(format!("found an object of {bytes} bytes; expected less than 4 GiB").into());
            }
            _ => 0,
        };
        if !words.is_done() {
            self.range(&mut words, op, bytes)?;
        }
        self.reads += u64::from(op == Op::Read);
        let kind = if is_data { Kind::default() } else { Kind::Inode } as u8;
        batch.requests.push(Request { time, offset, length, kind, op: op as u8, ..Request::default() });
        Ok(())
    }

    fn remarks(&self) -> Vec<String> {
        let (ranges, reads) = (grouped(self.ranges), grouped(self.reads));
        let remark = format!("{ranges} of {reads} reads are of a part of an object: they count as reads of all of it");
        (self.ranges > 0).then_some(remark).into_iter().collect()
    }
}

impl IbmCos {
    /// Reads the first and the last byte; -1 is the end of the object.
    #[inline]
    fn range(&mut self, words: &mut Words, op: Op, bytes: u64) -> Result<(), Malformed> {
        let mut bound = |what: &str| match words.next().unwrap_or_default() {
            b"-1" => Ok(None),
            word => whole(word).map(Some).ok_or_else(|| unexpected(word, what)),
        };
        let first = bound("the first byte of the range, or -1")?.unwrap_or(0);
        let last = bound("the last byte of the range, or -1")?;
        let is_part = first > 0 || last.is_some_and(|last| last.saturating_add(1) < bytes);
        self.ranges += u64::from(is_part && op == Op::Read);
        Ok(())
    }
}

#[inline]
fn parse_op(word: &[u8]) -> Option<Op> {
    match word.strip_prefix(b"REST.")?.strip_suffix(b".OBJECT")? {
        b"GET" => Some(Op::Read),
        b"PUT" | b"COPY" => Some(Op::Write),
        b"HEAD" => Some(Op::Stat),
        b"DELETE" => Some(Op::Unlink),
        _ => None,
    }
}

fn detect(head: &Head) -> Confidence {
    let fits = |line: &[u8]| {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.next().is_some_and(|time| whole(time).is_some()) && words.next().is_some_and(|op| parse_op(op).is_some())
    };
    if head.all_lines(fits) { Confidence::Sure } else { Confidence::No }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{read, refused},
        *,
    };

    #[test]
    fn rows_hold_objects_with_sizes_and_ranges() {
        let whole = read(
            &FORMAT,
            b"1219008 REST.PUT.OBJECT 8d4f 1056\n1 REST.HEAD.OBJECT 39d1 528\n2 REST.GET.OBJECT 8d4f 1056 0 -1\n\
            3 REST.GET.OBJECT 8d4f 1056 0 1055\n4 REST.GET.OBJECT 8d4f 1056 10 20\n5 REST.DELETE.OBJECT 8d4f\n",
        );
        let rows: Vec<(Op, u32)> = whole.requests.iter().map(|request| (request.op(), request.length)).collect();
        let read = (Op::Read, 1056);
        assert_eq!(rows, [(Op::Write, 1056), (Op::Stat, 0), read, read, read, (Op::Unlink, 0)]);
        assert!(whole.requests[2..].iter().all(|request| request.offset == whole.requests[0].offset));
        assert_eq!(whole.requests[0].time, 1_219_008_000_000);
        assert_eq!(whole.remarks, ["1 of 3 reads are of a part of an object: they count as reads of all of it"]);
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("x REST.GET.OBJECT a 1", "found `x`; expected the time in milliseconds"),
            ("1 REST.TRIM.OBJECT a 1", "found `REST.TRIM.OBJECT`; expected an operation such as REST.GET.OBJECT"),
            ("1 REST.GET.OBJECT", "found nothing; expected a name"),
            ("1 REST.GET.OBJECT a -1", "found `-1`; expected the size of the object in bytes"),
            ("1 REST.GET.OBJECT a 4294967296", "found an object of 4294967296 bytes; expected less than 4 GiB"),
            ("1 REST.GET.OBJECT a 1 0 x", "found `x`; expected the last byte of the range, or -1"),
        ];
        for (line, message) in cases {
            let error = refused(&FORMAT, format!("{line}\n1 REST.GET.OBJECT a 1\n").as_bytes());
            assert!(error.starts_with(&format!("t, line 1: {message}")), "{error}");
        }
    }
}
