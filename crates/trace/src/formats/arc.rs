//! `arc`: `start count ignored sequence` on a line, as in the traces of the ARC paper (Megiddo and Modha, FAST 2003). `start` and
//! `count` are 512-byte blocks of one device; everything is a read. The sequence is a request's number and not used.

use hotset_core::request::Request;

use super::{Confidence, Format, Head};
use crate::{
    Addressing, Batch, Meta,
    runner::{
        Malformed, SECTOR_BYTES,
        lines::{LineFormat, Lines},
        number::{Words, whole},
        push_blocks,
    },
};

pub(super) const FORMAT: Format = Format {
    name: "arc",
    summary: "first block, count, ignored, sequence; 512-byte blocks (ARC paper, .lis)",
    example: "1905744 8 1 7134",
    detect,
    open: |input, options| Ok(Box::new(Lines::new(input, Arc, 1, options.skip_bad))),
};

struct Arc;

const META: Meta =
    Meta { format: "arc", addressing: Addressing::Bytes { unit: Some(SECTOR_BYTES) }, has_time: false, has_ops: false };

impl LineFormat for Arc {
    fn meta(&self) -> &Meta {
        &META
    }

    #[inline]
    fn line(&mut self, line: &[u8], batch: &mut Batch) -> Result<(), Malformed> {
        let mut words = Words::new(line);
        let start = words.number("the first block")?;
        let count = words.number("the count of blocks")?;
        words.number("the third number, which is ignored")?;
        words.number("the sequence number")?;
        words.end("four numbers on a line")?;
        push_blocks(batch, Request::default(), start, count, SECTOR_BYTES)
    }
}

fn detect(head: &Head) -> Confidence {
    let fits =
        head.all_lines(|line| Words::new(line).count() == 4 && Words::new(line).all(|word| whole(word).is_some()));
    match fits {
        true if head.name.ends_with(".lis") => Confidence::Sure,
        true => Confidence::Likely,
        false => Confidence::No,
    }
}
