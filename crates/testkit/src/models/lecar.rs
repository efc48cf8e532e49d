//! LeCaR by sorting the residents; the order of draws and the arithmetic of the weights are those of the policy's file.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};
use hotset_core::random::Rng;

use crate::model::{Given, Model, ModelStep, share};

pub(super) struct LeCar {
    capacity: usize,
    args: Args,
    now: u64,
    weight_lru: f64,
    random: Rng,
    /// By key: uses, time of the last one.
    resident: BTreeMap<u32, (u64, u64)>,
    /// Of LRU and of LFU, most recent first: key, uses, time of eviction.
    histories: [VecDeque<(u32, u64, u64)>; 2],
}

impl Model for LeCar {
    fn new(given: &Given<'_>) -> LeCar {
        LeCar {
            capacity: given.capacity,
            args: given.args.clone(),
            now: 0,
            weight_lru: 0.5,
            random: Rng::new(given.seed),
            resident: BTreeMap::new(),
            histories: [VecDeque::new(), VecDeque::new()],
        }
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        self.now += 1;
        if let Some((uses, last)) = self.resident.get_mut(&key) {
            (*uses, *last) = (*uses + 1, self.now);
            return ModelStep::hit();
        }
        let uses = self.regret(key) + 1;
        let evicted = (self.resident.len() == self.capacity).then(|| self.evict());
        self.resident.insert(key, (uses, self.now));
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        self.resident.remove(&key);
        self.histories.iter_mut().for_each(|history| history.retain(|&(other, ..)| other != key));
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        let surplus = self.resident.len().saturating_sub(capacity);
        let evicted = (0..surplus).map(|_| self.evict()).collect();
        self.trim();
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.resident.keys().copied().collect()
    }
}

impl LeCar {
    /// Takes `key` out of the history that has it and adapts the weights; gives its uses, 0 if it is in none.
    fn regret(&mut self, key: u32) -> u64 {
        let d = self.args.real("discount").powf(1.0 / self.capacity as f64);
        let mut weights = [self.weight_lru, 1.0 - self.weight_lru];
        for (history, weight) in self.histories.iter_mut().zip(&mut weights) {
            let Some(at) = history.iter().position(|&(other, ..)| other == key) else { continue };
            let (_, uses, left) = history.remove(at).expect("found there");
            *weight *= (-self.args.real("rate") * d.powf((self.now - left) as f64)).exp();
            self.weight_lru = (weights[0] / (weights[0] + weights[1])).clamp(0.01, 1.0 - 0.01);
            return uses;
        }
        0
    }

    fn evict(&mut self) -> u32 {
        let least = |order: fn(&(u64, u64)) -> (u64, u64)| {
            let least = self.resident.iter().min_by_key(|(_, known)| order(known));
            *least.expect("something is resident").0
        };
        let choices = [least(|&(_, last)| (last, 0)), least(|&known| known)];
        if choices[0] == choices[1] {
            self.resident.remove(&choices[0]);
            return choices[0];
        }
        let expert = usize::from(self.random.unit() >= self.weight_lru);
        let (uses, _) = self.resident.remove(&choices[expert]).expect("chosen among the residents");
        self.histories[expert].push_front((choices[expert], uses, self.now));
        self.trim();
        choices[expert]
    }

    fn trim(&mut self) {
        let most = share(&self.args, "ghosts", self.capacity);
        self.histories.iter_mut().for_each(|history| history.truncate(most));
    }
}
