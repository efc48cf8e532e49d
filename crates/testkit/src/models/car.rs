//! CAR as the paper's figure states it: clocks as lists of (key, reference bit) with the hand at the front.

use std::collections::{BTreeSet, VecDeque};

use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

pub(super) struct Car {
    c: usize,
    p: f64,
    t1: VecDeque<(u32, bool)>,
    t2: VecDeque<(u32, bool)>,
    b1: VecDeque<u32>,
    b2: VecDeque<u32>,
}

impl Model for Car {
    fn new(given: &Given<'_>) -> Car {
        Car {
            c: given.capacity,
            p: 0.0,
            t1: VecDeque::new(),
            t2: VecDeque::new(),
            b1: VecDeque::new(),
            b2: VecDeque::new(),
        }
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        if let Some(page) = self.t1.iter_mut().chain(&mut self.t2).find(|page| page.0 == key) {
            page.1 = true;
            return ModelStep::hit();
        }
        let mut evicted = None;
        if self.t1.len() + self.t2.len() == self.c {
            evicted = Some(self.replace());
        }
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        if self.b1.contains(&key) {
            self.p = f64::min(self.c as f64, self.p + f64::max(1.0, b2 / b1));
            self.remove(key);
            self.t2.push_back((key, false));
        } else if self.b2.contains(&key) {
            self.p = f64::max(0.0, self.p - f64::max(1.0, b1 / b2));
            self.remove(key);
            self.t2.push_back((key, false));
        } else {
            if self.t1.len() + self.b1.len() == self.c {
                self.b1.pop_front();
            } else if self.t1.len() + self.t2.len() + self.b1.len() + self.b2.len() == 2 * self.c {
                self.b2.pop_front();
            }
            self.t1.push_back((key, false));
        }
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        self.t1.retain(|page| page.0 != key);
        self.t2.retain(|page| page.0 != key);
        self.b1.retain(|&other| other != key);
        self.b2.retain(|&other| other != key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.c = capacity;
        self.p = self.p.min(capacity as f64);
        let surplus = (self.t1.len() + self.t2.len()).saturating_sub(capacity);
        let evicted = (0..surplus).map(|_| self.replace()).collect();
        while self.t1.len() + self.b1.len() > capacity {
            self.b1.pop_front();
        }
        while self.t1.len() + self.t2.len() + self.b1.len() + self.b2.len() > 2 * capacity {
            self.b2.pop_front();
        }
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.t1.iter().chain(&self.t2).map(|page| page.0).collect()
    }
}

impl Car {
    fn replace(&mut self) -> u32 {
        loop {
            if self.t1.len() as f64 >= f64::max(1.0, self.p) {
                let (key, referenced) = self.t1.pop_front().expect("T1 holds at least one page");
                if !referenced {
                    self.b1.push_back(key);
                    return key;
                }
                self.t2.push_back((key, false));
            } else {
                let (key, referenced) = self.t2.pop_front().expect("a full cache holds pages in T2 if not in T1");
                if !referenced {
                    self.b2.push_back(key);
                    return key;
                }
                self.t2.push_back((key, false));
            }
        }
    }
}
