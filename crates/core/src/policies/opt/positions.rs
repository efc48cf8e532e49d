//! A set of trace positions that gives its greatest member at once.
//!
//! A bitmap with a bit a position, over it a bitmap with a bit for each of its words that is not zero, and so on up to
//! a single word: a tree with 64 children a node. Inserting, removing and finding the greatest touch at most one word a
//! level, of which there are six for 2^32 positions, and all but the lowest level or two stay in the processor's cache.

use crate::parts::large;
use crate::parts::prefetch::prefetch;

/// A set of positions below a bound.
#[derive(Debug)]
pub struct Positions {
    /// `levels[0]` has a bit a position, the last level is one word.
    levels: Vec<Vec<u64>>,
}

impl Positions {
    /// An empty set of positions below `bound`.
    pub fn new(bound: usize) -> Positions {
        let mut levels = Vec::new();
        let mut words = bound;
        loop {
            words = words.div_ceil(64).max(1);
            levels.push(large::filled(0, words));
            if words == 1 {
                return Positions { levels };
            }
        }
    }

    /// Fetches the word of `position`.
    #[inline(always)]
    pub fn prefetch(&self, position: u32) {
        prefetch(&self.levels[0], position as usize / 64);
    }

    /// Adds `position`.
    #[inline(always)]
    pub fn insert(&mut self, position: u32) {
        let mut index = position as usize;
        for level in &mut self.levels {
            let word = &mut level[index / 64];
            let before = *word;
            *word |= 1 << (index % 64);
            if before != 0 {
                return;
            }
            index /= 64;
        }
    }

    /// Takes `position` out.
    #[inline(always)]
    pub fn remove(&mut self, position: u32) {
        let mut index = position as usize;
        for level in &mut self.levels {
            let word = &mut level[index / 64];
            *word &= !(1 << (index % 64));
            if *word != 0 {
                return;
            }
            index /= 64;
        }
    }

    /// The greatest position.
    #[inline(always)]
    pub fn greatest(&self) -> Option<u32> {
        let mut index = 0;
        for level in self.levels.iter().rev() {
            let word = level[index];
            if word == 0 {
                return None;
            }
            index = index * 64 + 63 - word.leading_zeros() as usize;
        }
        Some(index as u32)
    }

    /// True if `position` is in the set.
    pub fn contains(&self, position: u32) -> bool {
        self.levels[0][position as usize / 64] >> (position % 64) & 1 == 1
    }

    /// Counts the members.
    pub fn count(&self) -> usize {
        self.levels[0].iter().map(|word| word.count_ones() as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::random::Rng;

    #[test]
    fn does_what_a_sorted_set_does() {
        for bound in [1, 63, 64, 65, 4096, 4097, 300_000] {
            let (mut positions, mut model) = (Positions::new(bound as usize), BTreeSet::new());
            let mut random = Rng::new(1);
            for _ in 0..2000 {
                let position = random.below(bound);
                if random.below(3) == 0 {
                    positions.insert(position);
                    model.insert(position);
                } else {
                    let position = *model.range(position..).next().unwrap_or(&position);
                    positions.remove(position);
                    model.remove(&position);
                }
                assert_eq!(positions.greatest(), model.last().copied());
                assert_eq!(positions.contains(position), model.contains(&position));
            }
            assert_eq!(positions.count(), model.len());
        }
    }

    #[test]
    fn no_positions_at_all() {
        assert_eq!(Positions::new(0).greatest(), None);
    }
}
