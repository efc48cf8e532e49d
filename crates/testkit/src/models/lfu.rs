//! LFU by sorting the residents, with its variants: counts that outlive a stay, counts that are halved.

use std::collections::{BTreeMap, BTreeSet};

use hotset_core::policy::{Args, Reference};

use crate::model::{Given, Model, ModelStep};

pub(super) struct Lfu {
    args: Args,
    capacity: usize,
    time: u64,
    /// References since counts were halved.
    since: u64,
    resident: BTreeSet<u32>,
    /// By key: uses that count, time of the last one.
    uses: BTreeMap<u32, (u64, u64)>,
}

impl Model for Lfu {
    fn new(given: &Given<'_>) -> Lfu {
        Lfu {
            args: given.args.clone(),
            capacity: given.capacity,
            time: 0,
            since: 0,
            resident: BTreeSet::new(),
            uses: BTreeMap::new(),
        }
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        self.time += 1;
        let interval = self.args.multiple("aging", self.capacity as u32);
        if interval.is_some_and(|interval| self.since == u64::from(interval).max(1)) {
            self.uses.values_mut().for_each(|(uses, _)| *uses = uses.div_ceil(2));
            self.since = 0;
        }
        self.since += 1;
        let hit = self.resident.contains(&key);
        let evicted = if hit { Vec::new() } else { self.shrink_to(self.capacity - 1) };
        self.resident.insert(key);
        let (uses, last) = self.uses.entry(key).or_default();
        (*uses, *last) = (*uses + 1, self.time);
        if hit { ModelStep::hit() } else { ModelStep::admitted(evicted) }
    }

    fn remove(&mut self, key: u32) {
        self.resident.remove(&key);
        self.uses.remove(&key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        self.since = 0;
        self.shrink_to(capacity)
    }

    fn order(&self) -> Option<Vec<u32>> {
        let mut order: Vec<u32> = self.resident.iter().copied().collect();
        order.sort_by_key(|key| std::cmp::Reverse(self.uses[key]));
        Some(order)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.resident.clone()
    }
}

impl Lfu {
    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let mut order: Vec<u32> = self.resident.iter().copied().collect();
        order.sort_by_key(|key| self.uses[key]);
        order.truncate(self.resident.len().saturating_sub(len));
        self.resident.retain(|key| !order.contains(key));
        if self.args.word("counts") == "cache" {
            self.uses.retain(|key, _| !order.contains(key));
        }
        order
    }
}
