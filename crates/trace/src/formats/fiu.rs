//! `fiu`: `time pid process sector sectors R|W major minor [digest]` between blanks, as in the traces of Florida
//! International University (I/O Deduplication and SRCMap, FAST 2010). Times are nanoseconds, sectors 512 bytes. A
//! device is a file here, a process name an application; digests of the contents are not used.

use hotset_core::request::{Op, Request};

use super::{Confidence, Format, Head};
use crate::{
    Addressing, Batch, Meta, Tables,
    runner::{
        Malformed, SECTOR_BYTES,
        lines::{LineFormat, Lines, TextLine},
        number::{unexpected, whole},
        numbering::Numbering,
        push_blocks, text,
        words::Words,
    },
};

pub(super) const FORMAT: Format = Format {
    name: "fiu",
    summary: "nanoseconds, pid, process, sector, sectors, R|W, major, minor, digest (FIU)",
    example: "89967404983320 4892 syslogd 904265560 8 W 6 0 531e779e",
    sample: b"89967404983320 4892 proc1 904265560 8 W 6 0 0123456789abcdef\n89967404983420 7 a b 8 16 R 8 1\n",
    detect,
    open: |input, options| Ok(Box::new(Lines::new(input, Fiu::default(), 1, options.skip_bad))),
};

const META: Meta =
    Meta { format: "fiu", addressing: Addressing::Bytes { unit: None }, has_time: true, has_ops: true, sample: None };

#[derive(Default)]
struct Fiu {
    devices: Numbering,
    processes: Numbering,
    tables: Tables,
}

impl LineFormat for Fiu {
    fn meta(&self) -> &Meta {
        &META
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    #[inline]
    fn line(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed> {
        let mut words = Words::new(line);
        let time = words.number("the time in nanoseconds")?;
        words.number("the process id")?;
        let mut process = words.next().unwrap_or_default();
        // A process may have blanks in its name: it ends where a sector begins.
        let mut sector = words.next().unwrap_or_default();
        while whole(sector).is_none() {
            if sector.is_empty() {
                return Err(unexpected(sector, "the first sector"));
            }
            let begin = process.as_ptr() as usize - line.as_ptr() as usize;
            let end = sector.as_ptr() as usize - line.as_ptr() as usize + sector.len();
            process = &line.text()[begin..end];
            sector = words.next().unwrap_or_default();
        }
        let start = whole(sector).unwrap_or_default();
        let count = words.number("the number of sectors")?;
        let op = match words.next().unwrap_or_default() {
            b"R" | b"r" => Op::Read,
            b"W" | b"w" => Op::Write,
            other => return Err(unexpected(other, "the operation, R or W")),
        };
        let major = words.number("the major number of the device")?;
        let minor = words.number("the minor number of the device")?;
        let file = self.devices.of_number(major << 32 | minor & 0xffff_ffff)?;
        self.tables.name_file(file, || format!("{major},{minor}"));
        let app = self.processes.of(process)?;
        self.tables.name_app(app, || text(process));
        push_blocks(batch, Request { time, file, app, op: op as u8, ..Request::default() }, start, count, SECTOR_BYTES)
    }
}

fn detect(head: &Head) -> Confidence {
    let fits = |line: &[u8]| {
        let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let at = words.iter().position(|word| *word == b"R" || *word == b"W");
        let is_number = |place: usize| words.get(place).is_some_and(|word| whole(word).is_some());
        at.is_some_and(|at| at >= 5 && [0, 1, at - 2, at - 1, at + 1, at + 2].into_iter().all(is_number))
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
    fn rows_hold_process_device_and_sectors() {
        let whole = read(
            &FORMAT,
            b"89967404983320 4892 proc1 904265560 8 W 6 0 0123456789abcdef\n89967404983420 7 a b 8 16 R 8 1\n\
            89967404983520 4892 proc1 904265568 8 R 6 0 ab cd\n",
        );
        let rows = whole.requests.iter().map(|request| (request.op(), request.file, request.offset, request.length));
        let expected = [
            (Op::Write, 0, 904_265_560 * 512, 4096),
            (Op::Read, 1, 4096, 8192),
            (Op::Read, 0, 904_265_568 * 512, 4096),
        ];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
        assert_eq!(whole.tables.apps, ["proc1", "a b"]);
        assert_eq!(whole.tables.files[1].path, "8,1");
        assert_eq!(whole.requests[0].time, 89_967_404_983_320);
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("x 1 p 1 1 R 1 1", "found `x`; expected the time in nanoseconds"),
            ("1 1 p", "found nothing; expected the first sector"),
            ("1 1 p 1 1 T 1 1", "found `T`; expected the operation, R or W"),
            ("1 1 p 1 1 R 1", "found nothing; expected the minor number of the device"),
        ];
        for (line, message) in cases {
            let error = refused(&FORMAT, format!("{line}\n1 1 p 1 1 R 1 1\n").as_bytes());
            assert!(error.starts_with(&format!("t, line 1: {message}")), "{error}");
        }
    }
}
