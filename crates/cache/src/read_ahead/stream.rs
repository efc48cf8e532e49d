//! The reads through one open so far, and the read-ahead that they justify.
//!
//! A sequential reader starts with as much read-ahead as is worthwhile on a disk, or as its run has read. A reader that
//! then waits for read-ahead is faster than it, so its window grows to four times its run, up to the amount that keeps
//! the source busy ([`Pace`](crate::read_ahead::pace::Pace)). A reader that stops after a few reads has cost little,
//! and the window of one that is slower than the source does not grow beyond its need.
//!
//! Where the kernel reads ahead, too (`fast` mode), its reads come by several threads, and one may overtake the one
//! before it. That does not end the row.

use std::ops::Range;

use crate::os::sync::{Arc, Mutex, MutexGuard, PoisonError};
use crate::read_ahead::stride::Stride;

/// Bytes ahead of a reader: at first, and of one that never waits at most.
const WINDOW: Range<u64> = 128 << 10..1 << 20;

/// The window of a reader that waits for read-ahead, as a multiple of its run.
const GROWTH: u64 = 4;

/// Bytes that are read at once, at most, unless a single block has more.
pub(crate) const PART: u64 = 1 << 20;

/// Consecutive reads, each where the previous one ended, that make a reader sequential.
const SEQUENTIAL: u32 = 2;

/// Bytes that a read has skipped at most if it has overtaken the one before it.
const OVERTAKEN: u64 = 1 << 20;

/// How a read found what it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// In the cache.
    Cached,
    /// It was missing, and another reader had read it already.
    Ready,
    /// It had to be waited for.
    Late,
}

/// The reads through one open so far.
#[derive(Debug, Default)]
pub struct Stream(Mutex<(Position, Stride)>);

/// Bytes to be read ahead.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ahead {
    /// Behind a sequential reader.
    pub row: Range<u64>,
    /// Of one whose reads are always as far apart.
    pub apart: Vec<Range<u64>>,
}

impl Stream {
    fn lock(&self) -> MutexGuard<'_, (Position, Stride)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a read; returns the bytes to read ahead, no more than `most` of them ahead of it, and of strided reads
    /// `places` at most. A reader with read-ahead has a seat until it stops.
    pub(crate) fn follow(
        &self,
        range: &Range<u64>,
        found: Found,
        (most, places): (u64, u64),
        seats: &Arc<()>,
    ) -> Ahead {
        let (position, stride) = &mut *self.lock();
        let row = position.follow(range, found, most);
        match position.window {
            0 => position.seat = None,
            _ => drop(position.seat.get_or_insert_with(|| seats.clone())),
        }
        let apart = stride.follow(range, (found == Found::Late, found == Found::Cached), places, seats);
        Ahead { row, apart }
    }

    /// So many of the places that are apart could not be read ahead.
    pub(crate) fn give_back(&self, places: u64) {
        self.lock().1.give_back(places);
    }

    /// Places that are apart and read ahead, or were given to be, and not asked for yet.
    pub(crate) fn leaps(&self) -> u64 {
        self.lock().1.ahead()
    }

    /// Nothing could be read ahead from `place` on.
    pub(crate) fn stop_at(&self, place: u64) {
        let position = &mut self.lock().0;
        position.ahead = position.ahead.min(place);
    }

    /// The file ends at `size`: there is nothing to read ahead from there on, unless it grows.
    pub(crate) fn end_at(&self, size: u64) {
        let position = &mut self.lock().0;
        (position.end, position.ahead) = (size, position.ahead.min(size));
    }
}

#[derive(Debug)]
struct Position {
    /// Where the row began.
    first: u64,
    /// Where the last read ended.
    next: u64,
    /// Consecutive reads.
    run: u32,
    /// A read that has perhaps overtaken the one before it.
    early: Option<Range<u64>>,
    /// What lies before this is read or being read.
    ahead: u64,
    window: u64,
    /// Where the file ends, if that is near.
    end: u64,
    seat: Option<Arc<()>>,
}

impl Default for Position {
    fn default() -> Position {
        Position { first: 0, next: 0, run: 0, early: None, ahead: 0, window: 0, end: u64::MAX, seat: None }
    }
}

