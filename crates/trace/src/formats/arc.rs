//! `arc`: `start count ignored sequence` on a line, as in the traces of the ARC paper (Megiddo and Modha, FAST 2003).
//! `start` and `count` are 512-byte blocks of one device; everything is a read. The sequence is a request's number and
//! not used.

use hotset_core::request::Request;

use super::{Confidence, Format, Head, integers::Columns};
use crate::{
    Addressing, Batch, Meta,
    runner::{
        Malformed, SECTOR_BYTES,
        lines::{LineFormat, Lines, TextLine},
        push_blocks,
        words::Words,
    },
};

pub(super) const FORMAT: Format = Format {
    name: "arc",
    summary: "first block, count, ignored, sequence; 512-byte blocks (ARC paper, .lis)",
    example: "1905744 8 1 7134",
    sample: b"1905744 8 1 7134\r\n0 1 0 0\n36028797018963966 1 0 9\n5 64 0 1\n",
    detect,
    open: |input, options| Ok(Box::new(Lines::new(input, Arc, 1, options.skip_bad))),
};

struct Arc;

const META: Meta = Meta {
    format: "arc",
    addressing: Addressing::Bytes { unit: Some(SECTOR_BYTES) },
    has_time: false,
    has_ops: false,
    sample: None,
};

impl LineFormat for Arc {
    fn meta(&self) -> &Meta {
        &META
    }

    #[inline]
    fn line(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed> {
        let mut words = Words::new(line);
        let start = words.number("the first block")?;
        let count = words.number("the count of blocks")?;
        words.number("the third number, which is ignored")?;
        words.number("the sequence number")?;
        words.end("four numbers on a line")?;
        push_blocks(batch, Request::default(), start, count, SECTOR_BYTES)
    }
}

/// Without the name that the traces have, only a last column that counts up speaks for it.
fn detect(head: &Head) -> Confidence {
    let Some(columns) = Columns::of(head) else { return Confidence::No };
    match columns.count() == 4 {
        true if head.name.ends_with(".lis") => Confidence::Sure,
        true if columns.counts_up(3) => Confidence::Likely,
        true => Confidence::Possible,
        false => Confidence::No,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{read, refused, skipping},
        *,
    };

    #[test]
    fn blocks_become_bytes() {
        let whole = read(&FORMAT, b"1905744 8 1 7134\n0 1 0 0");
        let ranges: Vec<(u64, u32)> = whole.requests.iter().map(|request| (request.offset, request.length)).collect();
        assert_eq!(ranges, [(1_905_744 * 512, 4096), (0, 512)]);
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("1 2 3", "found nothing; expected the sequence number, a whole number below 2^64"),
            ("1 2 3 4 5", "found `5`; expected four numbers on a line"),
            ("1 -2 3 4", "found `-2`; expected the count of blocks, a whole number below 2^64"),
            ("1,2,3,4", "found `1,2,3,4`; expected the first block, a whole number below 2^64"),
            (
                "36028797018963968 1 0 0",
                "found 1 blocks of 512 bytes from block 36028797018963968; expected a range that ends below 2^64 bytes",
            ),
            ("0 33554433 0 0", "found 17179869696 bytes from byte 0; expected at most 16 GiB, ending below 2^64"),
        ];
        for (line, message) in cases {
            // Fields that a line lacks must not be taken from the next one.
            let lines = format!("{line}\n5 6 7 8\n");
            assert_eq!(refused(&FORMAT, lines.as_bytes()), format!("t, line 1: {message}"));
        }
    }

    #[test]
    fn malformed_lines_are_skipped() {
        let whole = skipping(&FORMAT, b"1 1 0 0\nx\n2 1 0 0 9\n2 1 0 0\n");
        assert_eq!((whole.requests.len(), whole.skipped), (2, 2));
    }
}
