//! The value of a block in a shadow: as many hits a unit of time as its loop comes round, so the more
//! the shorter that takes.

use super::AREAS;
use crate::policy::Slot;

/// How much of a mean the newest period makes.
const NEWEST: f64 = 1.0 / 16.0;

/// The loops that the shadows see.
#[derive(Debug)]
pub(super) struct Periods {
    /// When each slot was referenced last.
    last: Vec<u64>,
    /// References from one use of a block that the shadow of an area remembers to the next, on average; 0 before the
    /// first.
    mean: [f64; AREAS],
    /// Fractions of a block that each area is still to get.
    owed: [f64; AREAS],
}

impl Periods {
    pub fn new(slots: u32) -> Periods {
        Periods { last: vec![0; slots as usize], mean: [0.0; AREAS], owed: [0.0; AREAS] }
    }

    pub fn grow(&mut self, slots: u32) {
        self.last.resize(self.last.len().max(slots as usize), 0);
    }

    /// The block in `slot` is referenced.
    #[inline(always)]
    pub fn note(&mut self, slot: Slot, time: u64) {
        self.last[slot as usize] = time;
    }

    /// The shadow of `area` remembers the block in `slot`, which is referenced: the whole blocks that this is
    /// worth. The area with the shortest loop gets `step` of them, others as much less as their loops take longer.
    pub fn worth(&mut self, area: usize, slot: Slot, time: u64, step: u32) -> u32 {
        let period = time.saturating_sub(self.last[slot as usize]).max(1) as f64;
        let mean = &mut self.mean[area];
        *mean = if *mean == 0.0 { period } else { *mean + (period - *mean) * NEWEST };
        let known = self.mean.iter().filter(|&&mean| mean > 0.0);
        let shortest = known.fold(f64::INFINITY, |least, &mean| least.min(mean));
        let owed = self.owed[area] + f64::from(step) * shortest / self.mean[area];
        self.owed[area] = owed.fract();
        owed as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_takes_four_times_as_long_is_worth_a_quarter() {
        let mut periods = Periods::new(2);
        assert_eq!(periods.worth(0, 0, 10, 3), 3);
        // Its mean is 40 from its first period on, that of the other area 10.
        let worth: Vec<u32> = (0..8).map(|_| periods.worth(1, 1, 40, 1)).collect();
        assert_eq!(worth, [0, 0, 0, 1, 0, 0, 0, 1]);
        // Now the second area's loop is the shorter one.
        for _ in 0..200 {
            periods.worth(1, 1, 5, 1);
        }
        assert_eq!((periods.worth(1, 1, 5, 1), periods.worth(0, 0, 10, 1)), (1, 0));
    }
}
