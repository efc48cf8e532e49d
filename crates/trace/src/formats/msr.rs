//! `msr`: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime` on a line, as in the MSR Cambridge block traces
//! (Narayanan et al., FAST 2008). The time is a Windows file time, in units of 100 ns since 1601; offset and size are
//! bytes. A disk of a host is a file here, named as the traces are: `hm_1`. The response time is not used.

use hotset_core::request::{Op, Request};

use super::{Confidence, Format, Head};
use crate::{
    Addressing, Batch, Meta, Tables,
    runner::{
        Malformed,
        fields::Fields,
        lines::{LineFormat, Lines, TextLine},
        number::{unexpected, whole},
        numbering::Numbering,
        push_range, text,
    },
};

pub(super) const FORMAT: Format = Format {
    name: "msr",
    summary: "file time, host, disk, Read|Write, offset, bytes, response (MSR Cambridge)",
    example: "128166372003061629,hm,1,Read,383496192,32768,413",
    sample: b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
        128166372003061629,hm,1,Read,383496192,32768,413\n128166372016382155,web,0,write,2822144,4096,1\n",
    detect,
    open: |input, options| Ok(Box::new(Lines::new(input, Msr::default(), 1, options.skip_bad))),
};

/// The first name in a line of column names.
const HEADER: &[u8] = b"Timestamp,";

const TICK_NANOSECONDS: u64 = 100;

#[derive(Default)]
struct Msr {
    disks: Numbering,
    tables: Tables,
}

const META: Meta =
    Meta { format: "msr", addressing: Addressing::Bytes { unit: None }, has_time: true, has_ops: true, sample: None };

impl LineFormat for Msr {
    fn meta(&self) -> &Meta {
        &META
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    #[inline]
    fn line(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed> {
        if line.starts_with(HEADER) && self.tables.files.is_empty() {
            return Ok(());
        }
        let mut fields = Fields::new(line, b',');
        let ticks = fields.number("the time in units of 100 ns")?;
        let time = ticks.checked_mul(TICK_NANOSECONDS).ok_or_else(|| late(ticks))?;
        let disk = fields.two().filter(|disk| !disk.starts_with(b",") && !disk.ends_with(b","));
        let disk = disk.ok_or_else(|| unexpected(b"", "a host name and a disk number"))?;
        let op = fields.next().unwrap_or_default();
        let op = parse_op(op).ok_or_else(|| unexpected(op, "the type, Read or Write"))?;
        let offset = fields.number("the offset in bytes")?;
        let length = fields.number("the size in bytes")?;
        let file = self.disks.of(disk)?;
        self.tables.name_file(file, || text(disk).replacen(',', "_", 1));
        push_range(batch, Request { time, offset, file, op: op as u8, ..Request::default() }, length, None)
    }
}

#[cold]
fn late(ticks: u64) -> Malformed {
    format!("found time {ticks}; expected units of 100 ns since 1601, up to the year 2185").into()
}

#[inline]
fn parse_op(field: &[u8]) -> Option<Op> {
    match field {
        b"Read" => Some(Op::Read),
        b"Write" => Some(Op::Write),
        _ if field.eq_ignore_ascii_case(b"read") => Some(Op::Read),
        _ if field.eq_ignore_ascii_case(b"write") => Some(Op::Write),
        _ => None,
    }
}

fn detect(head: &Head) -> Confidence {
    let fits = |line: &[u8]| {
        let fields: Vec<&[u8]> = Fields::new(TextLine::new(line), b',').collect();
        fields.len() >= 6
            && whole(fields[0]).is_some()
            && parse_op(fields[3]).is_some()
            && fields[4..].iter().all(|field| whole(field).is_some())
    };
    let mut fitting = 0;
    let all = head.all_lines(|line| {
        let fits = fits(line);
        fitting += usize::from(fits);
        fits || line.starts_with(HEADER)
    });
    if all && fitting > 0 { Confidence::Sure } else { Confidence::No }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{read, refused},
        *,
    };

    #[test]
    fn all_fields_are_kept() {
        let whole = read(
            &FORMAT,
            b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
            128166372003061629,hm,1,Read,383496192,32768,413\n128166372016382155,hm,0,write,1,2\n",
        );
        assert_eq!(
            whole.requests[0],
            Request { time: 12_816_637_200_306_162_900, offset: 383_496_192, length: 32_768, ..Request::default() }
        );
        assert_eq!((whole.requests[1].op(), whole.requests[1].file), (Op::Write, 1));
        let names = whole.tables.files.iter().map(|file| file.path.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["hm_1", "hm_0"]);
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("-1,hm,1,Read,0,1,1", "found `-1`; expected the time in units of 100 ns, a whole number below 2^64"),
            (
                "999999999999999999,hm,1,Read,0,1,1",
                "found time 999999999999999999; expected units of 100 ns since 1601, up to the year 2185",
            ),
            ("1,hm", "found nothing; expected a host name and a disk number"),
            ("1,,1,Read,0,1,1", "found nothing; expected a host name and a disk number"),
            ("1,hm,1,Trim,0,1,1", "found `Trim`; expected the type, Read or Write"),
            ("1,hm,1,Read,x,1,1", "found `x`; expected the offset in bytes, a whole number below 2^64"),
            ("1,hm,1,Read,0", "found nothing; expected the size in bytes, a whole number below 2^64"),
            (
                "1,hm,1,Read,18446744073709551615,1,1",
                "found 1 bytes from byte 18446744073709551615; expected at most 16 GiB, ending below 2^64",
            ),
        ];
        for (line, message) in cases {
            // Fields that a line lacks must not be taken from the next one.
            let lines = format!("{line}\n1,hm,1,Read,0,1,1\n");
            assert_eq!(refused(&FORMAT, lines.as_bytes()), format!("t, line 1: {message}"));
        }
    }
}
