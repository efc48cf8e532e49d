//! OPT by looking for the next use of every resident in the rest of the trace.

use std::collections::{BTreeSet, VecDeque};

use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

pub(super) struct Opt {
    pub(super) capacity: usize,
    trace: Vec<u32>,
    /// References so far.
    time: usize,
    /// Least recently used first.
    pub(super) order: VecDeque<u32>,
}

impl Model for Opt {
    fn new(given: &Given<'_>) -> Opt {
        Opt { capacity: given.capacity, trace: given.trace.to_vec(), time: 0, order: VecDeque::new() }
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        if self.renew(key) {
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

impl Opt {
    /// Counts one reference; true and moved to the recent end if `key` is resident.
    pub(super) fn renew(&mut self, key: u32) -> bool {
        assert_eq!(self.trace[self.time], key, "the trace differs from the one prepared");
        self.time += 1;
        let resident = self.order.contains(&key);
        if resident {
            self.remove(key);
            self.order.push_back(key);
        }
        resident
    }

    /// References from now to the next use of `key`; the greatest number if there is none.
    pub(super) fn distance(&self, key: u32) -> usize {
        self.trace[self.time..].iter().position(|&other| other == key).unwrap_or(usize::MAX)
    }

    pub(super) fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let surplus = self.order.len().saturating_sub(len);
        (0..surplus).map(|_| self.evict()).collect()
    }

    fn evict(&mut self) -> u32 {
        let farthest = self.order.iter().map(|&key| self.distance(key)).max();
        let victim = self.order.iter().copied().find(|&key| Some(self.distance(key)) == farthest);
        let victim = victim.expect("a full cache holds a block");
        self.remove(victim);
        victim
    }
}
