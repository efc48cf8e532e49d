//! Reads through one open that are always as far apart, as of a column of a table or a plane of a volume, and how many
//! of the next ones are worth reading ahead.
//!
//! A reader that has made four reads of one length at one distance is likely to continue. As many of the next ones are
//! read ahead as its run has, as long as the reader waits for them; so a reader that stops has cost no more than it has
//! read. The bytes between them are not read.

use std::ops::Range;

use crate::os::sync::Arc;

/// Reads at the same distance that make a run, not counting the first.
const ROW: u64 = 3;

/// The reads so far.
#[derive(Debug, Default)]
pub(crate) struct Stride {
    last: Range<u64>,
    /// From the begin of one read to that of the next.
    step: i64,
    /// Reads at that distance, one after the other.
    row: u64,
    /// So many of the next ones are worth reading ahead, and so many are read or being read.
    window: u64,
    ahead: u64,
    seat: Option<Arc<()>>,
}

impl Stride {
    /// Records a read, for which the reader has waited if `is_late`; returns those to be read ahead, `most` of them at
    /// a time. Where all `is_cached`, no read-ahead is needed. A reader with read-ahead has a seat until it stops.
    pub fn follow(
        &mut self,
        range: &Range<u64>,
        (is_late, is_cached): (bool, bool),
        most: u64,
        seats: &Arc<()>,
    ) -> Vec<Range<u64>> {
        let length = range.end - range.start;
        let step = range.start.wrapping_sub(self.last.start) as i64;
        let is_alike = length == self.last.end - self.last.start && step.unsigned_abs() > length;
        if !is_alike || step != self.step {
            let (step, row) = if is_alike { (step, 1) } else { (0, 0) };
            *self = Stride { last: range.clone(), step, row, ..Stride::default() };
            return Vec::new();
        }
        (self.last, self.row, self.ahead) = (range.clone(), self.row + 1, self.ahead.saturating_sub(1));
        if self.row < ROW || (self.window == 0 && is_cached) {
            return Vec::new();
        }
        if is_late {
            self.window = (2 * self.window).max(ROW);
        }
        self.window = self.window.min(self.row).min(most);
        let from = self.ahead;
        self.ahead = from.max(self.window);
        let next = |place: u64| {
            let start = range.start.checked_add_signed(step.checked_mul(place as i64)?)?;
            Some(start..start.checked_add(length)?)
        };
        let ahead: Vec<_> = (from + 1..=self.ahead).map_while(next).collect();
        self.ahead = from + ahead.len() as u64;
        match self.window {
            0 => self.seat = None,
            _ => drop(self.seat.get_or_insert_with(|| seats.clone())),
        }
        ahead
    }

    /// So many of those that were given could not be read ahead.
    pub fn give_back(&mut self, left: u64) {
        self.ahead = self.ahead.saturating_sub(left);
    }

    /// So many were given and not asked for yet.
    pub fn ahead(&self) -> u64 {
        self.ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: (bool, bool) = (true, false);
    const READY: (bool, bool) = (false, false);
    const CACHED: (bool, bool) = (false, true);

    fn starts(ahead: Vec<Range<u64>>) -> Vec<u64> {
        assert!(ahead.iter().all(|range| range.end - range.start == 10));
        ahead.into_iter().map(|range| range.start).collect()
    }

    #[test]
    fn who_reads_at_one_distance_has_as_many_read_ahead_as_were_read() {
        let (mut stride, seats) = (Stride::default(), Arc::new(()));
        let mut follow = |start: u64, found| starts(stride.follow(&(start..start + 10), found, 8, &seats));
        for start in [500, 600, 700] {
            assert!(follow(start, LATE).is_empty());
        }
        assert_eq!(follow(800, LATE), [900, 1000, 1100]);
        assert_eq!(follow(900, READY), [1200], "it need not wait any more");
        assert_eq!(follow(1000, LATE), [1300, 1400, 1500], "no more than were read");
        for start in (1100..3000).step_by(100) {
            assert!(follow(start, LATE).into_iter().all(|ahead| ahead <= start + 800));
        }
        assert_eq!(Arc::strong_count(&seats), 2);
        assert!(follow(3050, LATE).is_empty(), "it is another distance");
        assert_eq!(Arc::strong_count(&seats), 1);
    }

    #[test]
    fn backwards_too_and_not_beyond_the_begin() {
        let (mut stride, seats) = (Stride::default(), Arc::new(()));
        let mut follow = |start: u64| starts(stride.follow(&(start..start + 10), LATE, 8, &seats));
        assert!([1000, 800].into_iter().all(|start| follow(start).is_empty()));
        assert!(follow(600).is_empty());
        assert_eq!(follow(400), [200, 0]);
    }

    #[test]
    fn others_have_nothing_read_ahead() {
        let seats = Arc::new(());
        let all_of = |places: &[u64], found| {
            let mut stride = Stride::default();
            places.iter().all(|&start| stride.follow(&(start..start + 10), found, 8, &seats).is_empty())
        };
        assert!(all_of(&[0, 10, 20, 30, 40, 50, 60], LATE), "in order");
        assert!(all_of(&[0, 5, 10, 15, 20, 25, 30], LATE), "over each other");
        assert!(all_of(&[7, 7, 7, 7, 7, 7, 7], LATE), "the same again");
        assert!(all_of(&[0, 100, 200, 301, 400, 500, 600, 701], LATE), "not quite");
        assert!(all_of(&[0, 100, 200, 300, 400, 500, 600], CACHED), "all of it is there");
        let mut stride = Stride::default();
        let lengths = [0..10, 100..110, 200..230, 300..310, 400..410, 500..520];
        assert!(lengths.iter().all(|range| stride.follow(range, LATE, 8, &seats).is_empty()));
        let mut stride = Stride::default();
        (0..4).for_each(|place| drop(stride.follow(&(100 * place..100 * place + 10), LATE, 8, &seats)));
        stride.give_back(2);
        assert_eq!(starts(stride.follow(&(400..410), READY, 8, &seats)), [500, 600, 700]);
    }
}
