//! Reads ahead of sweeps.

use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use crate::Region;

/// Consecutive new pages that make a sweep.
const RUN: usize = 8;
/// Pages that are read ahead of a new sweep.
pub(crate) const WINDOW: u32 = 16;
/// The most pages that are read ahead of one sweep.
const MOST: u32 = 256;
/// Sweeps that are followed at once.
const SWEEPS: usize = 8;
/// A sweep that has not moved for so long is over.
const PATIENCE: Duration = Duration::from_millis(200);

/// The sweeps that are followed. Each reads ahead until it has a window of untouched pages in front of it; the window
/// doubles when the program catches up.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    sweeps: Vec<Sweep>,
}

#[derive(Debug)]
struct Sweep {
    /// The page behind the last one that the program touched.
    front: u32,
    /// The page behind the last one that was read ahead.
    ahead: u32,
    /// The page behind the allocation.
    end: u32,
    window: u32,
    moved: Instant,
}

impl ReadAhead {
    /// True while a sweep is followed.
    pub(crate) fn is_active(&self) -> bool {
        !self.sweeps.is_empty()
    }

    /// Looks for new sweeps in sorted pages that faulted. `end_of` returns the page behind a page's allocation.
    pub(crate) fn find(&mut self, faults: &[u32], end_of: impl Fn(usize) -> Option<u32>) {
        let mut at = 0;
        for run in faults.chunk_by(|one, next| one + 1 == *next) {
            at += run.len();
            let front = run[run.len() - 1] + 1;
            let Some(end) = end_of(at - 1).filter(|&end| run.len() >= RUN && front < end) else { continue };
            let is_followed = self.sweeps.iter().any(|sweep| run[0] <= sweep.ahead && sweep.front <= front + MOST);
            if !is_followed && self.sweeps.len() < SWEEPS {
                self.sweeps.push(Sweep { front, ahead: front, end, window: WINDOW, moved: Instant::now() });
            }
        }
    }

    /// Follows all sweeps, none of which reads further ahead than `most` pages. Calls `read` with ranges that are read
    /// ahead. Returns the number of pages that the sweeps touched.
    pub(crate) fn step(&mut self, region: &mut Region, most: u32, mut read: impl FnMut(Range<u32>)) -> io::Result<u32> {
        let (mut touched, now) = (0, Instant::now());
        for sweep in &mut self.sweeps {
            let mut front = sweep.front;
            if sweep.front < sweep.ahead {
                region.touched(sweep.front..sweep.ahead, |run| front = front.max(run.end))?;
            }
            if front > sweep.front || sweep.ahead == sweep.front {
                touched += front - sweep.front;
                if front == sweep.ahead && sweep.ahead > sweep.front {
                    sweep.window = sweep.window.saturating_mul(2).min(MOST);
                }
                (sweep.front, sweep.moved) = (front, now);
                let target = front.saturating_add(sweep.window.min(most)).min(sweep.end);
                if sweep.ahead - front <= sweep.window / 2 && target > sweep.ahead {
                    region.read_ahead(sweep.ahead..target)?;
                    read(sweep.ahead..target);
                    sweep.ahead = target;
                }
            }
        }
        self.sweeps.retain(|sweep| sweep.front < sweep.end && now - sweep.moved < PATIENCE);
        Ok(touched)
    }

    /// Gives up sweeps in a range whose content is void.
    pub(crate) fn forget(&mut self, range: &Range<u32>) {
        self.sweeps.retain(|sweep| !range.contains(&(sweep.end - 1)));
    }
}
