//! Ids of objects that may be numbers or names.

use xxhash_rust::xxh3::xxh3_64;

use super::{
    Malformed,
    number::{unexpected, whole_or_hex},
};

/// Turns ids into numbers. The first one decides what all of a trace are: numbers (decimal, or hexadecimal after `0x`),
/// or names. A name's number is its 64-bit XXH3 hash; two of a million names share one with a chance of 1 in 37
/// million.
#[derive(Default)]
pub struct Ids {
    named: Option<bool>,
}

impl Ids {
    /// True once ids are known to be numbers.
    #[inline]
    pub fn are_numbers(&self) -> bool {
        self.named == Some(false)
    }

    /// The number of an id.
    #[inline]
    pub fn number(&mut self, id: &[u8]) -> Result<u64, Malformed> {
        match whole_or_hex(id) {
            Some(number) if self.are_numbers() => Ok(number),
            number => self.unusual(id, number),
        }
    }

    /// The first id, a name, or an error.
    fn unusual(&mut self, id: &[u8], number: Option<u64>) -> Result<u64, Malformed> {
        if number.is_none() && !is_name(id) {
            return Err(unexpected(id, "an id, a whole number below 2^64 or a name"));
        }
        match (number, *self.named.get_or_insert(number.is_none())) {
            (_, true) => Ok(xxh3_64(id)),
            (Some(number), false) => Ok(number),
            (None, false) => Err(unexpected(id, "an id, a whole number below 2^64 like the first one")),
        }
    }
}

/// True for UTF-8 text without control characters that cannot be meant as a number.
fn is_name(id: &[u8]) -> bool {
    let numeric = id.iter().all(|byte| byte.is_ascii_digit() || b"+-.".contains(byte));
    !numeric && std::str::from_utf8(id).is_ok_and(|text| !text.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(ids: &[&str]) -> Vec<Result<u64, Malformed>> {
        let mut space = Ids::default();
        ids.iter().map(|id| space.number(id.as_bytes())).collect()
    }

    #[test]
    fn the_first_id_decides_what_ids_are() {
        let [ten, sixteen, name] = &numbers(&["10", "0x10", "x"])[..] else { panic!() };
        assert_eq!((ten, sixteen), (&Ok(10), &Ok(16)));
        assert_eq!(
            &**name.as_ref().unwrap_err(),
            "found `x`; expected an id, a whole number below 2^64 like the first one"
        );
        let named = numbers(&["user:1", "17", "user:1"]);
        assert_eq!(named[0], named[2]);
        assert_eq!(named[1], Ok(xxh3_64(b"17")));
    }

    #[test]
    fn what_is_neither_number_nor_name_is_an_error() {
        for id in ["-1", "1.5", "18446744073709551616", "", "a\u{7}"] {
            assert!(numbers(&[id])[0].is_err(), "{id:?}");
        }
        assert!(Ids::default().number(b"\xff\xfe").is_err());
    }
}
