//! Reads ahead of sweeps.

use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use crate::Region;

/// Consecutive new pages that make a sweep.
const RUN: usize = 8;
/// Pages that are read ahead of a new sweep.
const FIRST: u32 = 32;
/// The most pages that are read ahead of one sweep. A device of 500 MB/s takes 8 ms for them, which is longer than the
/// thread waits for a processor on a busy machine.
const MOST: u32 = 1024;
/// Sweeps that are followed at once. A new one takes the place of the one that has not moved for longest.
const SWEEPS: usize = 16;
/// A sweep that has not moved for so long needs no attention.
const PATIENCE: Duration = Duration::from_millis(200);
/// A sweep that has not moved for so long is over.
const END: Duration = Duration::from_secs(5);

/// The sweeps that are followed, upwards or downwards through an allocation. Each reads ahead until it has a window of
/// untouched pages in front of it; the window doubles when the program catches up. A sweep that has reached the end of
/// its allocation is expected to begin again.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    sweeps: Vec<Sweep>,
}

/// A sweep. Its positions count in its own direction from the begin of the allocation: those of a sweep downwards are
/// mirrored.
#[derive(Debug)]
struct Sweep {
    pages: Range<u32>,
    is_down: bool,
    /// Where it began.
    began: u32,
    /// The position behind the last page that the program touched.
    front: u32,
    /// The position behind the last page that was read ahead.
    ahead: u32,
    window: u32,
    /// Pages that were not in memory when they were read ahead, since it began.
    read: u32,
    moved: Instant,
}

impl Sweep {
    /// Turns a range of pages into positions, and back.
    fn mirrored(&self, range: Range<u32>) -> Range<u32> {
        let sum = self.pages.start + self.pages.end;
        if self.is_down { sum - range.end..sum - range.start } else { range }
    }

    fn widen(&mut self, most: u32) {
        self.window = self.window.saturating_mul(2).min(MOST).min(most.max(FIRST));
    }

    /// Goes to `front`. The next page that is read ahead is there, or behind.
    fn advance(&mut self, front: u32, now: Instant) {
        (self.front, self.ahead, self.moved) = (front, self.ahead.max(front), now);
    }
}

impl ReadAhead {
    /// True while a sweep moves.
    pub(crate) fn is_active(&self) -> bool {
        self.sweeps.iter().any(|sweep| sweep.moved.elapsed() < PATIENCE)
    }

    /// Looks for sweeps in sorted pages that faulted. `pages_of` returns the pages of the allocation of a fault, by its
    /// place among the faults; `is_away` is true of a page out of memory.
    pub(crate) fn find(
        &mut self,
        faults: &[u32],
        most: u32,
        pages_of: impl Fn(usize) -> Option<Range<u32>>,
        is_away: impl Fn(u32) -> bool,
    ) {
        let (mut at, now) = (0, Instant::now());
        for run in faults.chunk_by(|one, next| one + 1 == *next) {
            at += run.len();
            let Some(pages) = pages_of(at - 1).filter(|_| run.len() >= RUN) else { continue };
            let touched = run[0].max(pages.start)..run[run.len() - 1] + 1;
            let is_up = touched.end < pages.end && is_away(touched.end);
            let is_down = !is_up && touched.start > pages.start && is_away(touched.start - 1);
            if self.overtakes(&touched, most, now) || !(is_up || is_down) {
                continue;
            }
            let mut sweep = Sweep { pages, is_down, began: 0, front: 0, ahead: 0, window: FIRST, read: 0, moved: now };
            let own = sweep.mirrored(touched);
            sweep.began = own.start;
            sweep.advance(own.end, now);
            if self.sweeps.len() == SWEEPS {
                let oldest = (0..SWEEPS).min_by_key(|&place| self.sweeps[place].moved).unwrap_or(0);
                self.sweeps.swap_remove(oldest);
            }
            self.sweeps.push(sweep);
        }
    }

    /// True if a sweep that is followed touched these pages, which were not read ahead in time.
    fn overtakes(&mut self, touched: &Range<u32>, most: u32, now: Instant) -> bool {
        let is_near = |sweep: &&mut Sweep| {
            // The sweep may be of an allocation that was freed.
            let is_within = sweep.pages.start <= touched.start && touched.end <= sweep.pages.end;
            is_within && {
                let own = sweep.mirrored(touched.clone());
                own.start <= sweep.ahead + MOST && sweep.front <= own.end + MOST
            }
        };
        let Some(sweep) = self.sweeps.iter_mut().find(is_near) else { return false };
        let own = sweep.mirrored(touched.clone());
        if own.end > sweep.ahead {
            sweep.advance(own.end, now);
            sweep.widen(most);
        }
        true
    }

