//! Numbers and fields out of the bytes of a line.

use super::{Malformed, quote, scan::digits};

/// Decimal digits that always fit a `u64`.
pub(super) const SAFE_DIGITS: usize = 19;

/// The number that `text` is: decimal digits and nothing else, below 2^64.
#[inline]
pub fn whole(text: &[u8]) -> Option<u64> {
    let (value, count) = digits(text, 0);
    if count != text.len() || count == 0 {
        return None;
    }
    if count <= SAFE_DIGITS { Some(value) } else { long_number(text) }
}

/// The number that `text` is, decimal or hexadecimal after `0x`.
#[inline]
pub fn whole_or_hex(text: &[u8]) -> Option<u64> {
    match text {
        [b'0', b'x' | b'X', digits @ ..] => hex(digits),
        _ => whole(text),
    }
}

/// The whole number below 2^64 that `text` is in any notation of decimal numbers: `4096.0`, `1e3`, `+7`.
#[cold]
pub fn whole_in_any_notation(text: &[u8]) -> Option<u64> {
    let (digits, exponent) = decimal(text)?;
    shifted(&digits, exponent, false)
}

/// A decimal number of a unit of `10^places` nanoseconds in any notation, in nanoseconds, rounded down.
#[cold]
pub fn scaled_in_any_notation(text: &[u8], places: usize) -> Option<u64> {
    let (digits, exponent) = decimal(text)?;
    shifted(&digits, exponent.checked_add(places as i64)?, true)
}

/// The digits of a decimal number that is not negative, and the power of ten that they are multiplied by.
fn decimal(text: &[u8]) -> Option<(Vec<u8>, i64)> {
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let (number, exponent) = match text.iter().position(|byte| b"eE".contains(byte)) {
        Some(at) => (&text[..at], std::str::from_utf8(&text[at + 1..]).ok()?.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (front, back) = match memchr::memchr(b'.', number) {
        Some(at) => (&number[..at], &number[at + 1..]),
        None => (number, &[][..]),
    };
    let digits = [front, back].concat();
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| (digits, i64::from(exponent) - back.len() as i64))
}

/// The number below 2^64 that `digits` are, times `10^exponent`. A fraction is cut, or else must be 0.
fn shifted(digits: &[u8], exponent: i64, cuts: bool) -> Option<u64> {
    let first = digits.iter().position(|&digit| digit != b'0').unwrap_or(digits.len());
    let digits = &digits[first..];
    let count = digits.len() as i64 + exponent;
    if digits.is_empty() || count <= 0 && cuts {
        return Some(0);
    }
    if !(1..=20).contains(&count) {
        return None;
    }
    let kept = digits.len().min(count as usize);
    if !cuts && digits[kept..].iter().any(|&digit| digit != b'0') {
        return None;
    }
    let number = std::str::from_utf8(&digits[..kept]).ok()?.parse::<u64>().ok()?;
    number.checked_mul(10u64.checked_pow(u32::try_from(count).ok()? - kept as u32)?)
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

/// A decimal number of a unit of `10^places` nanoseconds, in nanoseconds, rounded down.
#[inline]
pub fn scaled(text: &[u8], places: usize) -> Option<u64> {
    let (value, length) = scaled_at(text, 0, places);
    value.filter(|_| length == text.len())
}

/// The decimal number in `line` at `at`, as [`scaled`] takes it, and its length.
#[inline]
pub(super) fn scaled_at(line: &[u8], at: usize, places: usize) -> (Option<u64>, usize) {
    const POWERS: [u64; 10] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    let (units, count) = digits(line, at);
    if count == 0 || count > SAFE_DIGITS {
        return (None, count);
    }
    let whole = units.checked_mul(POWERS[places]);
    let point = at + count;
    if line.get(point) != Some(&b'.') {
        return (whole, count);
    }
    let (mut fraction, behind) = digits(line, point + 1);
    fraction = match behind {
        _ if behind <= places => fraction * POWERS[places - behind],
        _ => digits(&line[..point + 1 + places], point + 1).0,
    };
    (whole.and_then(|whole| whole.checked_add(fraction)), count + 1 + behind)
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
    fn whole_numbers_may_be_written_as_fractions_and_powers() {
        let cases = [
            ("4096.0", 4096),
            ("1e3", 1000),
            ("1.6E+03", 1600),
            ("1500e-2", 15),
            ("+7", 7),
            ("0.000", 0),
            ("0e99", 0),
            (".5e1", 5),
            ("18446744073709551615.0", u64::MAX),
            ("1.8446744073709551615e19", u64::MAX),
        ];
        for (text, number) in cases {
            assert_eq!(whole_in_any_notation(text.as_bytes()), Some(number), "{text}");
        }
        let bad = ["", "-1", "1.5", "1e-1", "1e20", "18446744073709551616.0", "e5", "1e", ".", "nan", "1e3x", "1.2.3"];
        for text in bad.into_iter().chain(["1e99999999999", "0x10", "1e-2147483648"]) {
            assert_eq!(whole_in_any_notation(text.as_bytes()), None, "{text}");
        }
        assert_eq!(scaled_in_any_notation(b"1.5e3", 9), Some(1_500_000_000_000));
        assert_eq!(scaled_in_any_notation(b"1e-10", 9), Some(0));
        assert_eq!(scaled_in_any_notation(b"1577808144.3607671", 9), Some(1_577_808_144_360_767_100));
        assert_eq!(scaled_in_any_notation(b"-1", 9), None);
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
}
