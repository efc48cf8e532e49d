//! What was read through one open so far, and what is worth reading ahead of it.
//!
//! Idea: a reader in a row has at first as much read ahead as pays on a disk. One that then waits for what is on its
//! way is faster than what is read ahead for it, so more is, four times what it has read in the row, up to what keeps
//! the source busy ([`Pace`](crate::pace::Pace)). One that stops after a few reads has cost little, and one that is
//! slower than the source has no more read ahead than it needs.

use std::ops::Range;

use crate::sync::{Arc, Mutex, PoisonError};

/// Bytes ahead of a reader: at first, and of one that never waits at most.
const WINDOW: Range<u64> = 128 << 10..1 << 20;

/// What is read ahead of a reader that waits, in what it has read in the row.
const GROWTH: u64 = 4;

/// Bytes that are read at once, at most, unless a single block has more.
pub(crate) const PART: u64 = 1 << 20;

/// Reads in a row, each where the one before ended, that make a reader sequential.
const SEQUENTIAL: u32 = 2;

/// How a read found what it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// In the cache.
    Cached,
    /// It was missing, and somebody had read it already.
    Ready,
    /// It had to be waited for.
    Late,
}

/// What was read through one open so far.
#[derive(Debug, Default)]
pub struct Stream(Mutex<Position>);

impl Stream {
    /// Takes note of a read; gives the bytes to be read ahead, no more than `most` of them ahead of it. Who is read
    /// ahead for has a seat until it stops.
    pub(crate) fn follow(&self, range: &Range<u64>, found: Found, most: u64, seats: &Arc<()>) -> Range<u64> {
        let mut position = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ahead = position.follow(range, found, most);
        match position.window {
            0 => position.seat = None,
            _ => drop(position.seat.get_or_insert_with(|| seats.clone())),
        }
        ahead
    }

    /// Nothing could be read ahead from `place` on.
    pub(crate) fn stop_at(&self, place: u64) {
        let mut position = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        position.ahead = position.ahead.min(place);
    }

    /// The file ends at `size`: there is nothing to read ahead from there on, unless it grows.
    pub(crate) fn end_at(&self, size: u64) {
        let mut position = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (position.end, position.ahead) = (size, position.ahead.min(size));
    }
}

#[derive(Debug)]
struct Position {
    /// Where the row began.
    first: u64,
    /// Where the last read ended.
    next: u64,
    /// Reads in a row.
    run: u32,
    /// What lies before this is read or being read.
    ahead: u64,
    window: u64,
    /// Where the file ends, if that is near.
    end: u64,
    seat: Option<Arc<()>>,
}

impl Default for Position {
    fn default() -> Position {
        Position { first: 0, next: 0, run: 0, ahead: 0, window: 0, end: u64::MAX, seat: None }
    }
}

impl Position {
    /// Takes note of a read; gives the bytes to be read ahead.
    fn follow(&mut self, range: &Range<u64>, found: Found, most: u64) -> Range<u64> {
        if range.start != self.next {
            *self = Position { first: range.start, ..Position::default() };
        }
        (self.next, self.run) = (range.end, self.run + 1);
        if range.end == self.end {
            self.window = 0;
            return 0..0;
        }
        if range.end > self.end {
            self.end = u64::MAX;
        }
        // What is cached as a whole needs nobody who looks ahead.
        if self.run < SEQUENTIAL || (self.window == 0 && found == Found::Cached) {
            return 0..0;
        }
        let most = most.max(WINDOW.end);
        if self.window > 0 && found == Found::Late {
            self.window = self.window.max(GROWTH * (range.end - self.first));
        }
        self.window = self.window.min(most);
        let step = PART.min(self.window / 2);
        if self.ahead + step > range.end + self.window {
            return 0..0;
        }
        self.window = self.window.max((2 * self.window).clamp(WINDOW.start, WINDOW.end));
        let end = range.end + self.window;
        // In whole parts.
        let end = if self.window > 2 * PART { end / PART * PART } else { end };
        let from = self.ahead.max(range.end);
        self.ahead = end.min(self.end).max(from);
        from..self.ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sequential_reader_that_misses_is_followed() {
        let mut position = Position::default();
        let mut follow = |range: Range<u64>, found| position.follow(&range, found, 0);
        assert_eq!(follow(0..4096, Found::Late), 0..0, "one read is no row");
        assert_eq!(follow(4096..8192, Found::Cached), 0..0, "it is all there");
        assert_eq!(follow(8192..12288, Found::Late), 12288..12288 + (128 << 10));
        assert_eq!(follow(12288..16384, Found::Late), 0..0, "enough is on its way");
        let next = follow(16384..100_000, Found::Ready);
        assert_eq!(next, 12288 + (128 << 10)..100_000 + (256 << 10));
        assert_eq!(follow(0..4096, Found::Late), 0..0, "it went back");
    }

    #[test]
    fn a_reader_that_waits_has_more_read_ahead_up_to_what_the_source_can_bring() {
        let (mut position, most) = (Position::default(), 64 << 20);
        let (mut at, step) = (0, 128 << 10);
        let mut ahead = |found, most| {
            at += step;
            (position.follow(&(at - step..at), found, most), position.window)
        };
        ahead(Found::Late, most);
        assert_eq!(ahead(Found::Late, most), (256 << 10..(256 << 10) + (128 << 10), 128 << 10));
        // Four times three reads.
        assert_eq!(ahead(Found::Late, most).1, 1536 << 10);
        for _ in 0..20 {
            ahead(Found::Ready, most);
        }
        assert_eq!(ahead(Found::Ready, most).1, 1536 << 10, "it has enough");
        let (range, window) = ahead(Found::Late, most);
        assert_eq!(window, 4 * 25 * step);
        assert!(range.end.is_multiple_of(PART) && range.end - range.start > 8 * PART, "{range:?}");
        // In parts, as soon as there is room for one.
        let next: Vec<_> = (0..16).map(|_| ahead(Found::Ready, most).0).filter(|range| !range.is_empty()).collect();
        assert_eq!(next.len(), 2);
        assert!(next.iter().all(|range| range.end - range.start == PART), "{next:?}");
        for _ in 0..1000 {
            ahead(Found::Late, most);
        }
        assert_eq!(ahead(Found::Late, most).1, most);
        assert_eq!(ahead(Found::Late, 3 << 20).1, 3 << 20, "there are more readers now");
        assert_eq!(ahead(Found::Cached, 3 << 20).1, 3 << 20, "what lies behind may be missing");
    }

    #[test]
    fn at_the_end_of_the_file_the_seat_is_free() {
        let (stream, seats) = (Stream::default(), Arc::new(()));
        let follow = |range, found| stream.follow(&range, found, 0, &seats);
        follow(0..4096, Found::Late);
        assert!(!follow(4096..8192, Found::Late).is_empty());
        assert_eq!(Arc::strong_count(&seats), 2);
        stream.end_at(16384);
        follow(8192..12288, Found::Ready);
        assert_eq!(Arc::strong_count(&seats), 2);
        follow(12288..16384, Found::Ready);
        assert_eq!(Arc::strong_count(&seats), 1);
        assert_eq!(follow(16384..20480, Found::Late), 20480..20480 + (128 << 10), "it has grown");
    }
}
