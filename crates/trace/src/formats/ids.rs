//! `ids`: the id of one object on a line, a number or a word ([`Ids`] says how words become numbers).

use hotset_core::request::Request;

use super::{Confidence, Format, Head};
use crate::{
    Addressing, Batch, Meta,
    runner::{
        Malformed,
        ids::Ids,
        lines::{Line, LineFormat, Lines},
        number::{unexpected, whole_or_hex},
    },
};

pub(super) const FORMAT: Format = Format {
    name: "ids",
    summary: "one id a line: decimal, 0x hexadecimal, or words throughout",
    example: "42932745",
    sample: b"1\n0xff\n18446744073709551615\n",
    detect,
    open: |input, options| Ok(Box::new(Lines::new(input, IdLines::default(), 1, options.skip_bad))),
};

#[derive(Default)]
struct IdLines {
    ids: Ids,
}

const META: Meta = Meta { format: "ids", addressing: Addressing::Objects, has_time: false, has_ops: false };

impl LineFormat for IdLines {
    fn meta(&self) -> &Meta {
        &META
    }

    #[inline]
    fn line(&mut self, line: Line, batch: &mut Batch) -> Result<(), Malformed> {
        if self.ids.are_numbers()
            && let Some(offset) = line.number()
        {
            batch.requests.push(Request { offset, ..Request::default() });
            return Ok(());
        }
        let id = line.trim_ascii();
        if id.contains(&b'*') || id.iter().any(u8::is_ascii_whitespace) {
            return Err(unexpected(id, "one id on a line (lines of several, or with *, belong to the format lirs)"));
        }
        let offset = self.ids.number(id)?;
        batch.requests.push(Request { offset, ..Request::default() });
        Ok(())
    }
}

/// Words are not recognised: any text of single words would do.
fn detect(head: &Head) -> Confidence {
    match head.all_lines(|line| whole_or_hex(line).is_some()) {
        true if head.name.ends_with(".ids") => Confidence::Sure,
        true => Confidence::Likely,
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
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(
            refused(&FORMAT, b"1\nx\n"),
            "t, line 2: found `x`; expected an id, a whole number below 2^64 like the first one"
        );
        assert_eq!(
            refused(&FORMAT, b"1\n*\n"),
            "t, line 2: found `*`; expected one id on a line (lines of several, or with *, belong to the format lirs)"
        );
        assert!(refused(&FORMAT, b"1 2\n").contains("found `1 2`; expected one id on a line"));
        assert!(refused(&FORMAT, b"-1\n").contains("found `-1`; expected an id"));
        assert!(refused(&FORMAT, b"\x00\x01\xff\n").contains(r"found `\x00\x01\xff`; expected an id"));
    }

    #[test]
    fn malformed_lines_are_skipped() {
        let whole = skipping(&FORMAT, b"-1\n1\n2 3\nx\n4");
        assert_eq!((whole.requests.len(), whole.skipped), (2, 3));
    }
}
