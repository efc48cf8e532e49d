//! The words of a line that blanks keep apart.

use super::{
    Malformed,
    lines::TextLine,
    number::{SAFE_DIGITS, unexpected, whole, whole_in_any_notation},
    scan::digits,
};

/// The words of a line that blanks keep apart.
pub struct Words<'a> {
    line: TextLine<'a>,
    at: usize,
}

impl<'a> Words<'a> {
    /// The words of `line`.
    #[inline]
    pub fn new(line: TextLine<'a>) -> Words<'a> {
        Words { line, at: 0 }
    }

    /// The next word as a number below 2^64. `expected` says what it is.
    #[inline]
    pub fn number(&mut self, expected: &str) -> Result<u64, Malformed> {
        self.skip_blanks();
        let (value, count) = digits(self.line.with_next(), self.at);
        let end = self.at + count;
        let ended = self.line.get(end).is_none_or(u8::is_ascii_whitespace);
        if count == 0 || count > SAFE_DIGITS || !ended {
            return self.odd_number(expected);
        }
        self.at = end;
        Ok(value)
    }

    #[cold]
    fn odd_number(&mut self, expected: &str) -> Result<u64, Malformed> {
        let word = self.next().unwrap_or_default();
        let number = whole(word).or_else(|| whole_in_any_notation(word));
        number.ok_or_else(|| unexpected(word, &format!("{expected}, a whole number below 2^64")))
    }

    /// The byte that the next word begins with.
    #[inline]
    pub fn first_byte(&mut self) -> Option<u8> {
        self.skip_blanks();
        self.line.get(self.at).copied()
    }

    /// True if no word is left.
    #[inline]
    pub fn is_done(&mut self) -> bool {
        self.first_byte().is_none()
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
        while self.line.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        let rest = &self.line.text()[self.at..];
        if rest.is_empty() {
            return None;
        }
        let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        self.at += length;
        Some(&rest[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kept_apart_by_any_blanks() {
        let mut words = Words::new(TextLine::new(b" 12\t 18446744073709551615  x "));
        assert_eq!(words.number("a"), Ok(12));
        assert_eq!(words.number("b"), Ok(u64::MAX));
        assert_eq!(&*words.number("c").unwrap_err(), "found `x`; expected c, a whole number below 2^64");
        assert_eq!(&*words.number("d").unwrap_err(), "found nothing; expected d, a whole number below 2^64");
        assert_eq!(words.end("no more"), Ok(()));
    }
}
