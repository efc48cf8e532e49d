//! ARC as the paper's figure states it, on four lists, least recently used first.

use std::collections::{BTreeSet, VecDeque};

use super::weights::Weights;
use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

pub(super) struct Arc {
    c: usize,
    p: f64,
    weights: Weights,
    t1: VecDeque<u32>,
    t2: VecDeque<u32>,
    b1: VecDeque<u32>,
    b2: VecDeque<u32>,
}

impl Model for Arc {
    fn new(given: &Given<'_>) -> Arc {
        let [t1, t2, b1, b2] = [const { VecDeque::new() }; 4];
        Arc { c: given.capacity, p: 0.0, weights: Weights::default(), t1, t2, b1, b2 }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let weight = self.weights.note(key, reference);
        let mut evicted = Vec::new();
        if self.t1.contains(&key) || self.t2.contains(&key) {
            self.remove(key);
            self.t2.push_back(key);
            return ModelStep { evicted: self.resize(self.c), ..ModelStep::hit() };
        }
        let (b1, b2) = (self.sum(&self.b1) as f64, self.sum(&self.b2) as f64);
        if self.b1.contains(&key) {
            self.p = f64::min(self.c as f64, self.p + f64::max(1.0, b2 / b1) * weight as f64);
            evicted.extend(self.make_room(weight, false));
            self.remove(key);
            self.t2.push_back(key);
            evicted.extend(self.resize(self.c));
        } else if self.b2.contains(&key) {
            self.p = f64::max(0.0, self.p - f64::max(1.0, b1 / b2) * weight as f64);
            evicted.extend(self.make_room(weight, true));
            self.remove(key);
            self.t2.push_back(key);
            evicted.extend(self.resize(self.c));
        } else {
            while self.sum(&self.t1) + weight > self.c {
                evicted.extend(self.t1.pop_front());
            }
            while self.sum(&self.t1) + self.sum(&self.b1) + weight > self.c {
                self.b1.pop_front();
            }
            while self.known() + weight > 2 * self.c {
                self.b2.pop_front();
            }
            evicted.extend(self.make_room(weight, false));
            self.t1.push_back(key);
        }
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        for list in [&mut self.t1, &mut self.t2, &mut self.b1, &mut self.b2] {
            list.retain(|&other| other != key);
        }
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.c = capacity;
        self.p = self.p.min(capacity as f64);
        let evicted = self.make_room(0, false);
        while self.sum(&self.t1) + self.sum(&self.b1) > capacity {
            self.b1.pop_front();
        }
        while self.known() > 2 * capacity {
            self.b2.pop_front();
        }
        evicted
    }

    fn order(&self) -> Option<Vec<u32>> {
        Some(self.t2.iter().rev().chain(self.t1.iter().rev()).copied().collect())
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.t1.iter().chain(&self.t2).copied().collect()
    }

    fn remembers(&self, key: u32) -> bool {
        [&self.t1, &self.t2, &self.b1, &self.b2].into_iter().any(|list| list.contains(&key))
    }
}

impl Arc {
    fn sum(&self, list: &VecDeque<u32>) -> usize {
        self.weights.sum(list)
    }

    fn known(&self) -> usize {
        [&self.t1, &self.t2, &self.b1, &self.b2].into_iter().map(|list| self.sum(list)).sum()
    }

    fn make_room(&mut self, weight: usize, in_b2: bool) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.sum(&self.t1) + self.sum(&self.t2) + weight > self.c {
            evicted.extend(self.replace(in_b2));
        }
        evicted
    }

    fn replace(&mut self, in_b2: bool) -> Option<u32> {
        let t1 = self.sum(&self.t1) as f64;
        if t1 > 0.0 && (t1 > self.p || (in_b2 && t1 == self.p) || self.t2.is_empty()) {
            let victim = self.t1.pop_front();
            self.b1.extend(victim);
            victim
        } else {
            let victim = self.t2.pop_front();
            self.b2.extend(victim);
            victim
        }
    }
}
