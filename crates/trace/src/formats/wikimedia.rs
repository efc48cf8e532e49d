//! `wikimedia`: requests to Wikimedia's caches. Of 2019: `seconds hash [image type] bytes latency` between tabs, with
//! hashes of 64 bits with a sign. Of 2007 to 2010 (WikiBench): `number time address flag` between blanks, without
//! sizes. A line of names may come first.

use hotset_core::request::Request;

use super::{Confidence, Format, Head};
use crate::{
    Addressing, Batch, Meta,
    runner::{
        Malformed,
        date::date,
        fields::Fields,
        ids::{of_id, of_name},
        lines::{LineFormat, Lines, TextLine},
        number::{scaled, unexpected, whole},
        words::Words,
    },
};

pub(super) const FORMAT: Format = Format {
    name: "wikimedia",
    summary: "seconds, hash, image type, bytes, latency; or number, time, address, flag (Wikimedia's caches)",
    example: "929840853 1190146243.326 http://en.wikipedia.org/wiki/A -",
    sample: b"relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n\
        1\t-4834187236487162341\tjpeg\t4096\t1.2E-4\n2\t5\tpng\t70\t0.1\n",
    detect,
    open: |input, options| Ok(Box::new(Lines::new(input, Wikimedia { lines: 0 }, 1, options.skip_bad))),
};

const META: Meta =
    Meta { format: "wikimedia", addressing: Addressing::Objects, has_time: true, has_ops: false, sample: None };

/// The first name in a line of column names.
const HEADER: &[u8] = b"relative_unix\t";

struct Wikimedia {
    lines: u64,
}

impl LineFormat for Wikimedia {
    fn meta(&self) -> &Meta {
        &META
    }

    #[inline]
    fn line(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed> {
        self.lines += 1;
        if self.lines == 1 && line.starts_with(HEADER) {
            return Ok(());
        }
        let request = if memchr::memchr(b'\t', &line).is_some() { of_2019(line)? } else { of_2007(line)? };
        batch.requests.push(request);
        Ok(())
    }
}

#[inline]
fn of_2019(line: TextLine) -> Result<Request, Malformed> {
    let mut fields = Fields::new(line, b'\t');
    let time = fields.time(9)?;
    let offset = of_id(fields.next().unwrap_or_default())?;
    let (third, fourth) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
    // Pages have no image type.
    let bytes = if fields.is_done() { third } else { fourth };
    let length = whole(bytes).ok_or_else(|| unexpected(bytes, "the size in bytes, a whole number"))?;
    let length = u32::try_from(length).map_err(|_| large(length))?;
    Ok(Request { time, offset, length, ..Request::default() })
}

#[cold]
fn large(bytes: u64) -> Malformed {
    format!("found an object of {bytes} bytes; expected less than 4 GiB").into()
}

#[inline]
fn of_2007(line: TextLine) -> Result<Request, Malformed> {
    let mut words = Words::new(line);
    words.number("the number of the request")?;
    let time = words.next().unwrap_or_default();
    let time = scaled(time, 9).or_else(|| date(time));
    let time = time.ok_or_else(|| unexpected(&line, "a time in seconds behind the number, or a date"))?;
    let address = words.next().unwrap_or_default();
    Ok(Request { time, offset: of_name(address)?, ..Request::default() })
}

fn detect(head: &Head) -> Confidence {
    let mut lines = head.lines(50).peekable();
    if lines.peek().is_some_and(|line| line.starts_with(HEADER)) {
        return Confidence::Sure;
    }
    let is_number =
        |field: &[u8]| !field.is_empty() && field.iter().all(|byte| byte.is_ascii_digit() || b".eE-+".contains(byte));
    let of_2019 = |line: &[u8]| {
        let fields: Vec<&[u8]> = line.split(|&byte| byte == b'\t').collect();
        match fields[..] {
            [time, hash, bytes, latency] | [time, hash, _, bytes, latency] => {
                whole(time).is_some() && of_id(hash).is_ok() && whole(bytes).is_some() && is_number(latency)
            }
            _ => false,
        }
    };
    let of_2007 = |line: &[u8]| {
        let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        matches!(words[..], [number, _, address, _]
            if whole(number).is_some() && (address.starts_with(b"http://") || address.starts_with(b"https://")))
    };
    match head.all_lines(of_2007) {
        true => Confidence::Sure,
        false if head.all_lines(of_2019) => Confidence::Likely,
        false => Confidence::No,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{opened, read, refused},
        *,
    };
    use crate::formats::OpenOptions;

    fn rows(bytes: &[u8]) -> Vec<(u64, u64, u32)> {
        let trace = opened(None, bytes, &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(trace.format, "wikimedia");
        let whole = read(&FORMAT, bytes);
        whole.requests.iter().map(|request| (request.time, request.offset, request.length)).collect()
    }

    #[test]
    fn releases_have_their_columns() {
        let second = 1_000_000_000;
        let expected = [(1, (-48i64) as u64, 4096), (2, 5, 70)].map(|(time, id, size)| (time * second, id, size));
        assert_eq!(rows(b"1\t-48\tjpeg\t4096\t1.2E-4\n2\t5\tpng\t70\t0.1\n"), expected);
        assert_eq!(rows(b"1\t-48\t4096\t1.2E-4\n2\t5\t70\t0.1\n"), expected);
        let headed = b"relative_unix\thashed_host_path_query\tresponse_size\ttime_firstbyte\n1\t-48\t4096\t1.2E-4\n2\t5\t70\t0.1\n";
        assert_eq!(rows(headed), expected);
        let old = rows(
            b"929840853 1190146243.326 http://en.wikipedia.org/a -\n9 1190146243.327 http://en.wikipedia.org/b -\n\
            10 2010-05-27T09:31:55.63 http://en.wikipedia.org/a save\n",
        );
        assert!(old[0].1 == old[2].1 && old[0].1 != old[1].1 && old[0].2 == 0);
        assert_eq!((old[0].0, old[2].0), (1_190_146_243_326_000_000, 1_274_952_715_630_000_000));
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("x\t1\t1\t1", "found `x`; expected the time in seconds"),
            ("1\t1\tjpeg\t-1\t0", "found `-1`; expected the size in bytes"),
            ("1\t1\tjpeg\t4294967296\t0", "found an object of 4294967296 bytes; expected less than 4 GiB"),
            ("1 yesterday http://a -", "found `1 yesterday http://a -`; expected a time in seconds"),
        ];
        for (line, message) in cases {
            let error = refused(&FORMAT, format!("{line}\n1\t1\t1\t1\n").as_bytes());
            assert!(error.starts_with(&format!("t, line 1: {message}")), "{error}");
        }
    }
}
