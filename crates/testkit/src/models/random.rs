//! Random replacement: a table of residents from which one is drawn; the last one fills its place. The stream of random
//! numbers is part of the statement, so it is the policy's own.

use std::collections::BTreeSet;

use hotset_core::random::Rng as Generator;

use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

pub(super) struct Random {
    capacity: usize,
    residents: Vec<u32>,
    generator: Generator,
}

impl Model for Random {
    fn new(given: &Given<'_>) -> Random {
        Random { capacity: given.capacity, residents: Vec::new(), generator: Generator::new(given.seed) }
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        if self.residents.contains(&key) {
            return ModelStep::hit();
        }
        let evicted = self.shrink_to(self.capacity - 1);
        self.residents.push(key);
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        if let Some(at) = self.residents.iter().position(|&other| other == key) {
            self.residents.swap_remove(at);
        }
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        self.shrink_to(capacity)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.residents.iter().copied().collect()
    }
}

impl Random {
    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.residents.len() > len {
            let drawn = self.generator.below(self.residents.len() as u32);
            evicted.push(self.residents.swap_remove(drawn as usize));
        }
        evicted
    }
}
