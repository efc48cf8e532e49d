//! ARC as the paper's figure states it, on four lists, least recently used first.

use std::collections::{BTreeSet, VecDeque};

use crate::model::{Given, Model, Step};
use hotset_core::policy::Reference;

pub(super) struct Arc {
    c: usize,
    p: f64,
    t1: VecDeque<u32>,
    t2: VecDeque<u32>,
    b1: VecDeque<u32>,
    b2: VecDeque<u32>,
}

impl Model for Arc {
    fn new(given: &Given<'_>) -> Arc {
        let [t1, t2, b1, b2] = [const { VecDeque::new() }; 4];
        Arc { c: given.capacity, p: 0.0, t1, t2, b1, b2 }
    }

    fn access(&mut self, key: u32, _: Reference) -> Step {
        let (l1, l2) = (self.t1.len() + self.b1.len(), self.t2.len() + self.b2.len());
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        let full = self.t1.len() + self.t2.len() == self.c;
        let mut evicted = None;
        if self.t1.contains(&key) || self.t2.contains(&key) {
            self.remove(key);
            self.t2.push_back(key);
            return Step::hit();
        } else if self.b1.contains(&key) {
            self.p = f64::min(self.c as f64, self.p + f64::max(1.0, b2 / b1));
            if full {
                evicted = self.replace(false);
            }
            self.remove(key);
            self.t2.push_back(key);
        } else if self.b2.contains(&key) {
            self.p = f64::max(0.0, self.p - f64::max(1.0, b1 / b2));
            if full {
                evicted = self.replace(true);
            }
            self.remove(key);
            self.t2.push_back(key);
        } else {
            if l1 == self.c && self.t1.len() == self.c {
                evicted = self.t1.pop_front();
            } else {
                if l1 == self.c {
                    self.b1.pop_front();
                } else if l1 + l2 == 2 * self.c {
                    self.b2.pop_front();
                }
                if full {
                    evicted = self.replace(false);
                }
            }
            self.t1.push_back(key);
        }
        Step::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        for list in [&mut self.t1, &mut self.t2, &mut self.b1, &mut self.b2] {
            list.retain(|&other| other != key);
        }
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.c = capacity;
        self.p = self.p.min(capacity as f64);
        let surplus = (self.t1.len() + self.t2.len()).saturating_sub(capacity);
        let evicted = (0..surplus).filter_map(|_| self.replace(false)).collect();
        while self.t1.len() + self.b1.len() > capacity {
            self.b1.pop_front();
        }
        while self.t1.len() + self.t2.len() + self.b1.len() + self.b2.len() > 2 * capacity {
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
    fn replace(&mut self, in_b2: bool) -> Option<u32> {
        let t1 = self.t1.len() as f64;
        if t1 > 0.0 && (t1 > self.p || (in_b2 && t1 == self.p)) {
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
