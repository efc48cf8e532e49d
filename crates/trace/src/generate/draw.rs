//! Random draws: numbers for the distributions of `rand_distr`, and ranks scattered over ids.

use std::convert::Infallible;

use hotset_core::random::Rng;
use rand::TryRng;
use rand_distr::{Distribution, Zipf};

/// The stream of random numbers that policies draw from too, as `rand` wants it.
pub(super) struct Dice(Rng);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(Rng::new(seed))
    }

    /// A number below `bound`, off from uniform by at most `bound` / 2^64.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 (included) to 1 (excluded).
    pub(super) fn unit(&mut self) -> f64 {
        self.0.unit()
    }
}

impl TryRng for Dice {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.0.bits() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.bits())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&self.0.bits().to_le_bytes()[..chunk.len()]));
        Ok(())
    }
}

/// Draws blocks by Zipf's law; which block has which rank is drawn, too.
pub(super) struct ZipfBlocks {
    ranks: Zipf<f64>,
    ids: Permutation,
}

impl ZipfBlocks {
    /// Of `count` blocks, at least 1, with an exponent that is not negative.
    pub(super) fn new(count: u64, skew: f64, seed: u64) -> ZipfBlocks {
        let ranks = Zipf::new(count as f64, skew).expect("parameters are checked against their limits");
        ZipfBlocks { ranks, ids: Permutation::new(count, seed) }
    }

    pub(super) fn draw(&self, dice: &mut Dice) -> u64 {
        let rank = self.ranks.sample(dice) as u64;
        self.ids.of((rank - 1).min(self.ids.count - 1))
    }
}

/// A permutation of the numbers below a count, drawn by a seed, without a table.
///
/// Rounds of multiplication by an odd number, addition and a shift, each of which permutes the numbers below a power of
/// two; a result outside the count is permuted again until it is inside (cycle walking), which takes fewer than two
/// rounds on average.
pub(super) struct Permutation {
    count: u64,
    bits: u32,
    keys: [(u64, u64); 4],
}

impl Permutation {
    pub(super) fn new(count: u64, seed: u64) -> Permutation {
        // Not the stream that the ranks are drawn from.
        let mut random = Rng::new(!seed);
        let bits = (u64::BITS - (count - 1).leading_zeros()).max(1);
        Permutation { count, bits, keys: std::array::from_fn(|_| (random.bits() | 1, random.bits())) }
    }

    pub(super) fn of(&self, number: u64) -> u64 {
        let mut number = number;
        loop {
            number = self.shuffle(number);
            if number < self.count {
                return number;
            }
        }
    }

    fn shuffle(&self, mut number: u64) -> u64 {
        let mask = u64::MAX >> (u64::BITS - self.bits);
        for (factor, summand) in self.keys {
            number = number.wrapping_mul(factor).wrapping_add(summand) & mask;
            number ^= number >> self.bits.div_ceil(2);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_meets_every_number_once_and_scatters_neighbours() {
        for count in [1, 2, 3, 7, 64, 1000, 4097] {
            let permutation = Permutation::new(count, 5);
            let mut met: Vec<u64> = (0..count).map(|number| permutation.of(number)).collect();
            let close = met.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) <= count / 100).count();
            assert!(count < 1000 || close < count as usize / 20, "{close} neighbours of {count} stay close");
            met.sort_unstable();
            assert!(met.iter().copied().eq(0..count), "{count}");
        }
        let differ = (0..1000).filter(|&n| Permutation::new(1000, 1).of(n) != Permutation::new(1000, 2).of(n)).count();
        assert!(differ > 950, "seeds differ");
    }
}
