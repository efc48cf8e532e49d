//! ULC with the stack of all blocks built, the block used last in front, and a level for those that are cached.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};

use crate::model::{Given, Model, ModelStep, share};

pub(super) struct Ulc {
    args: Args,
    /// Of the client and the array.
    sizes: [usize; 2],
    temporary_size: usize,
    stack: VecDeque<u32>,
    level: BTreeMap<u32, usize>,
    /// Oldest first.
    temporary: VecDeque<u32>,
    evicted: Vec<u32>,
}

impl Model for Ulc {
    fn new(given: &Given<'_>) -> Ulc {
        let mut ulc = Ulc {
            args: given.args.clone(),
            sizes: [0, 0],
            temporary_size: 0,
            stack: VecDeque::new(),
            level: BTreeMap::new(),
            temporary: VecDeque::new(),
            evicted: Vec::new(),
        };
        ulc.resize(given.capacity);
        ulc
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        let hit = self.resident().contains(&key);
        let level = (0..2).find(|&level| self.count(level) < self.sizes[level] || self.reaches(key, level));
        self.stack.retain(|&other| other != key);
        self.stack.push_front(key);
        if let Some(level) = level {
            self.temporary.retain(|&other| other != key);
            self.level.insert(key, level);
        } else if self.temporary_size > 0 {
            self.temporary.retain(|&other| other != key);
            self.temporary.push_back(key);
        }
        self.make_room();
        let bypassed = !self.resident().contains(&key);
        ModelStep { hit, bypassed, evicted: std::mem::take(&mut self.evicted), ..ModelStep::default() }
    }

    fn remove(&mut self, key: u32) {
        self.stack.retain(|&other| other != key);
        self.temporary.retain(|&other| other != key);
        self.level.remove(&key);
        self.make_room();
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        let client = share(&self.args, "client", capacity).min(capacity.saturating_sub(1)).max(1);
        self.temporary_size = share(&self.args, "temp", capacity).max(1).min(client - 1);
        self.sizes = [client - self.temporary_size, capacity - client];
        self.make_room();
        std::mem::take(&mut self.evicted)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.level.keys().chain(&self.temporary).copied().collect()
    }
}

impl Ulc {
    fn count(&self, level: usize) -> usize {
        self.level.values().filter(|&&other| other == level).count()
    }

    /// The deepest block of a level.
    fn yardstick(&self, level: usize) -> Option<usize> {
        self.stack.iter().rposition(|key| self.level.get(key) == Some(&level))
    }

    /// True if `key` is in the stack, not below the yardstick.
    fn reaches(&self, key: u32, level: usize) -> bool {
        let place = self.stack.iter().position(|&other| other == key);
        place.zip(self.yardstick(level)).is_some_and(|(place, yardstick)| place <= yardstick)
    }

    fn make_room(&mut self) {
        while self.count(0) > self.sizes[0] {
            let yardstick = self.stack[self.yardstick(0).expect("the client is full")];
            self.level.insert(yardstick, 1);
        }
        while self.count(1) > self.sizes[1] {
            let yardstick = self.stack[self.yardstick(1).expect("the array is full")];
            self.level.remove(&yardstick);
            self.evicted.push(yardstick);
        }
        let surplus = self.temporary.len().saturating_sub(self.temporary_size);
        self.evicted.extend(self.temporary.drain(..surplus));
        while self.stack.back().is_some_and(|bottom| !self.level.contains_key(bottom)) {
            self.stack.pop_back();
        }
    }
}
