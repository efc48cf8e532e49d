//! S3-FIFO as algorithm 1 of the paper states it, newest first, with the readings that the policy's file gives.

use std::collections::{BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};

use super::weights::Weights;
use crate::model::{Given, Model, ModelStep, share};

pub(super) struct S3Fifo {
    capacity: usize,
    args: Args,
    weights: Weights,
    has_evicted: bool,
    /// Block and hits.
    small: VecDeque<(u32, u32)>,
    main: VecDeque<(u32, u32)>,
    ghosts: VecDeque<u32>,
}

impl Model for S3Fifo {
    fn new(given: &Given<'_>) -> S3Fifo {
        S3Fifo {
            capacity: given.capacity,
            args: given.args.clone(),
            weights: Weights::default(),
            has_evicted: false,
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghosts: VecDeque::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let weight = self.weights.note(key, reference);
        if let Some((_, hits)) = self.small.iter_mut().chain(&mut self.main).find(|(block, _)| *block == key) {
            *hits = (*hits + 1).min(self.args.count("most") as u32);
            return ModelStep { evicted: self.resize(self.capacity), ..ModelStep::hit() };
        }
        let evicted = self.shrink_to(self.capacity - weight);
        if self.ghosts.contains(&key) {
            self.ghosts.retain(|&other| other != key);
            self.main.push_front((key, 0));
        } else if self.fills_main() {
            self.main.push_front((key, 0));
        } else {
            self.small.push_front((key, 0));
        }
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        self.small.retain(|&(block, _)| block != key);
        self.main.retain(|&(block, _)| block != key);
        self.ghosts.retain(|&block| block != key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        let evicted = self.shrink_to(capacity);
        self.trim_ghosts();
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.small.iter().chain(&self.main).map(|&(block, _)| block).collect()
    }
}

impl S3Fifo {
    fn share(&self, key: &str) -> usize {
        share(&self.args, key, self.capacity)
    }

    fn shrink_to(&mut self, total: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.weights.sum(&self.resident()) > total {
            evicted.push(self.evict());
        }
        evicted
    }

    fn small_len(&self) -> usize {
        self.weights.sum(self.small.iter().map(|(block, _)| block))
    }

    fn fills_main(&self) -> bool {
        let has_share = self.small_len() >= self.share("small").max(1);
        self.args.word("fill") == "main" && !self.has_evicted && has_share
    }

    fn trim_ghosts(&mut self) {
        while self.weights.sum(&self.ghosts) > self.share("ghost") {
            self.ghosts.pop_back();
        }
    }

    fn evict(&mut self) -> u32 {
        self.has_evicted = true;
        loop {
            if self.small_len() >= self.share("small").max(1) || self.main.is_empty() {
                let (block, hits) = self.small.pop_back().expect("one of the queues holds blocks");
                if u64::from(hits) < self.args.count("promote") {
                    self.ghosts.push_front(block);
                    self.trim_ghosts();
                    return block;
                }
                self.main.push_front((block, 0));
            } else {
                let (block, hits) = self.main.pop_back().expect("checked above");
                if hits == 0 {
                    return block;
                }
                self.main.push_front((block, hits - 1));
            }
        }
    }
}
