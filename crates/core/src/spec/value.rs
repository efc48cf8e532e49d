//! Literals of the grammar: numbers, sizes, percentages, times, words.

use std::borrow::Cow;
use std::fmt;

use super::SpecError;
use super::error::quote;

/// A literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `3`, `0.5`, `1e-6`: a plain number. Where blocks are meant, a count of blocks.
    Number(f64),
    /// `64K`, `1.5M`, `2G`, `1T`, `512B`: bytes, binary multiples.
    Size(u64),
    /// `25%`, stored as 25: a share of whatever encloses it.
    Percent(f64),
    /// `2s`, `10ms`, `5us`, `100ns`, `5min`, `2h`, `1d`, in nanoseconds.
    Time(u64),
    /// `2000/app`: so many for each application.
    PerApp(f64),
    /// Anything that starts with a letter.
    Word(String),
    /// Anything in quotes: the name of a file.
    Quoted(String),
}

const SIZES: [(&str, f64); 5] =
    [("B", 1.0), ("K", 1024.0), ("M", 1048576.0), ("G", 1073741824.0), ("T", 1099511627776.0)];
const TIMES: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
/// Times that are read and printed in seconds.
const LONG_TIMES: [(&str, f64); 3] = [("min", 60e9), ("h", 3600e9), ("d", 86400e9)];

impl Value {
    /// Reads one literal. Suffixes may be in either case (`64k`), sizes may end in `iB` or `B` (`64KiB`). A blank may
    /// precede the suffix (`10 %`), and underscores may group digits (`1_000`). Fractions of a byte or nanosecond are
    /// rounded.
    pub fn parse(text: &str) -> Result<Value, SpecError> {
        let text = text.trim();
        if let Some(number) = text.strip_suffix("/app")
            && let Some(Value::Number(number)) = Self::literal(number)?
        {
            return Ok(Value::PerApp(number));
        }
        Self::literal(text)?.ok_or_else(|| Self::unknown_unit(text))
    }

    /// Reads a number of bytes with its unit: `512M`. Only 0 needs none.
    pub fn capacity(text: &str) -> Result<u64, String> {
        match Value::parse(text) {
            Ok(Value::Size(bytes)) => Ok(bytes),
            Ok(Value::Number(0.0)) => Ok(0),
            Ok(Value::Number(_)) => Err(format!(
                "{text:?} has no unit: expected bytes such as 64M or 2G (only a simulation takes sizes such as 64 blocks or 10%)"
            )),
            _ => Err(format!("{text:?} is not a size: expected bytes, such as 512M or 2G")),
        }
    }

    /// Reads a number of bytes: `512M`, `4096`. Where blocks could be meant, [`capacity`](Self::capacity) is to be
    /// read.
    pub fn bytes(text: &str) -> Result<u64, String> {
        match Value::parse(text) {
            Ok(Value::Size(bytes)) => Ok(bytes),
            Ok(Value::Number(bytes)) if bytes.fract() == 0.0 && bytes < 2f64.powi(63) => Ok(bytes as u64),
            _ => Err(format!("{text:?} is not a size: expected bytes, such as 512M or 2G")),
        }
    }

    /// Reads one literal; `None` if it is a number with letters behind it that are not a unit.
    pub(super) fn literal(text: &str) -> Result<Option<Value>, SpecError> {
        if text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Ok(Some(Value::Word(text.to_owned())));
        }
        let (number, suffix) = split_number(text);
        let suffix = suffix.trim_start();
        let number: f64 = ungrouped(number).parse().map_err(|_| {
            let text = quote(text);
            SpecError::new(format!("{text} is not a number, size (64K), percentage (25%), time (2s) or word"))
        })?;
        let Some(unit) = Unit::find(suffix) else { return Ok(None) };
        let value = unit.of(number).ok_or_else(|| {
            let text = quote(text);
            SpecError::new(format!("{text} is out of range: expected a number that is finite and not negative"))
        })?;
        Ok(Some(value))
    }

    /// The error for a literal that ends in something else than a unit.
    pub(super) fn unknown_unit(text: &str) -> SpecError {
        let text = quote(text);
        SpecError::new(format!("{text} ends in an unknown unit: expected %, B, K, M, G, T, ns, us, ms, s, min, h or d"))
    }
}

/// The meaning of the letters behind a number.
enum Unit {
    None,
    Percent,
    Bytes(f64),
    Nanoseconds(f64),
}

impl Unit {
    fn find(suffix: &str) -> Option<Unit> {
        let listed = |units: &[(&str, f64)], name: &str| units.iter().find(|unit| unit.0 == name).map(|unit| unit.1);
        match suffix {
            "" => return Some(Unit::None),
            "%" => return Some(Unit::Percent),
            _ => {}
        }
        if let Some(unit) = listed(&TIMES, suffix).or_else(|| listed(&LONG_TIMES, suffix)) {
            return Some(Unit::Nanoseconds(unit));
        }
        let upper = suffix.to_ascii_uppercase();
        let shorter = upper.strip_suffix("IB").or(upper.strip_suffix('B')).filter(|rest| !rest.is_empty());
        listed(&SIZES, shorter.unwrap_or(&upper)).map(Unit::Bytes)
    }

