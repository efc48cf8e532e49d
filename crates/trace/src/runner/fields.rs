//! The fields of a line that a separator keeps apart.

use super::{
    Malformed,
    date::date,
    lines::TextLine,
    number::{SAFE_DIGITS, scaled, scaled_at, scaled_in_any_notation, unexpected, whole_in_any_notation, whole_or_hex},
    scan::{digits, find},
};

/// The fields of a line, one after the other, without quoting. Numbers are parsed where they stand, without looking for
/// the end of the field first.
pub struct Fields<'a> {
    line: TextLine<'a>,
    /// Where the next field begins; behind the end of the line when there is none.
    at: usize,
    separator: u8,
}

impl<'a> Fields<'a> {
    /// The fields of `line`.
    #[inline]
    pub fn new(line: TextLine<'a>, separator: u8) -> Fields<'a> {
        Fields { line, at: 0, separator }
    }

    /// True if no field is left.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.at > self.line.len()
    }

    /// Steps over the next field if it is `literal`.
    #[inline]
    pub fn skip(&mut self, literal: &[u8]) -> bool {
        self.line.get(self.at..).is_some_and(|rest| rest.starts_with(literal))
            && self.end_field(self.at + literal.len())
    }

    /// The next two fields, with the separator between them.
    #[inline]
    pub fn two(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        self.next()?;
        self.next()?;
        Some(&self.line.text()[start..self.at - 1])
    }

    /// The next field as a number below 2^64; blanks around it are allowed. `expected` says what it is.
    #[inline]
    pub fn number(&mut self, expected: &str) -> Result<u64, Malformed> {
        match self.plain_number() {
            Some(number) => Ok(number),
            None => self.odd_number(expected),
        }
    }

    /// The next field, if it is nothing but up to 19 digits.
    #[inline]
    fn plain_number(&mut self) -> Option<u64> {
        let (value, count) = digits(self.line.with_next(), self.at);
        let plain = (1..=SAFE_DIGITS).contains(&count) && self.end_field(self.at + count);
        plain.then_some(value)
    }

    /// The next field, if it is nothing but up to 19 digits, the first of several being no 0.
    #[inline]
    pub fn plain_id(&mut self) -> Option<u64> {
        let (value, count) = digits(self.line.with_next(), self.at);
        let plain = (1..=SAFE_DIGITS).contains(&count)
            && (count == 1 || self.line.get(self.at) != Some(&b'0'))
            && self.end_field(self.at + count);
        plain.then_some(value)
    }

    /// The next field as a number of units of `unit`, as a number of ones; `None` if it is empty.
    #[inline]
    pub fn optional_number(&mut self, expected: &str, unit: u32) -> Result<Option<u64>, Malformed> {
        if self.end_field(self.at) {
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
        let (nanoseconds, length) = scaled_at(self.line.with_next(), self.at, digits);
        if let Some(nanoseconds) = nanoseconds
            && self.end_field(self.at + length)
        {
            return Ok(nanoseconds);
        }
        self.odd_time(digits)
    }

    /// Steps over a field, if it really ends at `end`.
    #[inline]
    fn end_field(&mut self, end: usize) -> bool {
        // Behind the end of the line there is another one.
        let ends = end == self.line.len() || self.line.get(end) == Some(&self.separator);
        if ends {
            self.at = end + 1;
        }
        ends
    }

    #[cold]
    fn odd_number(&mut self, expected: &str) -> Result<u64, Malformed> {
        let field = self.next().unwrap_or_default().trim_ascii();
        let number = whole_or_hex(field).or_else(|| whole_in_any_notation(field));
        number.ok_or_else(|| unexpected(field, &format!("{expected}, a whole number below 2^64")))
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
        let number = scaled(field, digits).or_else(|| scaled_in_any_notation(field, digits));
        number.or_else(|| date(field).filter(|_| field.len() > 14)).ok_or_else(|| {
            unexpected(field, &format!("the time in {unit}, below 2^64 nanoseconds (names of other units: time_s, time_ms, time_us, time_ns)"))
        })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.is_done() {
            return None;
        }
        let start = self.at;
        let end = find(self.line.with_next(), start, self.line.len(), self.separator);
        self.at = end + 1;
        Some(&self.line.text()[start..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_may_be_empty_and_end_with_the_line() {
        let all: Vec<&[u8]> = Fields::new(TextLine::new(b",a,,b,"), b',').collect();
        assert_eq!(all, [&b""[..], b"a", b"", b"b", b""]);
    }

    #[test]
    fn numbers_are_whole_fields() {
        let mut fields = Fields::new(TextLine::new(b"12, 7 ,x,18446744073709551615"), b',');
        assert_eq!(fields.number("a"), Ok(12));
        assert_eq!(fields.number("b"), Ok(7));
        assert_eq!(&*fields.number("c").unwrap_err(), "found `x`; expected c, a whole number below 2^64");
        assert_eq!(fields.number("d"), Ok(u64::MAX));
        assert_eq!(&*fields.number("e").unwrap_err(), "found nothing; expected e, a whole number below 2^64");
    }
}
