//! SLRU: two LRU lists, most recent first; the protected one overflows into probation.

use std::collections::{BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};

use super::weights::Weights;
use crate::model::{Given, Model, ModelStep, share};

pub(super) struct Slru {
    capacity: usize,
    args: Args,
    weights: Weights,
    protected_most: usize,
    probation: VecDeque<u32>,
    protected: VecDeque<u32>,
}

impl Model for Slru {
    fn new(given: &Given<'_>) -> Slru {
        Slru {
            capacity: given.capacity,
            args: given.args.clone(),
            weights: Weights::default(),
            protected_most: given.share("protected").min(given.capacity),
            probation: VecDeque::new(),
            protected: VecDeque::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let weight = self.weights.note(key, reference);
        if self.resident().contains(&key) {
            self.remove(key);
            self.protected.push_front(key);
            self.demote();
            return ModelStep { evicted: self.resize(self.capacity), ..ModelStep::hit() };
        }
        let evicted = self.shrink_to(self.capacity - weight);
        self.probation.push_front(key);
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        self.probation.retain(|&other| other != key);
        self.protected.retain(|&other| other != key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.protected_most = share(&self.args, "protected", capacity).min(capacity);
        self.capacity = capacity;
        let evicted = self.shrink_to(capacity);
        self.demote();
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.probation.iter().chain(&self.protected).copied().collect()
    }
}

impl Slru {
    fn demote(&mut self) {
        while self.weights.sum(&self.protected) > self.protected_most {
            let oldest = self.protected.pop_back().expect("more than a bound of at least 0");
            self.probation.push_front(oldest);
        }
    }

    fn shrink_to(&mut self, total: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.weights.sum(&self.resident()) > total {
            evicted.extend(self.probation.pop_back().or_else(|| self.protected.pop_back()));
        }
        evicted
    }
}
