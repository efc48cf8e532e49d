//! `ids`: the id of one object on a line. The first line decides what ids are: numbers (decimal, or hexadecimal after `0x`), or names,
//! which are any word without blanks. A name's id is its 64-bit XXH3 hash; two of a million names share one with a chance of 1 in 37
//! million.

use hotset_core::request::Request;
use xxhash_rust::xxh3::xxh3_64;

use super::{Confidence, Format, Head};
use crate::{
    Addressing, Batch, Meta,
    runner::{
        Malformed,
        lines::{LineFormat, Lines},
        number::{unexpected, whole_or_hex},
    },
};

pub(super) const FORMAT: Format = Format {
    name: "ids",
    summary: "one id a line: decimal, 0x hexadecimal, or names throughout",
    example: "42932745",
    detect,
    open: |input, options| Ok(Box::new(Lines::new(input, Ids { named: None }, 1, options.skip_bad))),
};

struct Ids {
    /// True if ids are names; unknown before the first line.
    named: Option<bool>,
}

const META: Meta = Meta { format: "ids", addressing: Addressing::Objects, has_time: false, has_ops: false };

impl LineFormat for Ids {
    fn meta(&self) -> &Meta {
        &META
    }

    #[inline]
    fn line(&mut self, line: &[u8], batch: &mut Batch) -> Result<(), Malformed> {
        let offset = match whole_or_hex(line) {
            Some(id) if self.named == Some(false) => id,
            _ => self.odd_id(line.trim_ascii())?,
        };
        batch.requests.push(Request { offset, ..Request::default() });
        Ok(())
    }
}

impl Ids {
    /// The id of the first line, of a name, or of a number between blanks.
    fn odd_id(&mut self, word: &[u8]) -> Result<u64, Malformed> {
        let number = whole_or_hex(word);
        let is_name = is_name(word);
        if number.is_none() && !is_name {
            return Err(unexpected(word, "one id on a line, a number or a word"));
        }
        match (number, *self.named.get_or_insert(number.is_none())) {
            (_, true) => Ok(xxh3_64(word)),
            (Some(number), false) => Ok(number),
            (None, false) if word == b"*" => {
                Err(unexpected(word, "an id, a whole number below 2^64 (lines with * belong to the format lirs)"))
            }
            (None, false) => Err(unexpected(word, "an id, a whole number below 2^64 like the first one")),
        }
    }
}

/// True for one printable UTF-8 word that cannot be meant as a number.
fn is_name(word: &[u8]) -> bool {
    let printable = |text: &str| !text.chars().any(|c| c.is_whitespace() || c.is_control());
    let first = word.first().copied().unwrap_or(b' ');
    let numeric = word.iter().all(|byte| byte.is_ascii_digit() || b"+-.".contains(byte));
    first != b' ' && !numeric && std::str::from_utf8(word).is_ok_and(printable)
}

/// Names are not recognised: any text of single words would do.
fn detect(head: &Head) -> Confidence {
    match head.all_lines(|line| whole_or_hex(line).is_some()) {
        true if head.name.ends_with(".ids") => Confidence::Sure,
        true => Confidence::Likely,
        false => Confidence::No,
    }
}
