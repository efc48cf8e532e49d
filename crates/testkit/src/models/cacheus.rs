//! CACHEUS on plain lists, most recent first; the order of draws and the arithmetic are those of the policy's file.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};
use hotset_core::random::Rng;

use crate::model::{Given, Model, ModelStep, share};

/// Key, and whether it was demoted (in S) or new (in the history of SR-LRU).
type List = VecDeque<(u32, bool)>;

pub(super) struct Cacheus {
    capacity: usize,
    args: Args,
    now: u64,
    scan_size: usize,
    scan: List,
    reused: List,
    /// Of SR-LRU and of CR-LFU.
    histories: [List; 2],
    /// By key, of residents and ghosts: uses, time of the last one.
    uses: BTreeMap<u32, (u64, u64)>,
    weight_lru: f64,
    random: Rng,
    rates: [f64; 2],
    ratio: f64,
    idle: usize,
    period: Vec<bool>,
}

impl Model for Cacheus {
    fn new(given: &Given<'_>) -> Cacheus {
        let scan = given.args.share_rounded("scan", given.capacity as u32).expect("no size in bytes") as usize;
        let mut model = Cacheus {
            capacity: given.capacity,
            args: given.args.clone(),
            now: 0,
            scan_size: scan,
            scan: List::new(),
            reused: List::new(),
            histories: [List::new(), List::new()],
            uses: BTreeMap::new(),
            weight_lru: 0.5,
            random: Rng::new(given.seed),
            rates: [0.0, 0.0],
            ratio: 0.0,
            idle: 0,
            period: Vec::new(),
        };
        model.rates[1] = model.first_rate();
        model.set_scan_size(scan as i64);
        model
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        self.now += 1;
        let step = if self.resident().contains(&key) {
            self.hit(key);
            ModelStep::hit()
        } else {
            ModelStep::admitted(self.miss(key))
        };
        let (uses, last) = self.uses.entry(key).or_default();
        (*uses, *last) = (*uses + 1, self.now);
        self.adapt_rate(step.hit);
        step
    }

    fn remove(&mut self, key: u32) {
        let [by_lru, by_lfu] = &mut self.histories;
        for list in [&mut self.scan, &mut self.reused, by_lru, by_lfu] {
            list.retain(|&(other, _)| other != key);
        }
        self.uses.remove(&key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        self.set_scan_size(self.scan_size as i64);
        let surplus = self.resident().len().saturating_sub(capacity);
        let evicted = (0..surplus).map(|_| self.evict()).collect();
        self.trim();
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.scan.iter().chain(&self.reused).map(|&(key, _)| key).collect()
    }
}

impl Cacheus {
    fn set_scan_size(&mut self, size: i64) {
        self.scan_size = (size.max(1) as usize).min((self.capacity - 1).max(1));
        self.demote();
    }

    fn demote(&mut self) {
        while self.reused.len() > self.capacity - self.scan_size {
            let (key, _) = self.reused.pop_back().expect("more than a size of at least 0");
            self.scan.push_front((key, true));
        }
    }

    /// Demoted blocks in S, new ones in the history of SR-LRU.
    fn counts(&self) -> [f64; 2] {
        [&self.scan, &self.histories[0]].map(|list| list.iter().filter(|&&(_, marked)| marked).count() as f64)
    }

    fn hit(&mut self, key: u32) {
        if self.scan.contains(&(key, true)) {
            let [demoted, new] = self.counts();
            // What R loses or gets by this is at the MRU end of S, or not in R.
            self.set_scan_size(self.scan_size as i64 - (new / demoted).round().max(1.0) as i64);
        }
        self.scan.retain(|&(other, _)| other != key);
        self.reused.retain(|&(other, _)| other != key);
        self.reused.push_front((key, false));
        self.demote();
    }

    fn miss(&mut self, key: u32) -> Option<u32> {
        if self.histories[0].contains(&(key, true)) {
            let [demoted, new] = self.counts();
            self.set_scan_size(self.scan_size as i64 + (demoted / new).round().max(1.0) as i64);
        }
        let known = self.regret(key);
        let evicted = (self.resident().len() == self.capacity).then(|| self.evict());
        let fills = self.scan.is_empty() && self.reused.len() < self.capacity - self.scan_size;
        if known || fills {
            self.reused.push_front((key, false));
            self.demote();
        } else {
            self.scan.push_front((key, false));
        }
        evicted
    }

    /// Takes `key` out of its history and blames the expert; false if it is in none.
    fn regret(&mut self, key: u32) -> bool {
        let mut weights = [self.weight_lru, 1.0 - self.weight_lru];
        for (history, weight) in self.histories.iter_mut().zip(&mut weights) {
            let Some(at) = history.iter().position(|&(other, _)| other == key) else { continue };
            history.remove(at);
            *weight *= (-self.rates[1]).exp();
            self.weight_lru = (weights[0] / (weights[0] + weights[1])).clamp(0.01, 1.0 - 0.01);
            return true;
        }
        false
    }

    fn evict(&mut self) -> u32 {
        let &(oldest, demoted) = self.scan.back().expect("a full cache has blocks in S");
        let order = |key: &u32| (self.uses[key].0, std::cmp::Reverse(self.uses[key].1));
        let rarest = self.resident().into_iter().min_by_key(order).expect("something is resident");
        if oldest == rarest {
            self.remove(oldest);
            return oldest;
        }
        let expert = usize::from(self.random.unit() >= self.weight_lru);
        let victim = [oldest, rarest][expert];
        let uses = self.uses[&victim];
        self.remove(victim);
        self.uses.insert(victim, uses);
        self.histories[expert].push_front((victim, expert == 0 && !demoted));
        self.trim();
        victim
    }

    fn trim(&mut self) {
        let most = share(&self.args, "ghosts", self.capacity);
        for history in &mut self.histories {
            for (key, _) in history.drain(history.len().min(most)..) {
                self.uses.remove(&key);
            }
        }
    }

    fn first_rate(&self) -> f64 {
        (2.0 * std::f64::consts::LN_2 / self.capacity as f64).sqrt().clamp(0.001, 1.0)
    }

    fn adapt_rate(&mut self, hit: bool) {
        self.period.push(hit);
        if self.period.len() < self.capacity {
            return;
        }
        let ratio = self.period.iter().filter(|&&hit| hit).count() as f64 / self.period.len() as f64;
        let [before, rate] = self.rates;
        let (gain, moved) = (ratio - self.ratio, rate - before);
        let step = (rate * moved).abs();
        self.idle = match gain * moved == 0.0 {
            true => self.idle + usize::from(gain <= 0.0),
            false => 0,
        };
        let adapted = if gain * moved > 0.0 {
            rate + step
        } else if gain * moved < 0.0 {
            rate - step
        } else if self.idle == 10 {
            self.idle = 0;
            self.first_rate()
        } else if gain < 0.0 {
            match rate {
                1.0.. => 0.9,
                ..=0.001 => 0.005,
                _ if self.random.below(2) == 0 => rate * 1.25,
                _ => rate * 0.75,
            }
        } else {
            rate
        };
        self.rates = [rate, adapted.clamp(0.001, 1.0)];
        self.ratio = ratio;
        self.period.clear();
    }
}
