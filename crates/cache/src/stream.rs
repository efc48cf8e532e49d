//! What was read through one open so far, and what is worth reading ahead of it.

use std::ops::Range;

use crate::sync::{Mutex, PoisonError};

/// Bytes ahead of a reader: at first, and at most.
const WINDOW: Range<u64> = 128 << 10..1 << 20;

/// Reads in a row, each where the one before ended, that make a reader sequential.
const SEQUENTIAL: u32 = 2;

/// What was read through one open so far.
#[derive(Debug, Default)]
pub struct Stream(Mutex<Position>);

impl Stream {
    /// Takes note of a read; gives the bytes to be read ahead.
    pub(crate) fn follow(&self, range: &Range<u64>, missed: bool) -> Range<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).follow(range, missed)
    }
}

#[derive(Debug, Default)]
struct Position {
    /// Where the last read ended.
    next: u64,
    /// Reads in a row.
    run: u32,
    /// What lies before this is read or being read.
    ahead: u64,
    window: u64,
}

impl Position {
    /// Takes note of a read; gives the bytes to be read ahead.
    fn follow(&mut self, range: &Range<u64>, missed: bool) -> Range<u64> {
        if range.start != self.next {
            *self = Position::default();
        }
        (self.next, self.run) = (range.end, self.run + 1);
        if self.run < SEQUENTIAL || !missed || self.ahead > range.end + self.window / 2 {
            return 0..0;
        }
        self.window = (self.window * 2).clamp(WINDOW.start, WINDOW.end);
        let from = self.ahead.max(range.end);
        self.ahead = range.end + self.window;
        from..self.ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sequential_reader_that_misses_is_followed() {
        let mut position = Position::default();
        assert_eq!(position.follow(&(0..4096), true), 0..0, "one read is no row");
        assert_eq!(position.follow(&(4096..8192), false), 0..0, "it is all there");
        assert_eq!(position.follow(&(8192..12288), true), 12288..12288 + (128 << 10));
        assert_eq!(position.follow(&(12288..16384), true), 0..0, "enough is on its way");
        let next = position.follow(&(16384..100_000), true);
        assert_eq!(next, 12288 + (128 << 10)..100_000 + (256 << 10));
        assert_eq!(position.follow(&(0..4096), true), 0..0, "it went back");
    }
}
