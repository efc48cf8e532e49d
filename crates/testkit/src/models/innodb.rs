//! InnoDB's list as one list, most recent first, and the place of its midpoint.

use std::collections::BTreeSet;

use hotset_core::policy::{Args, Reference};

use crate::model::{Given, Model, ModelStep, share};

pub(super) struct Innodb {
    capacity: usize,
    args: Args,
    old_time: u64,
    /// Pages and when each was used first.
    list: Vec<(u32, u64)>,
}

impl Model for Innodb {
    fn new(given: &Given<'_>) -> Innodb {
        Innodb {
            capacity: given.capacity,
            args: given.args.clone(),
            old_time: given.args.time("old_time"),
            list: Vec::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        if let Some(at) = self.list.iter().position(|&(other, _)| other == key) {
            let (_, first) = self.list[at];
            let is_new = at < self.list.len() - self.old();
            if is_new || reference.clock == 0 || reference.clock - first >= self.old_time {
                let page = self.list.remove(at);
                self.list.insert(0, page);
            }
            return ModelStep::hit();
        }
        let evicted = self.shrink_to(self.capacity - 1);
        // It is the first of the old part.
        let old = self.share().min(self.list.len() + 1);
        self.list.insert(self.list.len() + 1 - old, (key, reference.clock));
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        self.list.retain(|&(other, _)| other != key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        let evicted = self.shrink_to(capacity);
        self.capacity = capacity;
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.list.iter().map(|&(key, _)| key).collect()
    }
}

impl Innodb {
    fn share(&self) -> usize {
        share(&self.args, "old", self.capacity).max(1)
    }

    /// Pages behind the midpoint.
    fn old(&self) -> usize {
        self.share().min(self.list.len())
    }

    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let leaving = self.list.split_off(len.min(self.list.len()));
        leaving.into_iter().rev().map(|(key, _)| key).collect()
    }
}
