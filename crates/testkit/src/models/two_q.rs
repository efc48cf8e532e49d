//! Full 2Q as the paper's figure states it; newest first, as there.

use std::collections::{BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};

use super::weights::Weights;
use crate::model::{Given, Model, ModelStep, share};

pub(super) struct TwoQ {
    args: Args,
    weights: Weights,
    capacity: usize,
    kin: usize,
    kout: usize,
    simplified: bool,
    am: VecDeque<u32>,
    a1in: VecDeque<u32>,
    a1out: VecDeque<u32>,
}

impl Model for TwoQ {
    fn new(given: &Given<'_>) -> TwoQ {
        TwoQ {
            args: given.args.clone(),
            weights: Weights::default(),
            capacity: given.capacity,
            kin: given.share("kin").max(1),
            kout: given.share("kout").max(1),
            simplified: given.args.word("a1in_hit") == "promote",
            am: VecDeque::new(),
            a1in: VecDeque::new(),
            a1out: VecDeque::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let weight = self.weights.note(key, reference);
        if self.am.contains(&key) || self.a1in.contains(&key) && self.simplified {
            self.remove(key);
            self.am.push_front(key);
        }
        if self.resident().contains(&key) {
            return ModelStep { evicted: self.resize(self.capacity), ..ModelStep::hit() };
        }
        let known = self.a1out.contains(&key);
        let evicted = self.shrink_to(self.capacity - weight);
        if known {
            self.remove(key);
            self.am.push_front(key);
        } else {
            self.a1in.push_front(key);
        }
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        for queue in [&mut self.am, &mut self.a1in, &mut self.a1out] {
            queue.retain(|&other| other != key);
        }
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        let at_least_one = |key| share(&self.args, key, capacity).max(1);
        (self.kin, self.kout) = (at_least_one("kin"), at_least_one("kout"));
        self.capacity = capacity;
        let evicted = self.shrink_to(capacity);
        self.trim_ghosts();
        evicted
    }

    fn order(&self) -> Option<Vec<u32>> {
        Some(self.am.iter().chain(&self.a1in).copied().collect())
    }

    fn remembers(&self, key: u32) -> bool {
        [&self.am, &self.a1in, &self.a1out].into_iter().any(|queue| queue.contains(&key))
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.am.iter().chain(&self.a1in).copied().collect()
    }
}

impl TwoQ {
    fn shrink_to(&mut self, total: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.weights.sum(&self.resident()) > total {
            evicted.push(self.reclaim());
        }
        evicted
    }

    fn trim_ghosts(&mut self) {
        while self.weights.sum(&self.a1out) > self.kout {
            self.a1out.pop_back();
        }
    }

    fn reclaim(&mut self) -> u32 {
        if self.weights.sum(&self.a1in) > self.kin || self.am.is_empty() {
            let victim = self.a1in.pop_back().expect("A1in holds the blocks when Am is empty");
            self.a1out.push_front(victim);
            self.trim_ghosts();
            victim
        } else {
            self.am.pop_back().expect("Am is not empty")
        }
    }
}
