//! `ids`: the id of one object on a line, a number or a word ([`of_id`] says how words become numbers).

use hotset_core::request::Request;

use super::{Confidence, Format, Head};
use crate::{
    Addressing, Batch, Meta,
    runner::{
        Malformed,
        ids::of_id,
        lines::{LineFormat, Lines, TextLine},
        number::{unexpected, whole_or_hex},
    },
};

pub(super) const FORMAT: Format = Format {
    name: "ids",
    summary: "one id a line: a number (decimal, 0x hexadecimal, negative) or a word",
    example: "42932745",
    sample: b"1\n0xff\n18446744073709551615\n",
    detect,
    open: |input, options| Ok(Box::new(Lines::new(input, IdLines, 1, options.skip_bad))),
};

struct IdLines;

const META: Meta =
    Meta { format: "ids", addressing: Addressing::Objects, has_time: false, has_ops: false, sample: None };

impl LineFormat for IdLines {
    fn meta(&self) -> &Meta {
        &META
    }

    #[inline]
    fn line(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed> {
        if let Some(offset) = line.number()
            && (line[0] != b'0' || line.len() == 1)
        {
            batch.requests.push(Request { offset, ..Request::default() });
            return Ok(());
        }
        let id = line.trim_ascii();
        if id.contains(&b'*') || id.iter().any(u8::is_ascii_whitespace) {
            return Err(unexpected(id, "one id on a line (lines of several, or with *, belong to the format lirs)"));
        }
        let offset = of_id(id)?;
        batch.requests.push(Request { offset, ..Request::default() });
        Ok(())
    }
}

/// Words are recognised beside numbers: any text of single words would do.
fn detect(head: &Head) -> Confidence {
    let mut numbers = 0;
    let mut count = 0;
    let fits = head.all_lines(|line| {
        count += 1;
        numbers += usize::from(whole_or_hex(line).is_some());
        !line.contains(&b'*')
            && !line.iter().any(|byte| byte.is_ascii_whitespace() || b",;|\"{}".contains(byte))
            && of_id(line).is_ok()
    });
    match fits && numbers > 0 {
        true if head.name.ends_with(".ids") => Confidence::Sure,
        true if numbers == count => Confidence::Likely,
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
    fn ids_are_numbers_or_words() {
        assert_eq!(offsets(&FORMAT, b"10\r\n 0x10 \n\n18446744073709551615"), [10, 16, u64::MAX]);
        let words = offsets(&FORMAT, b"user:1\n17\nuser:1\n");
        assert!(words[0] == words[2] && words[0] != words[1]);
        assert_eq!(offsets(&FORMAT, b"42\nuser:1\n42\n-1\n007\n7\n").len(), 6);
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(
            refused(&FORMAT, b"1\n1.5\n"),
            "t, line 2: found `1.5`; expected an id, a whole number below 2^64 or a name"
        );
        assert_eq!(
            refused(&FORMAT, b"1\n*\n"),
            "t, line 2: found `*`; expected one id on a line (lines of several, or with *, belong to the format lirs)"
        );
        assert!(refused(&FORMAT, b"1 2\n").contains("found `1 2`; expected one id on a line"));
        assert!(refused(&FORMAT, b"-\n").contains("found `-`; expected an id"));
        assert!(refused(&FORMAT, b"\x00\x01\xff\n").contains(r"found `\x00\x01\xff`; expected an id"));
    }

    #[test]
    fn malformed_lines_are_skipped() {
        let whole = skipping(&FORMAT, b"-\n1\n2 3\n1.5\n4");
        assert_eq!((whole.requests.len(), whole.skipped), (2, 3));
    }
}
