//! W-TinyLFU on plain lists, most recent first, with the readings in the policy's file. A map holds the counters of the
//! sketch; the choice of a block's counters is part of the statement.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hotset_core::parts::sketch::{counters, hash, lines};
use hotset_core::policy::{Args, Reference};
use hotset_core::random::Rng;

use crate::model::{Given, Model, ModelStep, share};

pub(super) struct WTinyLfu {
    capacity: usize,
    args: Args,
    window_most: usize,
    /// Of the sketch.
    lines: u32,
    window: VecDeque<u32>,
    probation: VecDeque<u32>,
    protected: VecDeque<u32>,
    /// By key.
    hashes: BTreeMap<u32, u32>,
    /// By line, row and number in it.
    counts: BTreeMap<(usize, usize, u32), u32>,
    counted: usize,
    random: Rng,
    /// Hit or miss, for each reference of the period.
    period: Vec<bool>,
    before: f64,
    step: f64,
}

impl Model for WTinyLfu {
    fn new(given: &Given<'_>) -> WTinyLfu {
        let mut model = WTinyLfu {
            capacity: given.capacity,
            args: given.args.clone(),
            window_most: 0,
            lines: lines(given.capacity as u32),
            window: VecDeque::new(),
            probation: VecDeque::new(),
            protected: VecDeque::new(),
            hashes: BTreeMap::new(),
            counts: BTreeMap::new(),
            counted: 0,
            random: Rng::new(given.seed),
            period: Vec::new(),
            before: 0.0,
            step: 0.0,
        };
        model.start();
        model
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        self.hashes.insert(key, hash(reference.file, reference.block));
        self.count_use(key);
        let step = if self.resident().contains(&key) {
            let in_window = self.window.contains(&key);
            self.remove(key);
            if in_window {
                self.window.push_front(key)
            } else {
                self.protected.push_front(key)
            }
            self.demote();
            ModelStep::hit()
        } else {
            let evicted = self.shrink_to(self.window_most - 1, self.capacity - 1);
            self.window.push_front(key);
            ModelStep::admitted(evicted)
        };
        self.climb(step.hit);
        step
    }

    fn remove(&mut self, key: u32) {
        for list in [&mut self.window, &mut self.probation, &mut self.protected] {
            list.retain(|&other| other != key);
        }
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        let fitting = lines(capacity as u32);
        if fitting > self.lines || 4 * fitting <= self.lines {
            self.lines = fitting;
            self.counts.clear();
            self.counted = 0;
        }
        self.capacity = capacity;
        self.start();
        let mut evicted = Vec::new();
        while self.resident().len() > capacity {
            let leaving = self.window.back().copied().filter(|_| self.window.len() >= self.window_most);
            let loser = leaving.and_then(|candidate| self.loser(candidate)).or(self.main_victim()).expect("not empty");
            if let Some(winner) = leaving.filter(|&candidate| candidate != loser) {
                self.remove(winner);
                self.probation.push_front(winner);
            }
            self.remove(loser);
            evicted.push(loser);
        }
        evicted.extend(self.shrink_to(self.window_most, capacity));
        self.demote();
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.window.iter().chain(&self.probation).chain(&self.protected).copied().collect()
    }
}

impl WTinyLfu {
    fn start(&mut self) {
        self.window_most = share(&self.args, "window", self.capacity).clamp(1, self.capacity);
        self.step = 0.0625 * self.capacity as f64;
        self.before = 0.0;
        self.period.clear();
    }

    fn main_most(&self) -> usize {
        self.capacity - self.window_most
    }

    fn demote(&mut self) {
        let most = share(&self.args, "protected", self.main_most()).min(self.main_most());
        while self.protected.len() > most {
            let oldest = self.protected.pop_back().expect("more than a bound of at least 0");
            self.probation.push_front(oldest);
        }
    }

    fn main_victim(&self) -> Option<u32> {
        self.probation.back().or(self.protected.back()).copied()
    }

    fn shrink_to(&mut self, window: usize, total: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.window.len() > window {
            let full = self.resident().len() > total;
            let candidate = self.window.pop_back().expect("more than a bound of at least 0");
            let loser = if full { self.loser(candidate) } else { None };
            if loser != Some(candidate) {
                self.probation.push_front(candidate);
            }
            loser.into_iter().for_each(|key| self.remove(key));
            evicted.extend(loser);
        }
        while self.resident().len() > total {
            let victim = self.main_victim().expect("the window alone fits");
            self.remove(victim);
            evicted.push(victim);
        }
        evicted
    }

    /// Who leaves: the candidate or the main area's victim.
    fn loser(&mut self, candidate: u32) -> Option<u32> {
        let Some(victim) = self.main_victim() else { return Some(candidate) };
        let uses = self.estimate(candidate);
        let admit = uses > self.estimate(victim) || (uses >= 6 && self.random.below(128) == 0);
        Some(if admit { victim } else { candidate })
    }

    /// The four counters of a block.
    fn places(&self, key: u32) -> Vec<(usize, usize, u32)> {
        let (line, numbers) = counters(self.hashes[&key], self.lines);
        numbers.into_iter().enumerate().map(|(row, number)| (line, row, number)).collect()
    }

    fn estimate(&self, key: u32) -> u32 {
        self.places(key).iter().map(|place| self.counts.get(place).copied().unwrap_or(0)).min().expect("four counters")
    }

    fn count_use(&mut self, key: u32) {
        let below: Vec<_> = self
            .places(key)
            .into_iter()
            .filter(|place| self.counts.get(place).is_none_or(|&count| count < 15))
            .collect();
        self.counted += usize::from(!below.is_empty());
        below.into_iter().for_each(|place| *self.counts.entry(place).or_default() += 1);
        if self.counted >= 10 * self.capacity {
            self.counts.values_mut().for_each(|count| *count /= 2);
            self.counted /= 2;
        }
    }

    fn climb(&mut self, hit: bool) {
        self.period.push(hit);
        if !self.args.switch("climb") || self.period.len() < 10 * self.capacity {
            return;
        }
        let ratio = self.period.iter().filter(|&&hit| hit).count() as f64 / self.period.len() as f64;
        let change = ratio - self.before;
        if change < 0.0 {
            self.step = -self.step;
        }
        let window = (self.window_most as i64 + self.step as i64).clamp(1, self.capacity as i64);
        self.window_most = window as usize;
        self.demote();
        while self.window.len() > self.window_most {
            let oldest = self.window.pop_back().expect("more than a bound of at least 1");
            self.probation.push_front(oldest);
        }
        while self.probation.len() + self.protected.len() > self.main_most() {
            let oldest = self.main_victim().expect("more than a bound of at least 0");
            self.remove(oldest);
            self.window.push_front(oldest);
        }
        let restart = change.abs() >= 0.05;
        self.step = if restart { (0.0625 * self.capacity as f64).copysign(self.step) } else { 0.98 * self.step };
        self.before = ratio;
        self.period.clear();
    }
}
