//! Ranks in a queue: how many slots are younger than one, and which one has so many younger ones.
//!
//! Live entries of the ring are counted in runs, and the counts summed in a Fenwick tree: O(log entries) for a rank, a
//! search and a change.

use super::{Places, Queue, Weights};
use crate::policy::Slot;

/// Words of the live bits that are counted together.
const WORDS: usize = 8;
const RUN: usize = WORDS * 64;

/// How many entries are live in front of each run of the ring; nothing unless ranks are asked for.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    /// A Fenwick tree: at `i` stands the sum of as many runs, up to `i`, as its lowest bit says; the first element is
    /// not used.
    sums: Vec<u32>,
}

impl Ranks {
    fn of(live: &[u64]) -> Ranks {
        let mut sums = vec![0];
        sums.extend(live.chunks(WORDS).map(|run| run.iter().map(|word| word.count_ones()).sum::<u32>()));
        for at in 1..sums.len() {
            let above = at + (at & at.wrapping_neg());
            if above < sums.len() {
                sums[above] += sums[at];
            }
        }
        Ranks { sums }
    }

    pub fn are_counted(&self) -> bool {
        !self.sums.is_empty()
    }

    /// The entry at `index` of the ring becomes live, or dead.
    #[inline(always)]
    pub fn note(&mut self, index: usize, is_live: bool) {
        let mut at = index / RUN + 1;
        while at < self.sums.len() {
            self.sums[at] = if is_live { self.sums[at] + 1 } else { self.sums[at] - 1 };
            at += at & at.wrapping_neg();
        }
    }

    /// Live entries in the first `runs` runs.
    #[inline(always)]
    fn before(&self, runs: usize) -> u32 {
        let (mut at, mut sum) = (runs, 0);
        while at > 0 {
            sum += self.sums[at];
            at &= at - 1;
        }
        sum
    }

    /// The run with the live entry that has `count` others before it, and how many of them are in that run.
    #[inline(always)]
    fn find(&self, count: u32) -> (usize, u32) {
        let (mut at, mut left) = (0, count);
        let mut step = (self.sums.len() - 1).next_power_of_two();
        while step > 0 {
            if let Some(&sum) = self.sums.get(at + step).filter(|&&sum| sum <= left) {
                at += step;
                left -= sum;
            }
            step /= 2;
        }
        (at, left)
    }

    /// Panics unless these are the ranks of `live`.
    pub fn validate(&self, live: &[u64]) {
        assert!(!self.are_counted() || self.sums == Ranks::of(live).sums, "miscounted ranks");
    }
}

impl Queue {
    /// From now on ranks can be asked for. It costs O(log entries) at each change, and a little memory.
    pub fn count_ranks(&mut self) {
        self.ranks = Ranks::of(&self.live);
    }

    /// Slots in the queue that are younger than `slot`, which is in it. Ranks must be counted.
    #[inline(always)]
    pub fn rank(&self, places: &Places<impl Weights>, slot: Slot) -> u32 {
        debug_assert_eq!(places.tag(slot), self.tag);
        let (from, to) = (places.index(slot) + 1, self.index(self.young));
        let between = self.live_before(to).wrapping_sub(self.live_before(from));
        if from <= to { between } else { between.wrapping_add(self.len()) }
    }

    /// The slot that has `rank` younger ones in the queue, if there are so many. Ranks must be counted.
    #[inline(always)]
    pub fn at_rank(&self, rank: u32) -> Option<Slot> {
        if rank >= self.len() {
            return None;
        }
        let younger = self.live_before(self.index(self.young));
        let count = if rank < younger { younger } else { younger + self.len() } - 1 - rank;
        let (run, mut left) = self.ranks.find(count);
        for word in run * WORDS.. {
            let mut live = self.live[word];
            let ones = live.count_ones();
            if left < ones {
                (0..left).for_each(|_| live &= live - 1);
                return Some(self.ring[word * 64 + live.trailing_zeros() as usize]);
            }
            left -= ones;
        }
        None
    }

    /// Live entries of the ring in front of `index`.
    #[inline(always)]
    fn live_before(&self, index: usize) -> u32 {
        let words = index / RUN * WORDS..index / 64;
        let inside: u32 = self.live[words].iter().map(|word| word.count_ones()).sum();
        let rest = match index % 64 {
            0 => 0,
            bits => (self.live[index / 64] << (64 - bits)).count_ones(),
        };
        self.ranks.before(index / RUN) + inside + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_places_in_the_order() {
        for bound in [5, 3000] {
            let mut places = Places::new(bound);
            let mut queue = Queue::new(1, bound);
            queue.count_ranks();
            let mut order: Vec<Slot> = Vec::new();
            let mut random = crate::random::Rng::new(4);
            for round in 0..20_000 {
                let slot = random.below(bound);
                match order.iter().position(|&other| other == slot) {
                    Some(place) => {
                        order.remove(place);
                        if round % 3 > 0 {
                            queue.renew(&mut places, slot);
                            order.push(slot);
                        } else {
                            queue.take(&mut places, slot);
                        }
                    }
                    None => {
                        queue.push(&mut places, slot);
                        order.push(slot);
                    }
                }
                let rank = random.below(bound);
                let expected = order.iter().rev().nth(rank as usize).copied();
                assert_eq!(queue.at_rank(rank), expected);
                if let Some(slot) = expected {
                    assert_eq!(queue.rank(&places, slot), rank);
                }
            }
            queue.validate(&places);
        }
    }
}
