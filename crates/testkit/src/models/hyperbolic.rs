//! Hyperbolic caching; the order of draws and of the table is that of the policy's file.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use hotset_core::random::Rng;

use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

#[derive(Clone, Copy)]
struct Block {
    key: u32,
    uses: u64,
    since: u64,
}

pub(super) struct Hyperbolic {
    capacity: usize,
    sample: usize,
    now: u64,
    random: Rng,
    blocks: Vec<Block>,
}

impl Model for Hyperbolic {
    fn new(given: &Given<'_>) -> Hyperbolic {
        let (capacity, sample) = (given.capacity, given.args.count("sample") as usize);
        Hyperbolic { capacity, sample, now: 0, random: Rng::new(given.seed), blocks: Vec::new() }
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        self.now += 1;
        if let Some(block) = self.blocks.iter_mut().find(|block| block.key == key) {
            block.uses += 1;
            return ModelStep::hit();
        }
        let evicted = (self.blocks.len() == self.capacity).then(|| self.evict());
        self.blocks.push(Block { key, uses: 1, since: self.now });
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        if let Some(at) = self.blocks.iter().position(|block| block.key == key) {
            self.blocks.swap_remove(at);
        }
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        let surplus = self.blocks.len().saturating_sub(capacity);
        (0..surplus).map(|_| self.evict()).collect()
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.blocks.iter().map(|block| block.key).collect()
    }
}

impl Hyperbolic {
    fn evict(&mut self) -> u32 {
        let len = self.blocks.len();
        let drawn: Vec<Block> = if len <= self.sample {
            self.blocks.clone()
        } else {
            (0..self.sample).map(|_| self.blocks[self.random.below(len as u32) as usize]).collect()
        };
        // The first of equals is the least that `min_by` gives.
        let victim = drawn.iter().min_by(|a, b| self.compare_worth(a, b)).expect("something is resident").key;
        self.remove(victim);
        victim
    }

    /// Compares uses / age. What came in just now is worth more than all else.
    fn compare_worth(&self, a: &Block, b: &Block) -> Ordering {
        (a.uses * (self.now - b.since)).cmp(&(b.uses * (self.now - a.since)))
    }
}
