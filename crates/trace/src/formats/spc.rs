//! `spc`: `ASU,LBA,size,op,time` on a line, as in the traces that the Storage Performance Council and UMass publish. An
//! application storage unit is a file here; LBAs count 512-byte blocks, the size is bytes, the time seconds. Further
//! fields are ignored.

use hotset_core::request::{Op, Request};

use super::{Confidence, Format, Head};
use crate::{
    Addressing, Batch, Meta, Tables,
    runner::{
        Malformed,
        fields::Fields,
        lines::{LineFormat, Lines, TextLine},
        number::{seconds, unexpected, whole},
        numbering::Numbering,
        push_range, sector_offset,
    },
};

pub(super) const FORMAT: Format = Format {
    name: "spc",
    summary: "ASU, LBA, bytes, op, seconds (Storage Performance Council, UMass)",
    example: "0,20941264,8192,W,0.551706",
    sample: b"0,20941264,8192,W,0.551706\n1,5,65536,r,0.554041\n0,7,512,R,1,9\n",
    detect,
    open: |input, options| Ok(Box::new(Lines::new(input, Spc::default(), 1, options.skip_bad))),
};

#[derive(Default)]
struct Spc {
    units: Numbering,
    tables: Tables,
}

const META: Meta =
    Meta { format: "spc", addressing: Addressing::Bytes { unit: None }, has_time: true, has_ops: true, sample: None };

impl LineFormat for Spc {
    fn meta(&self) -> &Meta {
        &META
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    #[inline]
    fn line(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed> {
        let mut fields = Fields::new(line, b',');
        let unit = fields.number("the application storage unit")?;
        let offset = sector_offset(fields.number("the LBA")?)?;
        let length = fields.number("the size in bytes")?;
        let op = fields.next().unwrap_or_default().trim_ascii();
        let op = parse_op(op).ok_or_else(|| unexpected(op, "the operation, R or W"))?;
        let time = fields.next().unwrap_or_default().trim_ascii();
        let time = seconds(time).ok_or_else(|| unexpected(time, "the time in seconds"))?;
        let file = self.units.of_number(unit)?;
        self.tables.name_file(file, || format!("ASU {unit}"));
        push_range(batch, Request { time, offset, file, op: op as u8, ..Request::default() }, length, None)
    }
}

#[inline]
fn parse_op(field: &[u8]) -> Option<Op> {
    match field {
        b"R" | b"r" => Some(Op::Read),
        b"W" | b"w" => Some(Op::Write),
        _ => None,
    }
}

fn detect(head: &Head) -> Confidence {
    let fits = head.all_lines(|line| {
        let fields: Vec<&[u8]> = Fields::new(TextLine::new(line), b',').map(<[u8]>::trim_ascii).collect();
        fields.len() >= 5
            && fields[..3].iter().all(|field| whole(field).is_some())
            && parse_op(fields[3]).is_some()
            && seconds(fields[4]).is_some()
    });
    if fits { Confidence::Sure } else { Confidence::No }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{read, refused},
        *,
    };

    #[test]
    fn all_fields_are_kept() {
        let whole = read(&FORMAT, b"7,20941264,8192,W,0.551706\r\n3, 5 ,512, r ,1, more\n7,0,0,R,2\n");
        assert_eq!(
            whole.requests[0],
            Request {
                time: 551_706_000,
                offset: 20_941_264 * 512,
                length: 8192,
                op: Op::Write as u8,
                ..Request::default()
            }
        );
        let rest = whole.requests[1..].iter().map(|request| (request.time, request.file, request.op()));
        assert_eq!(rest.collect::<Vec<_>>(), [(1_000_000_000, 1, Op::Read), (2_000_000_000, 0, Op::Read)]);
        let names = whole.tables.files.iter().map(|file| file.path.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["ASU 7", "ASU 3"]);
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("0,1,512,X,0", "found `X`; expected the operation, R or W"),
            ("0,1,512,R,-1", "found `-1`; expected the time in seconds"),
            ("0,1,512", "found nothing; expected the operation, R or W"),
            ("0,1,512,R", "found nothing; expected the time in seconds"),
            ("a,1,512,R,0", "found `a`; expected the application storage unit, a whole number below 2^64"),
            ("0,-1,512,R,0", "found `-1`; expected the LBA, a whole number below 2^64"),
            ("0,1,,R,0", "found nothing; expected the size in bytes, a whole number below 2^64"),
            (
                "0,99999999999999999,1,R,0",
                "found 1 blocks of 512 bytes from block 99999999999999999; expected a range that ends below 2^64 bytes",
            ),
            (
                "0,0,1099511627776,R,0",
                "found 1099511627776 bytes from byte 0; expected at most 16 GiB, ending below 2^64",
            ),
        ];
        for (line, message) in cases {
            // Fields that a line lacks must not be taken from the next one.
            let lines = format!("{line}\n0,8,512,R,1\n");
            assert_eq!(refused(&FORMAT, lines.as_bytes()), format!("t, line 1: {message}"));
        }
    }

    #[test]
    fn a_request_too_long_for_one_record_is_several() {
        let whole = read(&FORMAT, b"0,2,5000000000,R,0\n");
        assert!(whole.requests.len() > 1);
        assert_eq!(whole.requests.iter().map(|request| u64::from(request.length)).sum::<u64>(), 5_000_000_000);
    }
}