impl Position {
    /// Takes note of a read; gives the bytes to be read ahead.
    fn follow(&mut self, range: &Range<u64>, found: Found, most: u64) -> Range<u64> {
        if !self.goes_on(range) {
            return 0..0;
        }
        if self.next == self.end {
            self.window = 0;
            return 0..0;
        }
        if self.next > self.end {
            self.end = u64::MAX;
        }
        // A file that is resident as a whole needs no read-ahead.
        if self.run < SEQUENTIAL || (self.window == 0 && found == Found::Cached) {
            return 0..0;
        }
        let most = most.max(WINDOW.end);
        let is_followed = self.window > 0;
        if found == Found::Late {
            let times = if is_followed { GROWTH } else { 1 };
            self.window = self.window.max(times * (self.next - self.first));
        }
        self.window = self.window.min(most);
        let step = PART.min(self.window / 2);
        if self.ahead + step > self.next + self.window {
            return 0..0;
        }
        let more = if is_followed { 2 * self.window } else { self.window };
        self.window = self.window.max(more.clamp(WINDOW.start, WINDOW.end));
        let end = self.next + self.window;
        // In whole parts.
        let end = if self.window > 2 * PART { end / PART * PART } else { end };
        let from = self.ahead.max(self.next);
        self.ahead = end.min(self.end).max(from);
        from..self.ahead
    }

    /// True if the read goes on in the row, or begins another one; false if that is not certain yet.
    fn goes_on(&mut self, range: &Range<u64>) -> bool {
        let early = self.early.take();
        if range.start == self.next {
            let overtaken = early.filter(|early| early.start == range.end);
            self.run += 1 + u32::from(overtaken.is_some());
            self.next = overtaken.map_or(range.end, |early| early.end);
            return true;
        }
        let is_near = range.start > self.next && range.start - self.next <= OVERTAKEN;
        if early.is_none() && is_near && self.run >= SEQUENTIAL {
            self.early = Some(range.clone());
            return false;
        }
        let before = early.filter(|early| early.end == range.start);
        *self = Position {
            run: 1 + u32::from(before.is_some()),
            first: before.map_or(range.start, |early| early.start),
            next: range.end,
            ..Position::default()
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sequential_reader_that_misses_is_followed() {
        let mut position = Position::default();
        let mut follow = |range: Range<u64>, found| position.follow(&range, found, 0);
        assert_eq!(follow(0..4096, Found::Late), 0..0, "one read is not a run");
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
        assert_eq!(ahead(Found::Late, most), (256 << 10..512 << 10, 256 << 10), "as much as was read");
        // Four times three reads.
        assert_eq!(ahead(Found::Late, most).1, 1536 << 10);
        for _ in 0..20 {
            ahead(Found::Ready, most);
        }
        assert_eq!(ahead(Found::Ready, most).1, 1536 << 10, "it has enough");
        let (range, window) = ahead(Found::Late, most);
        assert_eq!(window, 4 * 25 * step);
        assert!(range.end.is_multiple_of(PART) && range.end - range.start > 8 * PART, "{range:?}");
        // In parts, as soon as one fits.
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
    fn a_read_that_overtakes_another_does_not_end_the_row() {
        let mut position = Position::default();
        let mut follow = |pages: Range<u64>| {
            let ahead = position.follow(&(pages.start * 4096..pages.end * 4096), Found::Late, 64 << 20);
            (ahead.start / 4096..ahead.end / 4096, position.first / 4096, position.next / 4096)
        };
        follow(0..32);
        assert_eq!(follow(32..64), (64..128, 0, 64));
        assert_eq!(follow(96..128), (0..0, 0, 64), "it may have overtaken another");
        assert_eq!(follow(64..96), (128..640, 0, 128), "it has: four times all of them is read ahead");
        assert_eq!(follow(160..192).1, 0);
        assert_eq!(follow(192..224).1, 160, "it has not: that is another row");
        assert_eq!((follow(256..288).1, follow(300..332).1), (160, 300), "and this one has not");
        follow(332..364);
        assert_eq!(follow(1000..1032).1, 1000, "so far ahead none is");
    }

    #[test]
    fn at_the_end_of_the_file_the_seat_is_free() {
        let (stream, seats) = (Stream::default(), Arc::new(()));
        let follow = |range, found| stream.follow(&range, found, (0, 0), &seats).row;
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
