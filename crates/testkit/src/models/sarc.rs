//! SARC without prefetching, with positions found by searching the lists.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::partitions::Table;
use crate::model::{Given, Model, ModelStep, share};
use hotset_core::policy::{Args, Reference};

pub(super) struct Sarc {
    args: Args,
    capacity: usize,
    track: u64,
    run: u64,
    runs: Table<u64>,
    current: Option<u64>,
    is_sequential: bool,
    desired: usize,
    /// Least recently used first: SEQ, RANDOM.
    lists: [VecDeque<u32>; 2],
    used: BTreeMap<u32, u64>,
}

impl Model for Sarc {
    fn new(given: &Given<'_>) -> Sarc {
        Sarc {
            args: given.args.clone(),
            capacity: given.capacity,
            track: given.args.count("track"),
            run: given.args.count("run"),
            runs: Table::new(given.args.count("tracks") as usize),
            current: None,
            is_sequential: false,
            desired: 0,
            lists: Default::default(),
            used: BTreeMap::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        self.enter_track(reference);
        self.used.insert(key, reference.time);
        let (foot, track) = (self.foot(), self.track as usize);
        let at_foot = self.lists.each_ref().map(|list| list.iter().take(foot).any(|&other| other == key));
        match at_foot {
            [true, _] => self.desired = (self.desired + track).min(self.capacity),
            [_, true] => self.desired = self.desired.saturating_sub(track),
            _ => {}
        }
        let hit = self.resident().contains(&key);
        self.remove(key);
        let evicted = if hit { vec![] } else { self.shrink_to(self.capacity - 1) };
        self.lists[usize::from(!self.is_sequential)].push_back(key);
        ModelStep { hit, evicted, ..ModelStep::default() }
    }

    fn remove(&mut self, key: u32) {
        self.lists.iter_mut().for_each(|list| list.retain(|&other| other != key));
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        let evicted = self.shrink_to(capacity);
        self.capacity = capacity;
        self.desired = self.desired.min(capacity);
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.lists.iter().flatten().copied().collect()
    }
}

impl Sarc {
    fn foot(&self) -> usize {
        share(&self.args, "foot", self.capacity).max(1)
    }

    fn enter_track(&mut self, reference: Reference) {
        let track = (u64::from(reference.file) << 32) + u64::from(reference.block) / self.track;
        if self.current == Some(track) {
            return;
        }
        self.current = Some(track);
        let before = if u64::from(reference.block) < self.track { None } else { self.runs.peek(track - 1) };
        let run = before.map_or(1, |before| self.run.min(self.runs.entries[before].1 + 1));
        match self.runs.find(track) {
            Some(number) => self.runs.entries[number].1 = run,
            None => drop(self.runs.insert(track, run)),
        }
        self.is_sequential = run >= self.run;
    }

    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let foot = self.foot();
        let mut evicted = Vec::new();
        while self.lists.iter().map(VecDeque::len).sum::<usize>() > len {
            let [sequential, random] = &mut self.lists;
            let from_sequential = if sequential.is_empty() || random.is_empty() {
                random.is_empty()
            } else if sequential.len().min(random.len()) < foot {
                self.used[&sequential[0]] < self.used[&random[0]]
            } else {
                sequential.len() > self.desired
            };
            evicted.extend(if from_sequential { sequential.pop_front() } else { random.pop_front() });
        }
        evicted
    }
}
