//! LRU as Mattson and others state it: a list in order of last use.

use std::collections::{BTreeSet, VecDeque};

use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

pub(super) struct Lru {
    capacity: usize,
    /// Least recently used first.
    order: VecDeque<u32>,
}

impl Model for Lru {
    fn new(given: &Given<'_>) -> Lru {
        Lru { capacity: given.capacity, order: VecDeque::new() }
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        if self.order.contains(&key) {
            self.remove(key);
            self.order.push_back(key);
            return ModelStep::hit();
        }
        let evicted = self.shrink_to(self.capacity - 1);
        self.order.push_back(key);
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        self.order.retain(|&other| other != key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        self.shrink_to(capacity)
    }

    fn order(&self) -> Option<Vec<u32>> {
        Some(self.order.iter().rev().copied().collect())
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.order.iter().copied().collect()
    }
}

impl Lru {
    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let surplus = self.order.len().saturating_sub(len);
        self.order.drain(..surplus).collect()
    }
}
