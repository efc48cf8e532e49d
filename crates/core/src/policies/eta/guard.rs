//! Which shadow the memory follows, and when that changes.

/// The two policies that run as shadows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Clock,
    Eta,
}

/// Pages to exchange count as at least this share of the memory.
const LEAST: f64 = 0.06;
/// What CLOCK's shadow faults is worth this share to it while it leads, so that small advantages do not add up.
const DRIFT: f64 = 0.02;
/// Where the pages to exchange are more than this share of all its faults, a change has to pay so many times.
const LARGE: (f64, f64) = (0.05, 2.5);
/// The way back to CLOCK costs this share of the pages to exchange.
const BACK: f64 = 0.5;

/// The leader, and what the other shadow has saved.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) lead: Side,
    is_fixed: bool,
    /// Faults of the shadows of CLOCK and ETA since memory was first full.
    pub(super) faults: [u64; 2],
    /// Those of them that the last decision has seen.
    seen: [u64; 2],
    /// Faults that following the other shadow would have saved lately.
    gain: f64,
}

impl Guard {
    /// CLOCK leads, unless the word says `eta`; `both` lets the leader change.
    pub(super) fn new(word: &str) -> Guard {
        let lead = if word == "eta" { Side::Eta } else { Side::Clock };
        Guard { lead, is_fixed: word != "both", faults: [0; 2], seen: [0; 2], gain: 0.0 }
    }

    /// Memory is full for the first time.
    pub(super) fn begin(&mut self) {
        (self.faults, self.seen) = ([0; 2], [0; 2]);
    }

    /// Looks at the faults of both shadows since the last decision. `apart` are the pages that memory holds and each
    /// shadow does not. True if the leader changes.
    pub(super) fn decide(&mut self, frames: u32, apart: [u32; 2]) -> bool {
        let [clock, eta] = [0, 1].map(|side| (self.faults[side] - self.seen[side]) as f64);
        self.seen = self.faults;
        if self.is_fixed {
            return false;
        }
        let exchange = |side: Side| f64::from(apart[side as usize]).max(LEAST * f64::from(frames));
        let price = match self.lead {
            Side::Clock => {
                self.gain += clock - eta - DRIFT * clock;
                let is_large = f64::from(apart[Side::Eta as usize]) > LARGE.0 * self.faults[0] as f64;
                exchange(Side::Eta) * if is_large { LARGE.1 } else { 1.0 }
            }
            Side::Eta => {
                self.gain += eta - clock;
                exchange(Side::Clock) * BACK
            }
        };
        self.gain = self.gain.max(0.0);
        let changes = self.gain > price;
        if changes {
            self.gain = 0.0;
            self.lead = match self.lead {
                Side::Clock => Side::Eta,
                Side::Eta => Side::Clock,
            };
        }
        changes
    }
}
