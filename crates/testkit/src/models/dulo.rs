//! DULO as stated in the policy's file, with sequences kept as such.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::model::{Given, Model, ModelStep, share};
use hotset_core::policy::{Args, Reference};

struct Sequence {
    value: u64,
    /// Blocks that it had when it was cut.
    length: usize,
    /// Those that are left.
    keys: VecDeque<u32>,
}

/// The last reference to a block and the time of the one before, if known.
struct Use {
    last: Reference,
    before: Option<u64>,
}

pub(super) struct Dulo {
    args: Args,
    capacity: usize,
    max_sequence: usize,
    /// Least recently used first.
    staging: VecDeque<u32>,
    bank: Vec<u32>,
    /// In the order in which they were cut.
    sequences: Vec<Sequence>,
    floor: u64,
    ghosts: VecDeque<u32>,
    uses: BTreeMap<u32, Use>,
}

impl Model for Dulo {
    fn new(given: &Given<'_>) -> Dulo {
        Dulo {
            args: given.args.clone(),
            capacity: given.capacity,
            max_sequence: given.args.count("max_sequence") as usize,
            staging: VecDeque::new(),
            bank: Vec::new(),
            sequences: Vec::new(),
            floor: 0,
            ghosts: VecDeque::new(),
            uses: BTreeMap::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let before = self.uses.get(&key).map(|known| known.last.time);
        self.uses.insert(key, Use { last: reference, before });
        let hit = self.resident().contains(&key);
        self.take(key);
        let evicted = if hit { vec![] } else { self.shrink_to(self.capacity - 1) };
        self.staging.push_back(key);
        self.settle();
        ModelStep { hit, evicted, ..ModelStep::default() }
    }

    fn remove(&mut self, key: u32) {
        self.take(key);
        self.uses.remove(&key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        let evicted = self.shrink_to(capacity);
        self.capacity = capacity;
        self.settle();
        self.trim_ghosts();
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        let sequenced = self.sequences.iter().flat_map(|sequence| &sequence.keys);
        self.staging.iter().chain(&self.bank).chain(sequenced).copied().collect()
    }
}

impl Dulo {
    fn bank_size(&self) -> usize {
        share(&self.args, "bank", self.capacity).clamp(1, self.capacity)
    }

    fn take(&mut self, key: u32) {
        self.staging.retain(|&other| other != key);
        self.bank.retain(|&other| other != key);
        self.ghosts.retain(|&other| other != key);
        self.sequences.iter_mut().for_each(|sequence| sequence.keys.retain(|&other| other != key));
        self.sequences.retain(|sequence| !sequence.keys.is_empty());
    }

    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let surplus = self.resident().len().saturating_sub(len);
        (0..surplus).map(|_| self.evict()).collect()
    }

    fn evict(&mut self) -> u32 {
        if self.sequences.is_empty() {
            if self.bank.is_empty() {
                let most = self.bank_size().min(self.staging.len());
                self.bank.extend(self.staging.drain(..most));
            }
            self.cut();
        }
        let rank = |sequence: &&Sequence| (sequence.value, std::cmp::Reverse(sequence.length));
        let least = self.sequences.iter().min_by_key(rank).expect("the bank was cut");
        self.floor = least.value;
        let victim = least.keys[0];
        self.take(victim);
        self.ghosts.push_back(victim);
        self.trim_ghosts();
        victim
    }

    fn trim_ghosts(&mut self) {
        let most = self.args.multiple("table", self.capacity as u32);
        while most.is_some_and(|most| self.ghosts.len() > most as usize) {
            let oldest = self.ghosts.pop_front().expect("more than most");
            self.uses.remove(&oldest);
        }
    }

    fn settle(&mut self) {
        let most = self.capacity.saturating_sub(2 * self.bank_size());
        loop {
            if self.bank.len() >= self.bank_size() {
                self.cut();
            }
            if self.staging.len() <= most {
                return;
            }
            self.bank.extend(self.staging.pop_front());
        }
    }

    fn cut(&mut self) {
        let mut sorted = std::mem::take(&mut self.bank);
        sorted.sort_by_key(|key| (self.uses[key].last.file, self.uses[key].last.block));
        let mut cut: Vec<VecDeque<u32>> = Vec::new();
        for key in sorted {
            match cut.last_mut() {
                Some(keys) if keys.len() < self.max_sequence && self.belong_together(keys[keys.len() - 1], key) => {
                    keys.push_back(key);
                }
                _ => cut.push(VecDeque::from([key])),
            }
        }
        let sequence = |keys: VecDeque<u32>| Sequence {
            value: self.floor + (1 << 32) / keys.len() as u64,
            length: keys.len(),
            keys,
        };
        self.sequences.extend(cut.into_iter().map(sequence));
    }

    fn belong_together(&self, key: u32, next: u32) -> bool {
        let (a, b) = (&self.uses[&key], &self.uses[&next]);
        let close = |a: u64, b: u64| a.abs_diff(b) <= self.bank_size() as u64;
        let before = match (a.before, b.before) {
            (Some(a), Some(b)) => close(a, b),
            (a, b) => a == b,
        };
        a.last.file == b.last.file && a.last.block + 1 == b.last.block && close(a.last.time, b.last.time) && before
    }
}