    /// `number` of these; `None` if that is not finite, negative or more than 64 bits hold.
    fn of(self, number: f64) -> Option<Value> {
        let whole = |amount: f64| (amount < u64::MAX as f64).then(|| amount.round() as u64);
        if !number.is_finite() || number.is_sign_negative() {
            return None;
        }
        match self {
            Unit::None => Some(Value::Number(number)),
            Unit::Percent => Some(Value::Percent(number)),
            Unit::Bytes(unit) => whole(number * unit).map(Value::Size),
            Unit::Nanoseconds(unit) => whole(number * unit).map(Value::Time),
        }
    }
}

/// The digits without the underscores between them.
fn ungrouped(number: &str) -> Cow<'_, str> {
    let bytes = number.as_bytes();
    let is_between =
        |at: usize| at > 0 && bytes[at - 1].is_ascii_digit() && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
    let mut places = (0..bytes.len()).filter(|&at| bytes[at] == b'_').peekable();
    match places.peek().is_some() && places.all(is_between) {
        true => number.replace('_', "").into(),
        false => number.into(),
    }
}

/// Splits behind the longest prefix that reads as a number, keeping an `e` only where an exponent follows.
fn split_number(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut end =
        bytes.iter().position(|b| !matches!(b, b'0'..=b'9' | b'.' | b'-' | b'+' | b'_')).unwrap_or(bytes.len());
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        let digits = bytes[end + 1 + sign..].iter().take_while(|b| b.is_ascii_digit()).count();
        if digits > 0 {
            end += 1 + sign + digits;
        }
    }
    text.split_at(end)
}

impl fmt::Display for Value {
    /// The canonical form: it parses back to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Percent(share) => write!(f, "{share}%"),
            Value::PerApp(number) => write!(f, "{number}/app"),
            Value::Size(bytes) => whole_units(f, *bytes, &SIZES),
            Value::Time(nanoseconds) => whole_units(f, *nanoseconds, &TIMES),
            Value::Word(word) => f.write_str(word),
            Value::Quoted(text) => write!(f, "\"{text}\""),
        }
    }
}

/// Prints in the largest unit that divides the amount.
fn whole_units(f: &mut fmt::Formatter<'_>, amount: u64, units: &[(&str, f64)]) -> fmt::Result {
    let fits = |unit: f64| amount != 0 && amount.is_multiple_of(unit as u64);
    let (name, unit) = units.iter().rev().find(|(_, unit)| fits(*unit)).unwrap_or(&units[0]);
    write!(f, "{}{name}", amount / *unit as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_read_and_print() {
        let cases = [
            ("3", Value::Number(3.0), "3"),
            ("1e-6", Value::Number(1e-6), "0.000001"),
            ("64k", Value::Size(65536), "64K"),
            ("64KiB", Value::Size(65536), "64K"),
            ("1.5M", Value::Size(1572864), "1536K"),
            ("512B", Value::Size(512), "512B"),
            ("25%", Value::Percent(25.0), "25%"),
            ("0.1%", Value::Percent(0.1), "0.1%"),
            ("10 %", Value::Percent(10.0), "10%"),
            ("1_000", Value::Number(1000.0), "1000"),
            ("1_024 K", Value::Size(1 << 20), "1M"),
            ("2s", Value::Time(2_000_000_000), "2s"),
            ("1.5min", Value::Time(90_000_000_000), "90s"),
            ("36h", Value::Time(129_600_000_000_000), "129600s"),
            ("5d", Value::Time(432_000_000_000_000), "432000s"),
            ("10ms", Value::Time(10_000_000), "10ms"),
            ("2000/app", Value::PerApp(2000.0), "2000/app"),
            ("on", Value::Word("on".into()), "on"),
        ];
        for (text, value, shown) in cases {
            let read = Value::parse(text).unwrap();
            assert_eq!(read, value, "{text}");
            assert_eq!(read.to_string(), shown);
            assert_eq!(Value::parse(shown).unwrap(), read);
        }
    }

    #[test]
    fn nonsense_is_refused_in_a_sentence() {
        for text in [
            "",
            "-1",
            "_1",
            "1_",
            "1__0",
            "1e999",
            "3parsecs",
            "..",
            "%",
            "--",
            "1.2.3",
            "-0",
            "1e300G",
            "16777216T",
            "2K/app",
            "/app",
        ] {
            let error = Value::parse(text).unwrap_err();
            assert!(error.message.contains("expected") || error.message.contains("is not"), "{text}: {error}");
        }
    }
}
