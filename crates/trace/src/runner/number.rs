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

/// A decimal number of a unit of `10^places` nanoseconds, in nanoseconds; what is smaller than a nanosecond is cut.
#[inline]
pub fn scaled(text: &[u8], places: usize) -> Option<u64> {
    let (value, length) = scaled_at(text, 0, places);
    value.filter(|_| length == text.len())
}

/// The decimal number that stands in `line` at `at`, as [`scaled`] takes it, and its length.
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
