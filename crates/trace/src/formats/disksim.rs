//! `disksim`: `time device LBA sectors op` between blanks, the ascii input of DiskSim and MQSim. LBAs count 512-byte
//! sectors; a device is a file here. Both simulators say 1 for a read and 0 for a write. A time without a point is
//! nanoseconds, as in MQSim; with one it is milliseconds, as in DiskSim.

use hotset_core::request::{Op, Request};

use super::{Confidence, Format, Head, integers::Columns};
use crate::{
    Addressing, Batch, Meta, Tables,
    runner::{
        LONGEST_TRANSFER, Malformed, SECTOR_BYTES,
        lines::{LineFormat, Lines, TextLine},
        number::{scaled, unexpected, whole},
        numbering::Numbering,
        push_blocks,
        words::Words,
    },
};

pub(super) const FORMAT: Format = Format {
    name: "disksim",
    summary: "time, device, LBA, sectors, 0 write | 1 read (DiskSim, MQSim)",
    example: "938513000 4 264719034 16 0",
    sample: b"938513000 4 264719034 16 0\n938.828 3 197570570 16 1\n",
    detect,
    open: |input, options| Ok(Box::new(Lines::new(input, DiskSim::default(), 1, options.skip_bad))),
};

const MILLISECOND_DIGITS: usize = 6;

#[derive(Default)]
struct DiskSim {
    devices: Numbering,
    tables: Tables,
}

const META: Meta = Meta {
    format: "disksim",
    addressing: Addressing::Bytes { unit: None },
    has_time: true,
    has_ops: true,
    sample: None,
};

impl LineFormat for DiskSim {
    fn meta(&self) -> &Meta {
        &META
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    #[inline]
    fn line(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed> {
        let mut words = Words::new(line);
        let time = words.next().unwrap_or_default();
        let time = parse_time(time).ok_or_else(|| unexpected(time, "the time"))?;
        let device = words.number("the device")?;
        let start = words.number("the LBA")?;
        let count = words.number("the count of sectors")?;
        let op = words.next().unwrap_or_default();
        let op = parse_op(op).ok_or_else(|| unexpected(op, "the operation, 0 for a write or 1 for a read"))?;
        words.end("five fields on a line")?;
        let file = self.devices.of_number(device)?;
        self.tables.name_file(file, || format!("device {device}"));
        push_blocks(batch, Request { time, file, op: op as u8, ..Request::default() }, start, count, SECTOR_BYTES)
    }
}

/// The time in nanoseconds.
#[inline]
fn parse_time(word: &[u8]) -> Option<u64> {
    whole(word).or_else(|| scaled(word, MILLISECOND_DIGITS).filter(|_| word.contains(&b'.')))
}

#[inline]
fn parse_op(word: &[u8]) -> Option<Op> {
    match word {
        b"1" => Some(Op::Read),
        b"0" => Some(Op::Write),
        _ => None,
    }
}

/// A device has many addresses, which an object does not have sizes.
fn detect(head: &Head) -> Confidence {
    let Some(columns) = Columns::of(head) else { return Confidence::No };
    if columns.count() != 5 || !columns.at_most(4, 1) || !columns.at_most(3, LONGEST_SECTORS) {
        return Confidence::No;
    }
    match columns.decides(1, 2) {
        Some(true) => Confidence::No,
        Some(false) => Confidence::Likely,
        None => Confidence::Possible,
    }
}

/// Sectors of the longest transfer.
const LONGEST_SECTORS: u64 = LONGEST_TRANSFER / SECTOR_BYTES as u64;

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{read, refused},
        *,
    };

    #[test]
    fn all_fields_are_kept() {
        let whole = read(&FORMAT, b"938513000 4 264719034 16 0\n938.828 3 1 2 1\n");
        let [write, read] = whole.requests[..] else { panic!() };
        assert_eq!(
            (write.time, write.op(), write.offset, write.length),
            (938_513_000, Op::Write, 264_719_034 * 512, 8192)
        );
        assert_eq!((read.time, read.op(), read.file), (938_828_000, Op::Read, 1));
        assert_eq!(whole.tables.files[0].path, "device 4");
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("x 0 0 1 1", "found `x`; expected the time"),
            ("1 -1 0 1 1", "found `-1`; expected the device, a whole number below 2^64"),
            ("1 0 0 1 2", "found `2`; expected the operation, 0 for a write or 1 for a read"),
            ("1 0 0 1", "found nothing; expected the operation, 0 for a write or 1 for a read"),
            ("1 0 0 1 1 7", "found `7`; expected five fields on a line"),
            ("1 0 0 2147483648 1", "found 1099511627776 bytes from byte 0; expected at most 16 GiB, ending below 2^64"),
        ];
        for (line, message) in cases {
            // Fields that a line lacks must not be taken from the next one.
            let lines = format!("{line}\n1 0 0 1 1\n");
            assert_eq!(refused(&FORMAT, lines.as_bytes()), format!("t, line 1: {message}"));
        }
    }
}