    /// Follows all sweeps, none of which reads further ahead than `most` pages. Calls `read` with ranges that are read
    /// ahead, which returns how many pages of them were not in memory. Returns the number of pages that sweeps touched.
    pub(crate) fn step(
        &mut self,
        region: &mut Region,
        most: u32,
        mut read: impl FnMut(Range<u32>) -> u32,
    ) -> io::Result<u32> {
        let (mut touched, now) = (0, Instant::now());
        for sweep in &mut self.sweeps {
            let mut front = sweep.front;
            if sweep.front < sweep.ahead {
                let range = sweep.mirrored(sweep.front..sweep.ahead);
                region.touched(range, |run| front = front.max(sweep.mirrored(run).end))?;
            }
            if front == sweep.front && sweep.ahead > front {
                continue;
            }
            touched += front - sweep.front;
            // Pages that were in memory anyway do not show that the program is fast.
            if front == sweep.ahead && sweep.read > 0 && front > sweep.front {
                sweep.widen(most);
            }
            sweep.advance(front, now);
            if front >= sweep.pages.end && sweep.read > 0 && front - sweep.began >= sweep.pages.len() as u32 / 2 {
                let begin = sweep.pages.start;
                (sweep.began, sweep.front, sweep.ahead, sweep.read) = (begin, begin, begin, 0);
                sweep.window = FIRST;
            }
            let target = sweep.front.saturating_add(sweep.window).min(sweep.pages.end);
            if sweep.ahead - sweep.front <= sweep.window / 2 && target > sweep.ahead {
                let range = sweep.mirrored(sweep.ahead..target);
                region.read_ahead(range.clone())?;
                sweep.read += read(range);
                sweep.ahead = target;
            }
        }
        self.sweeps.retain(|sweep| sweep.front < sweep.pages.end && now - sweep.moved < END);
        Ok(touched)
    }

    /// Gives up sweeps in a range whose content is void.
    pub(crate) fn forget(&mut self, range: &Range<u32>) {
        self.sweeps.retain(|sweep| !range.contains(&(sweep.pages.end - 1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds sweeps in `faults`, of allocations of 1,000 pages; pages from `away` are out of memory.
    fn found(read_ahead: &mut ReadAhead, faults: Range<u32>, away: Range<u32>) {
        let faults: Vec<u32> = faults.collect();
        let pages_of = |at: usize| Some(faults[at] / 1000 * 1000..(faults[at] / 1000 + 1) * 1000);
        read_ahead.find(&faults, MOST, pages_of, |page| away.contains(&page));
    }

    #[test]
    fn sweeps_go_where_pages_are_away() {
        let mut all = ReadAhead::default();
        found(&mut all, 5010..5020, 5020..6000);
        found(&mut all, 4010..4020, 4000..4010);
        // Nothing is left to read, or the run is short.
        found(&mut all, 3010..3020, 0..0);
        found(&mut all, 2010..2017, 2017..3000);
        let fronts: Vec<_> = all.sweeps.iter().map(|it| (it.mirrored(it.front..it.front + 1), it.is_down)).collect();
        assert_eq!(fronts, [(5020..5021, false), (4009..4010, true)]);
    }

    #[test]
    fn a_sweep_that_overtakes_is_followed_further() {
        let mut all = ReadAhead::default();
        found(&mut all, 4510..4520, 4000..4510);
        found(&mut all, 4490..4500, 4000..4490);
        // Of other allocations, above and below.
        found(&mut all, 9000..9010, 9010..9100);
        found(&mut all, 10..20, 20..30);
        let downwards = &all.sweeps[0];
        assert_eq!((all.sweeps.len(), downwards.mirrored(downwards.front..downwards.front + 1)), (3, 4489..4490));
        assert_eq!(downwards.window, 2 * FIRST);
    }

    #[test]
    fn the_sweep_that_stands_longest_gives_way() {
        let mut all = ReadAhead::default();
        for object in 0..SWEEPS as u32 + 1 {
            found(&mut all, object * 1000..object * 1000 + 10, 0..100_000);
        }
        assert_eq!(all.sweeps.len(), SWEEPS);
        assert!(all.sweeps.iter().all(|sweep| sweep.pages.start > 0));
    }
}
