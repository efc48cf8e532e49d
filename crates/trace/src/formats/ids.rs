//! `ids`: the id of one object on a line, a number or a word ([`Ids`] says how words become numbers).

use hotset_core::request::Request;

use super::{Confidence, Format, Head};
use crate::{
    Addressing, Batch, Meta,
    runner::{
        Malformed,
        ids::Ids,
        lines::{LineFormat, Lines},
        number::{unexpected, whole_or_hex},
    },
};

pub(super) const FORMAT: Format = Format {
    name: "ids",
    summary: "one id a line: decimal, 0x hexadecimal, or words throughout",
    example: "42932745",
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
    fn line(&mut self, line: &[u8], batch: &mut Batch) -> Result<(), Malformed> {
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
