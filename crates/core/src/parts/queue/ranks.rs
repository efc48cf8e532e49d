//! Ranks in a queue: how many slots are younger than one, and which one has so many younger ones.
//!
//! Live entries are counted in runs, so that a rank is a sum over runs and a few words: O(entries / 4096).

use super::{Places, Queue};
use crate::policy::Slot;

/// Entries that are counted together for ranks: a power of two, at least 64.
pub(super) const RUN: usize = 1 << 12;

impl Queue {
    /// From now on ranks can be asked for. It costs a look at each change, and a little memory.
    pub fn count_ranks(&mut self) {
        let bits = |run: &[u64]| run.iter().map(|word| word.count_ones()).sum();
        self.counts = self.live.chunks(RUN / 64).map(bits).collect();
    }

    /// Slots in the queue that are younger than `slot`, which is in it. Ranks must be counted. O(entries / 4096).
    #[inline(always)]
    pub fn rank(&self, places: &Places, slot: Slot) -> u32 {
        debug_assert_eq!(places.tag(slot), self.tag);
        let (from, to) = (places.index(slot) + 1, self.index(self.young));
        if from <= to { self.count(from, to) } else { self.count(from, self.ring.len()) + self.count(0, to) }
    }

    /// The slot that has `rank` younger ones in the queue, if there are so many. Ranks must be counted. O(entries / 4096).
    #[inline(always)]
    pub fn at_rank(&self, rank: u32) -> Option<Slot> {
        if rank >= self.len {
            return None;
        }
        let to = self.index(self.young);
        self.find_back(0, to, rank).or_else(|rest| self.find_back(to, self.ring.len(), rest)).ok()
    }

    /// Live entries in `from..to` of the ring.
    #[inline(always)]
    fn count(&self, from: usize, to: usize) -> u32 {
        let (first, last) = (from.div_ceil(RUN), to / RUN);
        if first > last {
            return self.count_words(from, to);
        }
        let whole: u32 = self.counts[first..last].iter().sum();
        self.count_words(from, (first * RUN).min(to)) + whole + self.count_words((last * RUN).max(from), to)
    }

    /// The same by looking at every word.
    #[inline(always)]
    fn count_words(&self, from: usize, to: usize) -> u32 {
        if from >= to {
            return 0;
        }
        let (first, last) = (from / 64, (to - 1) / 64);
        let (head, tail) = (u64::MAX << (from % 64), u64::MAX >> (63 - (to - 1) % 64));
        if first == last {
            return (self.live[first] & head & tail).count_ones();
        }
        let inner: u32 = self.live[first + 1..last].iter().map(|word| word.count_ones()).sum();
        (self.live[first] & head).count_ones() + inner + (self.live[last] & tail).count_ones()
    }

    /// The live entry of `from..to` of the ring behind which `rank` others stand in it; else the rank that is left before `from`.
    #[inline(always)]
    fn find_back(&self, from: usize, to: usize, rank: u32) -> Result<Slot, u32> {
        let (mut end, mut left) = (to, rank);
        while end > from {
            let run = (end - 1) / RUN * RUN;
            let count = if end - run == RUN { self.counts[run / RUN] } else { self.count_words(run.max(from), end) };
            if run < from || left < count {
                return self.find_word_back(from.max(run), end, left);
            }
            left -= count;
            end = run;
        }
        Err(left)
    }

    fn find_word_back(&self, from: usize, to: usize, rank: u32) -> Result<Slot, u32> {
        let mut left = rank;
        let (first, last) = (from / 64, (to - 1) / 64);
        for word in (first..=last).rev() {
            let mut live = self.live[word];
            if word == last {
                live &= u64::MAX >> (63 - (to - 1) % 64);
            }
            if word == first {
                live &= u64::MAX << (from % 64);
            }
            let count = live.count_ones();
            if left < count {
                (0..left).for_each(|_| live &= !(1 << (63 - live.leading_zeros())));
                return Ok(self.ring[word * 64 + 63 - live.leading_zeros() as usize]);
            }
            left -= count;
        }
        Err(left)
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
            let mut random = crate::parts::random::Random::new(4);
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
