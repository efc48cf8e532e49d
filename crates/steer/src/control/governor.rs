//! How much of a control group's memory the policy may fill.
//!
//! The policy's quota is the limit, less the pages that cannot be dropped, less a slack for read-ahead and for pages
//! that are being dropped. Where the slack is too small, the kernel reclaims pages that the policy holds, and they have
//! to be read again; where it is too large, the policy holds fewer. So the slack grows while the kernel reclaims more
//! than a small part of the reads, by half of itself until that suffices for the first time, then by small steps, and
//! shrinks by small steps while the kernel reclaims little. Reclaim is not a sufficient sign: unused read-ahead may be
//! reclaimed.

use serde::Serialize;

use crate::kernel::cgroup::Reading;

/// After so many nanoseconds in which little was taken the slack shrinks.
const STILL: u64 = 5_000_000_000;
/// Of so many pages that are read the kernel may take one that the policy holds, and so many at any rate.
const READ_PER_TAKEN: u64 = 20;
const TOLERATED: u64 = 256;
/// The part of the limit that the slack begins with, and the largest it may take.
const FIRST: u64 = 32;
const MOST: u64 = 4;
/// The parts of itself that the slack grows by, at first and later, and shrinks by.
const LEAP: u64 = 2;
const STEP: u64 = 16;
/// The least slack in bytes, and the most that it begins with.
const LEAST: u64 = 2 << 20;
const BEGIN: u64 = 8 << 20;

/// Pages that have come and gone since the beginning; only differences count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Pages that were read into the page cache.
    pub read: u64,
    /// Pages that the kernel took though the policy held them.
    pub taken: u64,
}

/// Bytes for the policy and for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Division {
    /// The quota of the policy.
    pub policy: u64,
    /// The pages that the kernel would hold without steering.
    pub kernel: u64,
    /// The reserve between them.
    pub slack: u64,
}

/// Divides a group's memory, reading after reading.
#[derive(Clone, Debug)]
pub struct Governor {
    /// The most that the policy may hold, whatever there is.
    cap: Option<u64>,
    slack: Option<u64>,
    before: Moved,
    /// Since when little was taken.
    still: u64,
    /// It was enough once.
    was_enough: bool,
}

impl Governor {
    /// One that gives the policy no more than `cap` bytes.
    pub fn new(cap: Option<u64>) -> Governor {
        Governor { cap, slack: None, before: Moved::default(), still: 0, was_enough: false }
    }

    /// Computes the quotas from `now` on, in nanoseconds; `None` where neither a limit nor a cap bounds them. `moved`
    /// counts only while the two are `expected` to agree: not while the kernel is not steered, nor while its pages are
    /// being dropped.
    pub fn divide(&mut self, now: u64, reading: &Reading, moved: Moved, expected: bool) -> Option<Division> {
        let before = std::mem::replace(&mut self.before, moved);
        let (read, taken) = (moved.read - before.read, moved.taken - before.taken);
        let is_short = taken > TOLERATED.max(read / READ_PER_TAKEN);
        let Some(limit) = reading.limit else {
            return self.cap.map(|cap| Division { policy: cap, kernel: cap, slack: 0 });
        };
        let first = (limit / FIRST).clamp(LEAST.min(limit / MOST), BEGIN);
        let slack = self.slack.get_or_insert(first);
        if !expected {
            self.still = now;
        } else if is_short {
            let part = if self.was_enough { STEP } else { LEAP };
            *slack = (*slack + *slack / part).min(limit / MOST);
            self.still = now;
        } else if now - self.still >= STILL {
            *slack = (*slack - *slack / STEP).max(LEAST.min(first));
            self.still = now;
            self.was_enough = true;
        }
        let kernel = limit.saturating_sub(reading.fixed);
        let policy = kernel.saturating_sub(*slack).min(self.cap.unwrap_or(u64::MAX));
        Some(Division { policy, kernel, slack: *slack })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const SECOND: u64 = 1_000_000_000;

    const READING: Reading = Reading { limit: Some(256 * MIB), fixed: 16 * MIB };

    /// After so many seconds, in each of which 10,000 pages were read.
    fn moved(seconds: u64, taken: u64) -> Moved {
        Moved { read: 10_000 * seconds, taken }
    }

    #[test]
    fn the_slack_leaps_until_the_kernel_takes_little_and_then_stays_about_there() {
        let mut governor = Governor::new(None);
        let first = governor.divide(0, &READING, moved(0, 0), true).unwrap();
        assert_eq!((first.kernel, first.slack), (240 * MIB, 8 * MIB));
        let mut slacks = Vec::new();
        // The kernel takes what the policy holds as long as the slack is below 30 MiB.
        let (mut taken, mut slack) = (0, first.slack);
        for second in 1..200 {
            taken += if slack < 30 * MIB { 501 } else { 500 };
            let now = governor.divide(second * SECOND, &READING, moved(second, taken), true).unwrap();
            assert_eq!(now.policy + now.slack, now.kernel);
            slack = now.slack;
            slacks.push(slack);
        }
        let grown = slacks.iter().position(|&slack| slack >= 30 * MIB).unwrap();
        assert!(grown <= 4, "{slacks:?}");
        let moves = slacks[grown..].windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((30..70).contains(&moves), "it tries less after 5 s, and takes it back: {slacks:?}");
        assert!(slacks[grown..].iter().all(|slack| (28 * MIB..43 * MIB).contains(slack)), "{slacks:?}");
        assert!(slacks[grown + 40..].iter().all(|slack| *slack < 33 * MIB), "{slacks:?}");
    }

    #[test]
    fn what_is_taken_counts_only_when_the_two_are_expected_to_agree() {
        let mut governor = Governor::new(None);
        let slacks: Vec<u64> = (0..50)
            .map(|second| {
                governor.divide(second * SECOND, &READING, moved(second, 9000 * second), false).unwrap().slack
            })
            .collect();
        assert_eq!(slacks, vec![8 * MIB; 50]);
    }

    #[test]
    fn few_pages_are_no_sign_however_little_is_read() {
        let mut governor = Governor::new(None);
        let mut slack = |second, taken| {
            let moved = Moved { read: second, taken };
            governor.divide(second * SECOND, &READING, moved, true).unwrap().slack
        };
        assert_eq!(
            [slack(1, TOLERATED), slack(2, 2 * TOLERATED), slack(3, 3 * TOLERATED + 1)],
            [8, 8, 12].map(|mib| mib * MIB)
        );
    }

    #[test]
    fn a_cap_only_caps() {
        let mut governor = Governor::new(Some(100 * MIB));
        let divide = |governor: &mut Governor, reading: &Reading| governor.divide(0, reading, Moved::default(), true);
        let division = divide(&mut governor, &READING).unwrap();
        assert_eq!((division.policy, division.kernel), (100 * MIB, 240 * MIB));
        let unlimited = Reading { limit: None, ..READING };
        assert_eq!(divide(&mut governor, &unlimited).unwrap().policy, 100 * MIB);
        assert_eq!(divide(&mut Governor::new(None), &unlimited), None);
        let full = Reading { fixed: 300 * MIB, ..READING };
        assert_eq!(divide(&mut governor, &full).unwrap().policy, 0);
    }
}
