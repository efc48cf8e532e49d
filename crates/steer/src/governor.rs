//! How much of a control group's memory the policy may fill.
//!
//! Idea: the limit, less what cannot be dropped, less a slack for what is read ahead and for pages on their way out. If
//! the kernel has to reclaim, it takes pages that the policy holds, and the two disagree; so the slack grows at once
//! when it did, and shrinks slowly while it did not.

use serde::Serialize;

/// Nanoseconds without reclaim after which the slack shrinks.
const STILL: u64 = 20_000_000_000;
/// Reclaims from one reading to the next that are no sign: each takes some 32 pages.
const TOLERATED: u64 = 8;
/// The part of the limit that the slack begins with, and the largest it may take.
const FIRST: u64 = 32;
const MOST: u64 = 4;
/// The least slack in bytes, and the most that it begins with.
const LEAST: u64 = 2 << 20;
const BEGIN: u64 = 8 << 20;

/// What a control group says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Its limit in bytes, or that of a group around it; none if there is none.
    pub limit: Option<u64>,
    /// Bytes that reading files cannot push out: anonymous memory, shared memory, the kernel's own.
    pub fixed: u64,
    /// How often it ran into its limit; only differences count.
    pub reclaims: u64,
}

/// Bytes for the policy and for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Division {
    /// What the policy may hold.
    pub policy: u64,
    /// What the kernel alone would hold.
    pub kernel: u64,
    /// What is left between them.
    pub slack: u64,
}

/// Divides a group's memory, reading after reading.
#[derive(Clone, Debug)]
pub struct Governor {
    /// The most that the policy may hold, whatever there is.
    cap: Option<u64>,
    slack: Option<u64>,
    reclaims: u64,
    /// Since when nothing was reclaimed.
    still: u64,
}

impl Governor {
    /// One that gives the policy no more than `cap` bytes.
    pub fn new(cap: Option<u64>) -> Governor {
        Governor { cap, slack: None, reclaims: 0, still: 0 }
    }

    /// What is to be from `now` on, in nanoseconds; `None` where neither a limit nor a cap bounds it. Reclaim counts
    /// only while it is `expected` to be still: not while the kernel is alone, nor while what it kept is being dropped.
    pub fn divide(&mut self, now: u64, reading: &Reading, expected: bool) -> Option<Division> {
        let before = std::mem::replace(&mut self.reclaims, reading.reclaims);
        let moved = reading.reclaims.saturating_sub(before) > TOLERATED;
        let Some(limit) = reading.limit else {
            return self.cap.map(|cap| Division { policy: cap, kernel: cap, slack: 0 });
        };
        let first = (limit / FIRST).clamp(LEAST.min(limit / MOST), BEGIN);
        let slack = self.slack.get_or_insert(first);
        if !expected {
            self.still = now;
        } else if moved {
            *slack = (*slack + *slack / 2).min(limit / MOST);
            self.still = now;
        } else if now - self.still >= STILL {
            *slack = (*slack - *slack / 16).max(LEAST.min(first));
            self.still = now;
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

    fn reading(reclaims: u64) -> Reading {
        Reading { limit: Some(256 * MIB), fixed: 16 * MIB, reclaims }
    }

    #[test]
    fn the_slack_grows_until_reclaim_is_still_and_shrinks_slowly_back() {
        let mut governor = Governor::new(None);
        let first = governor.divide(0, &reading(7), true).unwrap();
        assert_eq!((first.kernel, first.slack), (240 * MIB, 8 * MIB), "few reclaims are no sign");
        let mut slacks = Vec::new();
        // It runs into its limit as long as the slack is below 30 MiB.
        let (mut reclaims, mut slack) = (7, first.slack);
        for second in 1..200 {
            reclaims += if slack < 30 * MIB { 20 } else { TOLERATED };
            let now = governor.divide(second * SECOND, &reading(reclaims), true).unwrap();
            assert_eq!(now.policy + now.slack, now.kernel);
            slack = now.slack;
            slacks.push(slack);
        }
        let grown = slacks.iter().position(|&slack| slack >= 30 * MIB).unwrap();
        assert!(grown <= 4, "{slacks:?}");
        let moves = slacks[grown..].windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((5..25).contains(&moves), "it tries less every 20 s, and takes it back: {slacks:?}");
        assert!(slacks[grown..].iter().all(|slack| (27 * MIB..64 * MIB).contains(slack)), "{slacks:?}");
    }

    #[test]
    fn reclaim_counts_only_when_it_is_expected_to_be_still() {
        let mut governor = Governor::new(None);
        let slacks: Vec<u64> = (0..50)
            .map(|second| governor.divide(second * SECOND, &reading(20 * second), false).unwrap().slack)
            .collect();
        assert_eq!(slacks, vec![8 * MIB; 50]);
    }

    #[test]
    fn a_cap_only_caps() {
        let mut governor = Governor::new(Some(100 * MIB));
        let division = governor.divide(0, &reading(0), true).unwrap();
        assert_eq!((division.policy, division.kernel), (100 * MIB, 240 * MIB));
        let unlimited = Reading { limit: None, ..reading(0) };
        assert_eq!(governor.divide(0, &unlimited, true).unwrap().policy, 100 * MIB);
        assert_eq!(Governor::new(None).divide(0, &unlimited, true), None);
        let full = Reading { fixed: 300 * MIB, ..reading(0) };
        assert_eq!(governor.divide(0, &full, true).unwrap().policy, 0);
    }
}
