//! The fields of a line that a separator keeps apart.

use super::{
    Malformed,
    number::{leading_digits, unexpected, whole},
};

/// The fields of a line, one after the other, without quoting.
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

    /// The next field as a number below 2^64; blanks around it are allowed. `expected` says what it is.
    #[inline]
    pub fn number(&mut self, expected: &str) -> Result<u64, Malformed> {
        let rest = self.rest.unwrap_or_default();
        let (value, digits) = leading_digits(rest);
        if (1..=19).contains(&digits) && digits < rest.len() && rest[digits] == self.separator {
            self.rest = Some(&rest[digits + 1..]);
            return Ok(value);
        }
        let field = self.next().unwrap_or_default();
        whole(field.trim_ascii()).ok_or_else(|| unexpected(field, &format!("{expected}, a whole number below 2^64")))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        // Fields are a few bytes long: shorter than what makes a vector search pay.
        match rest.iter().position(|&byte| byte == self.separator) {
            Some(length) => {
                self.rest = Some(&rest[length + 1..]);
                Some(&rest[..length])
            }
            None => {
                self.rest = None;
                Some(rest)
            }
        }
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
