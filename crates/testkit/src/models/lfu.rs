//! LFU with counts that are lost at eviction, by sorting the residents.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Given, Model, Step};
use hotset_core::policy::Reference;

pub(super) struct Lfu {
    capacity: usize,
    time: u64,
    /// By key: uses since it came in, time of the last one.
    uses: BTreeMap<u32, (u64, u64)>,
}

impl Model for Lfu {
    fn new(given: &Given<'_>) -> Lfu {
        Lfu { capacity: given.capacity, time: 0, uses: BTreeMap::new() }
    }

    fn access(&mut self, key: u32, _: Reference) -> Step {
        self.time += 1;
        if let Some((uses, last)) = self.uses.get_mut(&key) {
            (*uses, *last) = (*uses + 1, self.time);
            return Step::hit();
        }
        let evicted = self.shrink_to(self.capacity - 1);
        self.uses.insert(key, (1, self.time));
        Step::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        self.uses.remove(&key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        self.shrink_to(capacity)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.uses.keys().copied().collect()
    }
}

impl Lfu {
    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let mut order: Vec<u32> = self.uses.keys().copied().collect();
        order.sort_by_key(|key| self.uses[key]);
        order.truncate(self.uses.len().saturating_sub(len));
        self.uses.retain(|key, _| !order.contains(key));
        order
    }
}
