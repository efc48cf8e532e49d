//! What LRU would hit at every size, learnt from a sample of the references of one application.
//!
//! Paper: the utility monitors of Qureshi, Patt, "Utility-based cache partitioning", MICRO 2006, with blocks sampled by
//! hash instead of sets (Waldspurger and others, "Efficient MRC construction with SHARDS", FAST 2015): a fixed part of
//! all blocks, in a stack that is shorter by the same factor.

use std::collections::HashMap;

use crate::parts::queue::{Places, Queue};
use crate::random::mix;

/// Blocks that the stack of a monitor holds at most.
const STACK: u32 = 2048;

/// Sizes that are distinguished at most.
pub const STEPS: u32 = 128;

/// A stack of sampled blocks, and hits by depth.
#[derive(Debug)]
pub struct Monitor {
    /// Blocks whose hash ends in so many zeros are sampled.
    shift: u32,
    depth: u32,
    places: Places,
    stack: Queue,
    /// By number in the stack: the block.
    blocks: Vec<u64>,
    numbers: HashMap<u64, u32>,
    /// Hits by depth, in steps of the whole depth.
    hits: Vec<f64>,
    /// Sampled references.
    references: f64,
}

impl Monitor {
    /// Watches sizes up to `capacity` blocks.
    pub fn new(capacity: u32) -> Monitor {
        let shift = (0..32).find(|shift| capacity >> shift <= STACK).unwrap_or(31);
        let depth = (capacity >> shift).max(1);
        let mut stack = Queue::new(0, depth);
        stack.count_ranks();
        Monitor {
            shift,
            depth,
            places: Places::new(depth),
            stack,
            blocks: Vec::with_capacity(depth as usize),
            numbers: HashMap::with_capacity(depth as usize),
            hits: vec![0.0; STEPS.min(depth) as usize],
            references: 0.0,
        }
    }

    /// Sizes that are distinguished.
    pub fn steps(&self) -> usize {
        self.hits.len()
    }

    /// The application refers to `block` of `file`.
    #[inline(always)]
    pub fn note(&mut self, file: u32, block: u32) {
        let key = u64::from(file) << 32 | u64::from(block);
        if mix(key).trailing_zeros() >= self.shift {
            self.refer(key);
        }
    }

    fn refer(&mut self, key: u64) {
        self.references += 1.0;
        if let Some(&number) = self.numbers.get(&key) {
            let depth = u64::from(self.stack.rank(&self.places, number));
            let step = depth * self.hits.len() as u64 / u64::from(self.depth);
            self.hits[step as usize] += 1.0;
            self.stack.renew(&mut self.places, number);
            return;
        }
        let number = if self.stack.len() < self.depth {
            self.blocks.push(key);
            self.blocks.len() as u32 - 1
        } else {
            let number = self.stack.pop_oldest(&mut self.places).expect("the stack is full");
            self.numbers.remove(&self.blocks[number as usize]);
            self.blocks[number as usize] = key;
            number
        };
        self.numbers.insert(key, number);
        self.stack.push(&mut self.places, number);
    }

    /// Hits with 0, 1, … steps of room.
    pub fn utility(&self) -> Vec<f64> {
        let add = |sum: &mut f64, hits: &f64| {
            *sum += hits;
            Some(*sum)
        };
        let scale = f64::from(1u32 << self.shift.min(31));
        std::iter::once(0.0).chain(self.hits.iter().scan(0.0, add)).map(|hits| hits * scale).collect()
    }

    /// Blocks, ascending, and the share in percent of the references that LRU would have hit with so many. Nothing as
    /// long as fewer references were sampled than sizes are distinguished.
    pub fn rates(&self) -> Vec<(u32, f64)> {
        let steps = self.hits.len();
        if self.references < steps as f64 {
            return Vec::new();
        }
        let blocks =
            |step: usize| (((step as u64 * u64::from(self.depth)).div_ceil(steps as u64)) << self.shift) as u32;
        let mut sum = 0.0;
        let rate = |(index, hits): (usize, &f64)| {
            sum += hits;
            (blocks(index + 1), 100.0 * sum / self.references)
        };
        self.hits.iter().enumerate().map(rate).collect()
    }

    /// Older references count half from now on.
    pub fn age(&mut self) {
        self.references /= 2.0;
        self.hits.iter_mut().for_each(|hits| *hits /= 2.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    /// The stack by the book.
    fn hits_of(trace: &[u32], sizes: usize) -> Vec<f64> {
        let mut stack: Vec<u32> = Vec::new();
        let mut hits = vec![0.0; sizes + 1];
        for &block in trace {
            if let Some(depth) = stack.iter().position(|&other| other == block) {
                stack.remove(depth);
                hits.iter_mut().skip(depth + 1).for_each(|hits| *hits += 1.0);
            }
            stack.insert(0, block);
        }
        hits
    }

    #[test]
    fn unsampled_it_is_the_stack_itself() {
        let mut random = Rng::new(5);
        let trace: Vec<u32> = (0..3000).map(|_| random.below(60).min(random.below(60))).collect();
        let mut monitor = Monitor::new(40);
        trace.iter().for_each(|&block| monitor.note(0, block));
        assert_eq!(monitor.utility(), hits_of(&trace, 40));
        let rates: Vec<(u32, f64)> = (1..).zip(hits_of(&trace, 40)[1..].iter().map(|hits| hits / 30.0)).collect();
        for (one, other) in monitor.rates().iter().zip(&rates) {
            assert!(one.0 == other.0 && (one.1 - other.1).abs() < 1e-9, "{one:?} {other:?}");
        }
        assert_eq!((monitor.rates().len(), Monitor::new(40).rates().len()), (40, 0));
        monitor.age();
        assert_eq!(monitor.utility()[40], hits_of(&trace, 40)[40] / 2.0);
    }

    #[test]
    fn a_sample_comes_close() {
        let mut random = Rng::new(6);
        let mut monitor = Monitor::new(16_000);
        let trace: Vec<u32> = (0..200_000).map(|_| random.below(20_000).min(random.below(20_000))).collect();
        trace.iter().for_each(|&block| monitor.note(7, block));
        let utility = monitor.utility();
        assert_eq!(utility.len(), 129);
        let half = utility[64] / trace.len() as f64;
        // Of a triangular density the most popular 40 % are referenced 64 % of the time; LRU reaches a little less.
        assert!((0.50..0.66).contains(&half), "{half}");
        assert!(utility.is_sorted());
        let rates = monitor.rates();
        assert_eq!((rates.len(), rates[127].0), (128, 16_000));
        assert!((rates[63].1 / 100.0 - half).abs() < 0.02, "{:?} {half}", rates[63]);
    }
}
