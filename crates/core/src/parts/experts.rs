//! Two experts who want to evict different blocks, and the weights by which one of them is heeded.

use crate::random::Rng;

/// A weight is at least this, as in the codes of LeCaR's and CACHEUS's authors.
pub const WEIGHT_LEAST: f64 = 0.01;

/// Weights of two experts; they sum to 1.
#[derive(Debug)]
pub struct TwoExperts {
    first: f64,
    random: Rng,
}

impl TwoExperts {
    /// Equal weights.
    pub fn new(seed: u64) -> TwoExperts {
        TwoExperts { first: 0.5, random: Rng::new(seed) }
    }

    /// Draws one by weight; true if it is the first.
    #[inline(always)]
    pub fn draw_first(&mut self) -> bool {
        self.random.unit() < self.first
    }

    /// One of them, the first if `first`, made a mistake: its weight falls to e^-`loss` of what it was, before both are
    /// made to sum to 1.
    #[inline(always)]
    pub fn blame(&mut self, first: bool, loss: f64) {
        let kept = (-loss).exp();
        let (one, other) = (self.first, 1.0 - self.first);
        let (one, other) = if first { (one * kept, other) } else { (one, other * kept) };
        self.first = (one / (one + other)).clamp(WEIGHT_LEAST, 1.0 - WEIGHT_LEAST);
    }

    /// Random numbers for other random choices.
    pub fn random(&mut self) -> &mut Rng {
        &mut self.random
    }

    /// Panics if a weight is out of its bounds.
    pub fn validate(&self) {
        assert!((WEIGHT_LEAST..=1.0 - WEIGHT_LEAST).contains(&self.first), "a weight is out of its bounds");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_lower_a_weight_to_its_bound() {
        let mut experts = TwoExperts::new(1);
        experts.blame(true, 2f64.ln());
        assert!((experts.first - 1.0 / 3.0).abs() < 1e-12);
        experts.blame(false, 2f64.ln());
        assert!((experts.first - 0.5).abs() < 1e-12);
        (0..100).for_each(|_| experts.blame(true, 1.0));
        assert_eq!(experts.first, WEIGHT_LEAST);
        let firsts = (0..10_000).filter(|_| experts.draw_first()).count();
        assert!((50..200).contains(&firsts), "{firsts} draws of 10000 at a weight of 1%");
    }
}
