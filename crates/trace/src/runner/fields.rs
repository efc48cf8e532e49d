//! The fields of a line that a separator keeps apart.

use super::{
    Malformed,
    number::{SAFE_DIGITS, leading_digits, leading_scaled, scaled, unexpected, whole},
};

/// The fields of a line, one after the other, without quoting. Numbers are parsed where they stand, without looking for the end of
/// the field first.
pub struct Fields<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Fields<'a> {
    /// The fields of `line`.
    #[inline]
    pub fn new(line: &'a [u8], separator: u8) -> Fields<'a> {
        Fields { rest: Some(line), separator }
    }

    /// True if no field is left.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.rest.is_none()
    }

    /// Steps over the next field if it is `literal`.
    #[inline]
    pub fn skip(&mut self, literal: &[u8]) -> bool {
        self.rest.is_some_and(|rest| rest.starts_with(literal) && self.end_field(rest, literal.len()))
    }

    /// The next field as a number below 2^64; blanks around it are allowed. `expected` says what it is.
    #[inline]
    pub fn number(&mut self, expected: &str) -> Result<u64, Malformed> {
        let rest = self.rest.unwrap_or_default();
        let (value, digits) = leading_digits(rest);
        if (1..=SAFE_DIGITS).contains(&digits) && self.end_field(rest, digits) {
            return Ok(value);
        }
        self.odd_number(expected)
    }

    /// The next field as a number of units of `unit`, as a number of ones; `None` if it is empty.
    #[inline]
    pub fn optional_number(&mut self, expected: &str, unit: u32) -> Result<Option<u64>, Malformed> {
        let rest = self.rest.unwrap_or_default();
        if self.end_field(rest, 0) {
            return Ok(None);
        }
        let number = self.number(expected)?;
        match number.checked_mul(unit.into()) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("found {number}; expected {expected}, below 2^64 bytes").into()),
        }
    }

    /// The next field as a time in units of `10^digits` nanoseconds, in nanoseconds.
    #[inline]
    pub fn time(&mut self, digits: usize) -> Result<u64, Malformed> {
        let rest = self.rest.unwrap_or_default();
        let (nanoseconds, length) = leading_scaled(rest, digits);
        if let Some(nanoseconds) = nanoseconds
            && self.end_field(rest, length)
        {
            return Ok(nanoseconds);
        }
        self.odd_time(digits)
    }

    /// Steps over a field of `length` bytes, if it really ends there.
    #[inline]
    fn end_field(&mut self, rest: &'a [u8], length: usize) -> bool {
        match rest.get(length) {
            None => self.rest = None,
            Some(byte) if *byte == self.separator => self.rest = Some(&rest[length + 1..]),
            Some(_) => return false,
        }
        true
    }

    #[cold]
    fn odd_number(&mut self, expected: &str) -> Result<u64, Malformed> {
        let field = self.next().unwrap_or_default().trim_ascii();
        whole(field).ok_or_else(|| unexpected(field, &format!("{expected}, a whole number below 2^64")))
    }

    #[cold]
    fn odd_time(&mut self, digits: usize) -> Result<u64, Malformed> {
        let field = self.next().unwrap_or_default().trim_ascii();
        let unit = match digits {
            9 => "seconds",
            6 => "milliseconds",
            3 => "microseconds",
            _ => "nanoseconds",
        };
        scaled(field, digits).ok_or_else(|| {
            unexpected(field, &format!("the time in {unit}, below 2^64 nanoseconds (names of other units: time_s, time_ms, time_us, time_ns)"))
        })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        // Fields are a few bytes long: shorter than what makes a vector search pay.
        let length = rest.iter().position(|&byte| byte == self.separator);
        self.rest = length.map(|length| &rest[length + 1..]);
        Some(&rest[..length.unwrap_or(rest.len())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_may_be_empty_and_end_with_the_line() {
        let all: Vec<&[u8]> = Fields::new(b",a,,b,", b',').collect();
        assert_eq!(all, [&b""[..], b"a", b"", b"b", b""]);
    }

    #[test]
    fn numbers_are_whole_fields() {
        let mut fields = Fields::new(b"12, 7 ,x,18446744073709551615", b',');
        assert_eq!(fields.number("a"), Ok(12));
        assert_eq!(fields.number("b"), Ok(7));
        assert_eq!(&*fields.number("c").unwrap_err(), "found `x`; expected c, a whole number below 2^64");
        assert_eq!(fields.number("d"), Ok(u64::MAX));
        assert_eq!(&*fields.number("e").unwrap_err(), "found nothing; expected e, a whole number below 2^64");
    }
}
