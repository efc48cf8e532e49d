//! LIFO: a list in order of entry; the last in is the first out.

use std::collections::{BTreeSet, VecDeque};

use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

pub(super) struct Lifo {
    capacity: usize,
    /// Oldest first.
    order: VecDeque<u32>,
}

impl Model for Lifo {
    fn new(given: &Given<'_>) -> Lifo {
        Lifo { capacity: given.capacity, order: VecDeque::new() }
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        if self.order.contains(&key) {
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

    fn resident(&self) -> BTreeSet<u32> {
        self.order.iter().copied().collect()
    }
}

impl Lifo {
    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let surplus = self.order.len().saturating_sub(len);
        (0..surplus).filter_map(|_| self.order.pop_back()).collect()
    }
}
