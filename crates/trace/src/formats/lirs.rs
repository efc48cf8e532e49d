//! `lirs`: block numbers between blanks, as in the traces of the LIRS paper (Jiang and Zhang, SIGMETRICS 2002). Lines
//! that hold `*` are marks of its phases and reference nothing.

use hotset_core::request::Request;
use memchr::memchr;

use super::{Confidence, Format, Head};
use crate::{
    Addressing, Batch, Meta,
    runner::{
        Malformed,
        lines::{LineFormat, Lines, TextLine},
        number::whole,
        words::Words,
    },
};

pub(super) const FORMAT: Format = Format {
    name: "lirs",
    summary: "block numbers between blanks; lines with * are marks (LIRS paper)",
    example: "4711",
    sample: b"1\n2 3 4\n*\n18446744073709551615\n\n7",
    detect,
    open: |input, options| Ok(Box::new(Lines::new(input, Lirs, 1, options.skip_bad))),
};

struct Lirs;

const META: Meta =
    Meta { format: "lirs", addressing: Addressing::Objects, has_time: false, has_ops: false, sample: None };

impl LineFormat for Lirs {
    fn meta(&self) -> &Meta {
        &META
    }

    #[inline]
    fn line(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed> {
        if let Some(offset) = line.number() {
            batch.requests.push(Request { offset, ..Request::default() });
            return Ok(());
        }
        if memchr(b'*', &line).is_some() {
            return Ok(());
        }
        let mut words = Words::new(line);
        while !words.is_done() {
            let offset = words.number("a block")?;
            batch.requests.push(Request { offset, ..Request::default() });
        }
        Ok(())
    }
}

fn detect(head: &Head) -> Confidence {
    let mut marks = 0;
    let mut longest = 0;
    let fits = head.all_lines(|line| {
        let mark = line.contains(&b'*');
        marks += usize::from(mark);
        longest = longest.max(Words::new(TextLine::new(line)).count());
        mark && line.len() < 20 || Words::new(TextLine::new(line)).all(|word| whole(word).is_some())
    });
    match fits {
        // Several numbers a line are the columns of something else, unless there are marks.
        true if longest > 1 && marks == 0 => Confidence::No,
        true if longest > 1 => Confidence::Possible,
        true if marks > 0 || head.name.ends_with(".trace") => Confidence::Likely,
        true => Confidence::Possible,
        false => Confidence::No,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{offsets, refused, skipping},
        *,
    };

    #[test]
    fn every_number_counts_and_marks_do_not() {
        assert_eq!(offsets(&FORMAT, b"1\r\n\n * 7\n2 3\t4 \n18446744073709551615"), [1, 2, 3, 4, u64::MAX]);
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(
            refused(&FORMAT, b"1\n2 x 3\n"),
            "t, line 2: found `x`; expected a block, a whole number below 2^64"
        );
        assert_eq!(
            refused(&FORMAT, b"\n\n18446744073709551616"),
            "t, line 3: found `18446744073709551616`; expected a block, a whole number below 2^64"
        );
        assert!(refused(&FORMAT, b"-4").contains("line 1: found `-4`"));
    }

    #[test]
    fn a_malformed_line_is_skipped_as_a_whole() {
        let whole = skipping(&FORMAT, b"1\n2 3 x\n4\n-5\n");
        assert_eq!((whole.requests.len(), whole.skipped), (2, 2));
    }
}
