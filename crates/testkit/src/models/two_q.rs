//! Full 2Q as the paper's figure states it; newest first, as there.

use std::collections::{BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};

use crate::model::{Given, Model, Step, share};

pub(super) struct TwoQ {
    args: Args,
    capacity: usize,
    kin: usize,
    kout: usize,
    simplified: bool,
    am: VecDeque<u32>,
    a1in: VecDeque<u32>,
    a1out: VecDeque<u32>,
}

impl Model for TwoQ {
    fn new(given: &Given<'_>) -> TwoQ {
        TwoQ {
            args: given.args.clone(),
            capacity: given.capacity,
            kin: given.share("kin").max(1),
            kout: given.share("kout").max(1),
            simplified: given.args.word("a1in_hit") == "promote",
            am: VecDeque::new(),
            a1in: VecDeque::new(),
            a1out: VecDeque::new(),
        }
    }

    fn access(&mut self, key: u32, _: Reference) -> Step {
        if self.am.contains(&key) || self.a1in.contains(&key) && self.simplified {
            self.remove(key);
            self.am.push_front(key);
            return Step::hit();
        }
        if self.a1in.contains(&key) {
            return Step::hit();
        }
        let known = self.a1out.contains(&key);
        let full = self.am.len() + self.a1in.len() == self.capacity;
        let evicted = full.then(|| self.reclaim());
        if known {
            self.remove(key);
            self.am.push_front(key);
        } else {
            self.a1in.push_front(key);
        }
        Step::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        for queue in [&mut self.am, &mut self.a1in, &mut self.a1out] {
            queue.retain(|&other| other != key);
        }
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        let at_least_one = |key| share(&self.args, key, capacity).max(1);
        (self.kin, self.kout) = (at_least_one("kin"), at_least_one("kout"));
        self.capacity = capacity;
        let surplus = (self.am.len() + self.a1in.len()).saturating_sub(capacity);
        let evicted = (0..surplus).map(|_| self.reclaim()).collect();
        self.a1out.truncate(self.kout);
        evicted
    }

    fn order(&self) -> Option<Vec<u32>> {
        Some(self.am.iter().chain(&self.a1in).copied().collect())
    }

    fn remembers(&self, key: u32) -> bool {
        [&self.am, &self.a1in, &self.a1out].into_iter().any(|queue| queue.contains(&key))
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.am.iter().chain(&self.a1in).copied().collect()
    }
}

impl TwoQ {
    fn reclaim(&mut self) -> u32 {
        if self.a1in.len() > self.kin || self.am.is_empty() {
            let victim = self.a1in.pop_back().expect("A1in holds the blocks when Am is empty");
            self.a1out.push_front(victim);
            self.a1out.truncate(self.kout);
            victim
        } else {
            self.am.pop_back().expect("Am is not empty")
        }
    }
}
