//! MQ as the paper's pseudo-code states it, on lists of pages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};

use crate::model::{Given, Model, ModelStep};

pub(super) struct Mq {
    args: Args,
    capacity: usize,
    time: u64,
    lifetime: u64,
    /// References since the last estimate, and distances by floor(log2).
    since: u64,
    distances: BTreeMap<u32, u64>,
    /// Q0, Q1, ...: page and the time it was queued, oldest first.
    queues: Vec<VecDeque<(u32, u64)>>,
    /// Qout, oldest first.
    out: VecDeque<u32>,
    /// Uses and time of the last one of all pages in queues or Qout.
    known: BTreeMap<u32, (u64, u64)>,
}

impl Model for Mq {
    fn new(given: &Given<'_>) -> Mq {
        let mut mq = Mq {
            args: given.args.clone(),
            capacity: 0,
            time: 0,
            lifetime: 0,
            since: 0,
            distances: BTreeMap::new(),
            queues: vec![VecDeque::new(); given.args.count("queues") as usize],
            out: VecDeque::new(),
            known: BTreeMap::new(),
        };
        mq.scale(given.capacity);
        mq
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        self.time += 1;
        let step = if self.resident().contains(&key) {
            self.queues.iter_mut().for_each(|queue| queue.retain(|page| page.0 != key));
            ModelStep::hit()
        } else {
            let evicted = (self.resident().len() == self.capacity).then(|| self.evict());
            self.out.retain(|&other| other != key);
            ModelStep::admitted(evicted)
        };
        self.estimate(key);
        let (uses, last) = self.known.entry(key).or_insert((0, 0));
        (*uses, *last) = (*uses + 1, self.time);
        let queue = ((*uses as f64).log2().floor() as usize).min(self.queues.len() - 1);
        self.queues[queue].push_back((key, self.time));
        for k in 1..self.queues.len() {
            let head = self.queues[k].front().copied();
            if let Some((page, _)) = head.filter(|(_, queued)| *queued < self.time.saturating_sub(self.lifetime)) {
                self.queues[k].pop_front();
                self.queues[k - 1].push_back((page, self.time));
            }
        }
        step
    }

    fn remove(&mut self, key: u32) {
        self.queues.iter_mut().for_each(|queue| queue.retain(|page| page.0 != key));
        self.out.retain(|&other| other != key);
        self.known.remove(&key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.scale(capacity);
        let surplus = self.resident().len().saturating_sub(capacity);
        let evicted = (0..surplus).map(|_| self.evict()).collect();
        self.drop_ghosts();
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.queues.iter().flatten().map(|page| page.0).collect()
    }
}

impl Mq {
    fn most_ghosts(&self) -> u64 {
        self.args.multiple("ghosts", self.capacity as u32).map_or(u64::from(u32::MAX), u64::from)
    }

    fn scale(&mut self, capacity: usize) {
        self.capacity = capacity;
        self.lifetime = self.args.multiple("lifetime", capacity as u32).map_or(u64::MAX, u64::from);
        self.since = 0;
        self.distances.clear();
    }

    /// Counts the distance from the last use and now and then moves the lifetime to where most are.
    fn estimate(&mut self, key: u32) {
        if !self.args.switch("estimate") {
            return;
        }
        if let Some((_, last)) = self.known.get(&key) {
            let distance = self.time - last;
            if distance >= self.capacity as u64 {
                *self.distances.entry(distance.ilog2()).or_default() += 1;
            }
        }
        self.since += 1;
        if self.since == self.capacity as u64 + self.most_ghosts() {
            self.since = 0;
            // The first of the fullest.
            let fullest = self.distances.iter().rev().max_by_key(|(_, count)| **count);
            if let Some((class, _)) = fullest.filter(|(_, count)| **count > 0) {
                self.lifetime = (0..=*class).map(|bit| 1 << bit).sum();
            }
            self.distances.values_mut().for_each(|count| *count /= 2);
        }
    }

    fn evict(&mut self) -> u32 {
        let lowest = self.queues.iter_mut().find(|queue| !queue.is_empty()).expect("a full cache has a victim");
        let (victim, _) = lowest.pop_front().expect("it is not empty");
        self.out.push_back(victim);
        self.drop_ghosts();
        victim
    }

    fn drop_ghosts(&mut self) {
        while self.out.len() as u64 > self.most_ghosts() {
            let ghost = self.out.pop_front().expect("it is not empty");
            self.known.remove(&ghost);
        }
    }
}
