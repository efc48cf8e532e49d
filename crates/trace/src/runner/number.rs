//! Numbers and fields out of the bytes of a line.

use super::{Malformed, quote};

/// Decimal digits that always fit a `u64`.
pub(super) const SAFE_DIGITS: usize = 19;

/// The number that `text` is: decimal digits and nothing else, below 2^64.
#[inline]
pub fn whole(text: &[u8]) -> Option<u64> {
    let (value, digits) = leading_digits(text);
    if digits != text.len() || digits == 0 {
        return None;
    }
    if digits <= SAFE_DIGITS { Some(value) } else { long_number(text) }
}

/// The number that `text` is, decimal or hexadecimal after `0x`.
#[inline]
pub fn whole_or_hex(text: &[u8]) -> Option<u64> {
    match text {
        [b'0', b'x' | b'X', digits @ ..] => hex(digits),
        _ => whole(text),
    }
}

/// The number that hexadecimal digits are.
pub fn hex(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Seconds such as `12.000034` in nanoseconds; digits behind the ninth are cut.
#[inline]
pub fn seconds(text: &[u8]) -> Option<u64> {
    scaled(text, 9)
}

/// A decimal number of a unit of `10^digits` nanoseconds, in nanoseconds; what is smaller than a nanosecond is cut.
#[inline]
pub fn scaled(text: &[u8], digits: usize) -> Option<u64> {
    let (value, length) = leading_scaled(text, digits);
    value.filter(|_| length == text.len())
}

/// The decimal number that `text` begins with, as [`scaled`] takes it, and its length.
#[inline]
pub fn leading_scaled(text: &[u8], digits: usize) -> (Option<u64>, usize) {
    const POWERS: [u64; 10] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    let (units, length) = leading_digits(text);
    if length == 0 || length > SAFE_DIGITS {
        return (None, length);
    }
    let whole = units.checked_mul(POWERS[digits]);
    if text.get(length) != Some(&b'.') {
        return (whole, length);
    }
    let behind = &text[length + 1..];
    let (mut fraction, count) = leading_digits(behind);
    fraction = match count {
        _ if count <= digits => fraction * POWERS[digits - count],
        _ => leading_digits(&behind[..digits]).0,
    };
    (whole.and_then(|whole| whole.checked_add(fraction)), length + 1 + count)
}

/// The value and the count of the digits that `text` begins with; the value wraps beyond [`SAFE_DIGITS`].
#[inline]
pub fn leading_digits(text: &[u8]) -> (u64, usize) {
    let mut value = 0u64;
    let mut count = 0;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    (value, count)
}

#[cold]
fn long_number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The sentence for a field that is not what it should be.
#[cold]
pub fn unexpected(found: &[u8], expected: &str) -> Malformed {
    match found {
        [] => format!("found nothing; expected {expected}").into(),
        _ => format!("found {}; expected {expected}", quote(found)).into(),
    }
}

/// The words of a line that blanks keep apart.
pub struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    /// The words of `line`.
    #[inline]
    pub fn new(line: &'a [u8]) -> Words<'a> {
        Words { rest: line }
    }

    /// The next word as a number below 2^64. `expected` says what it is.
    #[inline]
    pub fn number(&mut self, expected: &str) -> Result<u64, Malformed> {
        self.skip_blanks();
        let (value, digits) = leading_digits(self.rest);
        let ended = self.rest.get(digits).is_none_or(u8::is_ascii_whitespace);
        if digits == 0 || digits > SAFE_DIGITS || !ended {
            return self.odd_number(expected);
        }
        self.rest = &self.rest[digits..];
        Ok(value)
    }

    #[cold]
    fn odd_number(&mut self, expected: &str) -> Result<u64, Malformed> {
        let word = self.next().unwrap_or_default();
        whole(word).ok_or_else(|| unexpected(word, &format!("{expected}, a whole number below 2^64")))
    }

    /// The byte that the next word begins with.
    pub fn first_byte(&mut self) -> Option<u8> {
        self.skip_blanks();
        self.rest.first().copied()
    }

    /// True if no word is left.
    #[inline]
    pub fn is_done(&mut self) -> bool {
        self.skip_blanks();
        self.rest.is_empty()
    }

    /// Fails if a word is left.
    #[inline]
    pub fn end(&mut self, expected: &str) -> Result<(), Malformed> {
        match self.next() {
            None => Ok(()),
            Some(word) => Err(unexpected(word, expected)),
        }
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while let [first, rest @ ..] = self.rest
            && first.is_ascii_whitespace()
        {
            self.rest = rest;
        }
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        if self.rest.is_empty() {
            return None;
        }
        let length = self.rest.iter().position(u8::is_ascii_whitespace).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_end_at_two_to_the_64() {
        assert_eq!(whole(b"0"), Some(0));
        assert_eq!(whole(b"0000000000000000000000000000007"), Some(7));
        assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX));
        for bad in ["", "18446744073709551616", "99999999999999999999999", "-1", "+1", "1 ", "1.0", "0x1"] {
            assert_eq!(whole(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(whole_or_hex(b"0xfF"), Some(255));
        for bad in ["0x", "0x1_0", "0x+1", "0x10000000000000000", "ff"] {
            assert_eq!(whole_or_hex(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn seconds_become_nanoseconds() {
        let cases = [
            ("0", 0),
            ("1.5", 1_500_000_000),
            ("1.", 1_000_000_000),
            ("0.000000001", 1),
            ("0.0000000019", 1),
            ("0.12345678901234567890123", 123_456_789),
            ("18446744073.709551615", u64::MAX),
        ];
        for (text, nanoseconds) in cases {
            assert_eq!(seconds(text.as_bytes()), Some(nanoseconds), "{text}");
        }
        for bad in ["", ".5", "-1", "1e9", "1.x", "1.5 ", "18446744073.709551616", "99999999999999999999", "nan"] {
            assert_eq!(seconds(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(scaled(b"2.5", 6), Some(2_500_000));
        assert_eq!(scaled(b"2.7", 0), Some(2));
    }

    #[test]
    fn words_are_kept_apart_by_any_blanks() {
        let mut words = Words::new(b" 12\t 18446744073709551615  x ");
        assert_eq!(words.number("a"), Ok(12));
        assert_eq!(words.number("b"), Ok(u64::MAX));
        assert_eq!(&*words.number("c").unwrap_err(), "found `x`; expected c, a whole number below 2^64");
        assert_eq!(&*words.number("d").unwrap_err(), "found nothing; expected d, a whole number below 2^64");
        assert_eq!(words.end("no more"), Ok(()));
    }
}
