//! Digits and separators, eight bytes at a time: a step for each byte would cost a mispredicted branch for each field,
//! since fields vary in length.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;
const POWERS_OF_TEN: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The value and the count of the digits in `bytes` from `at` on; the value wraps where there are more than 19.
#[inline(always)]
pub(super) fn digits(bytes: &[u8], at: usize) -> (u64, usize) {
    let (value, count) = eight_digits(eight_bytes(bytes, at));
    if count < 8 { (value, count) } else { more_digits(bytes, at + 8, value) }
}

/// As [`digits`], for a number of which eight digits before `at` have the value given.
fn more_digits(bytes: &[u8], mut at: usize, mut value: u64) -> (u64, usize) {
    let start = at - 8;
    loop {
        let (more, count) = eight_digits(eight_bytes(bytes, at));
        value = value.wrapping_mul(POWERS_OF_TEN[count]).wrapping_add(more);
        at += count;
        if count < 8 {
            return (value, at - start);
        }
    }
}

/// Where `byte` is in the first `length` of `bytes` from `at` on; `length` if it is not.
#[inline(always)]
pub(super) fn find(bytes: &[u8], mut at: usize, length: usize, byte: u8) -> usize {
    let pattern = ONES * u64::from(byte);
    while at < length {
        let differing = eight_bytes(bytes, at) ^ pattern;
        // The lowest byte that is zero is marked right; borrows spoil only those above it.
        let equal = differing.wrapping_sub(ONES) & !differing & HIGHS;
        if equal != 0 {
            return length.min(at + first_byte(equal));
        }
        at += 8;
    }
    length
}

/// Eight bytes from `at` on, the first one lowest; bytes behind the end are zero.
#[inline(always)]
fn eight_bytes(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(eight) => u64::from_le_bytes(*eight),
        None => last_bytes(bytes.get(at..).unwrap_or_default()),
    }
}

/// Only the end of a piece of the trace comes here.
#[cold]
fn last_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// The value and the count of the digits that eight bytes begin with.
#[inline(always)]
fn eight_digits(bytes: u64) -> (u64, usize) {
    let values = bytes ^ (ONES * u64::from(b'0'));
    // Adding 0x76 takes 10 and above over 0x80.
    let others = (values.wrapping_add(ONES * 0x76) | values) & HIGHS;
    let count = first_byte(others);
    // The last digit goes to the top, zeros before the first; in two steps because a shift by 64 is none.
    let half = 32 - 4 * count as u32;
    let values = values << half << half;
    let pairs = values.wrapping_mul(10 << 8 | 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000 << 32 | 1) >> 32, count)
}

/// The number of the lowest byte that has its high bit set; 8 if none has.
#[inline]
fn first_byte(highs: u64) -> usize {
    highs.trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One byte after the other.
    fn slow_digits(line: &[u8], at: usize) -> (u64, usize) {
        let count = line[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let digit = |value: u64, byte: &u8| value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        (line[at..at + count].iter().fold(0, digit), count)
    }

    #[test]
    fn digits_are_what_a_step_for_each_byte_finds() {
        let lines = [
            "",
            "7",
            "x",
            "12345678",
            "123456789",
            "00000000000000000000000001,",
            "1234567 ",
            "4,99999999999999999999",
        ];
        for line in lines.map(str::as_bytes) {
            for at in 0..=line.len() {
                assert_eq!(digits(line, at), slow_digits(line, at), "{} from {at}", line.escape_ascii());
            }
        }
        for other in (0..=255u8).filter(|byte| !byte.is_ascii_digit()) {
            for length in 0..20 {
                let mut line = vec![b'9'; length];
                line.extend([other, 200, b'5', other]);
                assert_eq!(digits(&line, 0), slow_digits(&line, 0), "{}", line.escape_ascii());
            }
        }
    }

    #[test]
    fn bytes_are_found_where_they_are() {
        let line = b",ab,\x2d\x2c\xac,,abcdefgh,abcdefghi";
        for byte in 0..=255 {
            for at in 0..=line.len() {
                let expected = line[at..].iter().position(|&b| b == byte).map_or(line.len(), |step| at + step);
                assert_eq!(find(line, at, line.len(), byte), expected, "{byte} from {at}");
            }
        }
    }
}
