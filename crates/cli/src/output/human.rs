//! Numbers and names as people read them.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// `1 request`, `2,000 requests`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    counted_as(number, noun, &format!("{noun}s"))
}

/// The same with an irregular plural.
pub(crate) fn counted_as(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// `64M`, `1.5G`: binary multiples, at most one decimal.
pub(crate) fn bytes(bytes: u64) -> String {
    bytes_of(bytes as f64)
}

/// The same for an average.
pub(crate) fn bytes_of(bytes: f64) -> String {
    const UNITS: [&str; 7] = ["B", "K", "M", "G", "T", "P", "E"];
    let mut amount = bytes;
    let mut unit = 0;
    while amount >= 1023.95 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    let whole = (amount - amount.round()).abs() < 0.05 || amount >= 100.0;
    format!("{amount:.digits$}{}", UNITS[unit], digits = usize::from(!whole))
}

/// A share as `12.34`, in percent without the sign.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2}", share * 100.0)
}

/// A cache size or footprint: `64M (16,384 blocks)`, or `16,384 blocks` where blocks have no size.
pub(crate) fn blocks(blocks: u64, block_bytes: Option<u64>) -> String {
    let counted = counted(blocks, "block");
    match block_bytes {
        Some(block) => format!("{} ({counted})", bytes(blocks.saturating_mul(block))),
        None => counted,
    }
}

/// `0.42 s`, `3 min 20 s`, `5 h 12 min`, `3 d 4 h`.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..=9 => format!("{seconds:.2} s"),
        10..=119 => format!("{seconds:.1} s"),
        120..=7199 => format!("{} min {} s", whole / 60, whole % 60),
        7200..=172_799 => format!("{} h {} min", whole / 3600, whole / 60 % 60),
        _ => format!("{} d {} h", whole / 86400, whole / 3600 % 24),
    }
}

/// `20 µs`, `2.1 ms`, `1.30 s`: the time of one request.
pub(crate) fn latency(seconds: f64) -> String {
    match seconds {
        ..1e-3 => format!("{:.0} µs", seconds * 1e6),
        ..1.0 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

/// A name from a trace in one line of at most `width` columns: control characters are escaped, a longer name loses its
/// beginning.
pub(crate) fn name(text: &str, width: usize) -> String {
    let clean: String =
        text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect();
    if clean.width() <= width {
        return clean;
    }
    let mut left = width.saturating_sub(1);
    let fits = |c: &char| {
        let enough = left.checked_sub(c.width().unwrap_or(0));
        left = enough.unwrap_or(left);
        enough.is_some()
    };
    let mut end: Vec<char> = clean.chars().rev().take_while(fits).collect();
    end.push('…');
    end.into_iter().rev().collect()
}

/// Breaks running text into lines of at most `width` columns, between words.
pub(crate) fn wrap(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a line from the start");
        if !line.is_empty() && line.width() + 1 + word.width() > width {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_short_and_true() {
        let shown: Vec<String> =
            [0, 512, 4096, 1536 << 10, 10 << 20, (10 << 20) + 1, (1 << 20) - 1, 1 << 40, u64::MAX].map(bytes).into();
        assert_eq!(shown, ["0B", "512B", "4K", "1.5M", "10M", "10M", "1M", "1T", "16E"]);
    }

    #[test]
    fn durations_use_two_units_at_most() {
        let shown: Vec<String> = [0.417, 42.0, 200.0, 7260.0, 200_000.0].map(duration).into();
        assert_eq!(shown, ["0.42 s", "42.0 s", "3 min 20 s", "2 h 1 min", "2 d 7 h"]);
        assert_eq!([2e-5, 2.13e-3, 1.3].map(latency), ["20 µs", "2.1 ms", "1.30 s"]);
    }

    #[test]
    fn names_keep_their_end_and_no_control_characters() {
        assert_eq!(name("/usr/include/stdio.h", 10), "…e/stdio.h");
        assert_eq!(name("a\x1b[1m\nb", 40), "a\\u{1b}[1m\\nb");
        assert_eq!(name("目目目", 5), "…目目");
        assert_eq!(name("abc", 3), "abc");
    }

    #[test]
    fn text_breaks_between_words() {
        assert_eq!(wrap("one two three", 8), "one two\nthree");
        assert_eq!(wrap("incomprehensible a b", 5), "incomprehensible\na b");
        assert_eq!(wrap("", 5), "");
    }
}
