//! Ids of objects that may be numbers or names.

use xxhash_rust::xxh3::xxh3_64;

use super::{
    Malformed,
    number::{unexpected, whole, whole_or_hex},
};

/// The number of an id. A decimal number below 2^64 (hexadecimal after `0x`, negative from -2^63, whole such as
/// `10.0`) is itself, in two's complement; anything else is a name, whose number is its 64-bit XXH3 hash. Numbers with
/// leading zeros are names: `007` is not `7`. Two of a million names share a number with a chance of 1 in 37 million.
#[inline]
pub fn of_id(id: &[u8]) -> Result<u64, Malformed> {
    match whole_or_hex(id) {
        Some(number) if id[0] != b'0' || id.len() == 1 || id[1] == b'x' || id[1] == b'X' => Ok(number),
        _ => unusual(id),
    }
}

/// The number of an id that is a name even where it looks like a number.
#[inline]
pub fn of_name(id: &[u8]) -> Result<u64, Malformed> {
    match !id.is_empty() && is_text(id) {
        true => Ok(xxh3_64(id)),
        false => Err(unexpected(id, "a name")),
    }
}

/// A negative or fractional number, a name, or an error.
fn unusual(id: &[u8]) -> Result<u64, Malformed> {
    if let Some(number) =
        std::str::from_utf8(id).ok().filter(|id| id.starts_with('-')).and_then(|id| id.parse::<i64>().ok())
    {
        return Ok(number as u64);
    }
    // Programs for tables write whole numbers with a fraction of 0.
    if let Some(number) = id.strip_suffix(b".0").and_then(whole) {
        return Ok(number);
    }
    match is_name(id) || id.len() > 1 && id.iter().all(u8::is_ascii_digit) && id[0] == b'0' {
        true => Ok(xxh3_64(id)),
        false => Err(unexpected(id, "an id, a whole number below 2^64 or a name")),
    }
}

/// True for text that cannot be meant as a number.
fn is_name(id: &[u8]) -> bool {
    let numeric = id.iter().all(|byte| byte.is_ascii_digit() || b"+-.".contains(byte));
    !numeric && is_text(id)
}

/// True for UTF-8 text without control characters.
fn is_text(id: &[u8]) -> bool {
    std::str::from_utf8(id).is_ok_and(|text| !text.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(ids: &[&str]) -> Vec<Result<u64, Malformed>> {
        ids.iter().map(|id| of_id(id.as_bytes())).collect()
    }

    #[test]
    fn numbers_and_names_may_stand_in_one_trace() {
        let ids = numbers(&["10", "0x10", "user:1", "10", "user:1", "007", "7", "-4834187236487162341", "10.0", "-1"]);
        let ids: Vec<u64> = ids.into_iter().map(Result::unwrap).collect();
        assert_eq!((ids[0], ids[1], ids[3], ids[6], ids[8]), (10, 16, 10, 7, 10));
        assert_eq!((ids[2], ids[4]), (xxh3_64(b"user:1"), xxh3_64(b"user:1")));
        assert_eq!(ids[5], xxh3_64(b"007"));
        assert_eq!((ids[7], ids[9]), (13_612_556_837_222_389_275, u64::MAX));
        assert_eq!(of_name(b"10"), Ok(xxh3_64(b"10")));
    }

    #[test]
    fn what_is_neither_number_nor_name_is_an_error() {
        for id in ["1.5", "18446744073709551616", "-9223372036854775809", "-", "", "a\u{7}"] {
            assert!(numbers(&[id])[0].is_err(), "{id:?}");
        }
        assert!(of_id(b"\xff\xfe").is_err() && of_name(b"").is_err());
    }
}
