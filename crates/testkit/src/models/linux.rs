//! Linux's two lists, most recent first, and when each of the pages left that left last, as many as memory has.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};

use crate::model::{Given, Model, ModelStep, share};

pub(super) struct Linux {
    args: Args,
    capacity: usize,
    refaults: bool,
    /// Pages, and whether they were used.
    inactive: VecDeque<(u32, bool)>,
    active: VecDeque<u32>,
    /// Evictions and activations.
    clock: u64,
    left_at: BTreeMap<u32, u64>,
}

impl Model for Linux {
    fn new(given: &Given<'_>) -> Linux {
        Linux {
            args: given.args.clone(),
            capacity: given.capacity,
            refaults: given.args.word("refaults") == "on",
            inactive: VecDeque::new(),
            active: VecDeque::new(),
            clock: 0,
            left_at: BTreeMap::new(),
        }
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        if self.active.contains(&key) {
            return ModelStep::hit();
        }
        if let Some(at) = self.inactive.iter().position(|&(other, _)| other == key) {
            if self.inactive[at].1 {
                self.inactive.remove(at);
                self.activate(key);
            } else {
                self.inactive[at].1 = true;
            }
            return ModelStep::hit();
        }
        let evicted = self.shrink_to(self.capacity - 1);
        let left_at = self.left_at.remove(&key);
        let comes_back = left_at.is_some_and(|then| self.clock - then <= self.active.len() as u64);
        if comes_back && self.refaults {
            self.activate(key);
        } else {
            self.inactive.push_front((key, true));
        }
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        self.inactive.retain(|&(other, _)| other != key);
        self.active.retain(|&other| other != key);
        self.left_at.remove(&key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        self.shrink_to(capacity)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.inactive.iter().map(|&(key, _)| key).chain(self.active.iter().copied()).collect()
    }
}

impl Linux {
    fn activate(&mut self, key: u32) {
        self.active.push_front(key);
        self.clock += 1;
    }

    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let least = share(&self.args, "inactive", self.capacity).max(1);
        let mut evicted = Vec::new();
        while self.inactive.len() + self.active.len() > len {
            if self.inactive.len() < least {
                self.active.pop_back().into_iter().for_each(|oldest| self.inactive.push_front((oldest, false)));
            }
            let (victim, _) = self.inactive.pop_back().expect("one was moved here if there was none");
            self.clock += 1;
            self.left_at.insert(victim, self.clock);
            evicted.push(victim);
        }
        while self.left_at.len() > self.capacity {
            let first = *self.left_at.iter().min_by_key(|&(_, then)| then).expect("there are some").0;
            self.left_at.remove(&first);
        }
        evicted
    }
}
