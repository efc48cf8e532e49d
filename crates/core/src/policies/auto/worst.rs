//! The worst blocks of those that were looked at for a victim: the next victim may be among them.

use crate::policy::Slot;

/// Those that are looked at again the next time.
const STAYING: usize = 16;
/// Neighbours of what left, which are looked at besides.
const BESIDE: usize = 2;

/// The lower, the sooner a block leaves: by index, and among equals the older is lower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(u64);

/// A block that may be evicted.
type Candidate = (Rank, Slot);

impl Rank {
    #[inline(always)]
    pub(super) fn new(index: f32, age: u32) -> Rank {
        Rank(u64::from(index.to_bits()) << 32 | u64::from(!age))
    }

    /// An index is at least 0, and such numbers are in the order of their bits.
    fn index(self) -> f32 {
        f32::from_bits((self.0 >> 32) as u32)
    }
}

/// The lowest candidates, the lowest first.
#[derive(Debug, Default)]
pub(super) struct Worst(Vec<Candidate>);

impl Worst {
    pub(super) fn new() -> Worst {
        Worst(Vec::with_capacity(STAYING + 1 + BESIDE))
    }

    /// Without candidates.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Puts them in order, as they rank by now. They mostly are.
    #[inline(always)]
    pub(super) fn rank_again(&mut self, rank: impl Fn(Slot) -> Rank) {
        for place in 0..self.0.len() {
            let slot = self.0[place].1;
            let candidate = (rank(slot), slot);
            let mut to = place;
            while to > 0 && candidate < self.0[to - 1] {
                self.0[to] = self.0[to - 1];
                to -= 1;
            }
            self.0[to] = candidate;
        }
        self.0.truncate(STAYING + 1);
    }

    /// False if a block of this index is better than all candidates of a full list.
    #[inline(always)]
    pub(super) fn may_hold(&self, index: f32) -> bool {
        self.0.get(STAYING).is_none_or(|last| index <= last.0.index())
    }

    /// Adds a candidate, unless the list is full of lower ones, or has it.
    #[inline(always)]
    pub(super) fn enter(&mut self, candidate: Candidate) {
        // Most that come in are among the better ones.
        let mut place = self.0.len();
        while place > 0 && self.0[place - 1] >= candidate {
            place -= 1;
        }
        if place <= STAYING && self.0.get(place) != Some(&candidate) {
            self.0.truncate(STAYING);
            self.0.insert(place, candidate);
        }
    }

    /// The lowest, and its index.
    pub(super) fn lowest(&self) -> (f32, Slot) {
        let (rank, slot) = self.0[0];
        (rank.index(), slot)
    }

    /// A block is to be looked at the next time, however it ranks.
    pub(super) fn look_at(&mut self, slot: Slot) {
        if self.0.iter().all(|candidate| candidate.1 != slot) {
            self.0.push((Rank::default(), slot));
        }
    }

    /// A block stops being a candidate.
    pub(super) fn leave(&mut self, slot: Slot) {
        if let Some(place) = self.0.iter().position(|candidate| candidate.1 == slot) {
            self.0.remove(place);
        }
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.0.iter().map(|candidate| candidate.1)
    }
}
