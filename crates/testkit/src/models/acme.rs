//! ACME over the models of its experts; the arithmetic of the weights is that of the policy's file.

use std::collections::{BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};
use hotset_core::registry;

use crate::model::{Given, Model, ModelStep};

struct Expert {
    cache: Box<dyn Model>,
    /// Resident blocks that the virtual cache lacks, the first to leave in front.
    rejected: VecDeque<u32>,
    weight: f64,
}

impl Expert {
    fn holds(&self, key: u32) -> bool {
        self.cache.resident().contains(&key)
    }
}

pub(super) struct Acme {
    capacity: usize,
    args: Args,
    pool: Vec<Expert>,
    resident: BTreeSet<u32>,
    /// Blocks that left the real cache, the last one at the end.
    lost: VecDeque<u32>,
}

impl Model for Acme {
    fn new(given: &Given<'_>) -> Acme {
        let pool = ["lru", "mru", "lfu", "fifo", "random"].map(|name| {
            let entry = registry::find(name).expect("registered");
            let args = entry.defaults(None);
            let cache = super::model(name, &Given { args: &args, ..*given }).expect("every policy has a model");
            Expert { cache, rejected: VecDeque::new(), weight: 0.2 }
        });
        Acme {
            capacity: given.capacity,
            args: given.args.clone(),
            pool: pool.into(),
            resident: BTreeSet::new(),
            lost: VecDeque::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let mut missed = Vec::new();
        for expert in &mut self.pool {
            let step = expert.cache.access(key, reference);
            expert.rejected.retain(|&other| other != key);
            expert.rejected.extend(step.evicted.iter().filter(|other| self.resident.contains(other)));
            missed.push(!step.hit);
        }
        self.weigh(&missed);
        self.lost.retain(|&other| other != key);
        let hit = self.resident.contains(&key);
        let mut evicted = Vec::new();
        if !hit {
            evicted.extend((self.resident.len() == self.capacity).then(|| self.evict()));
            self.resident.insert(key);
        }
        let fetched: Vec<u32> = self.choose_fetch().into_iter().collect();
        for &key in &fetched {
            evicted.extend((self.resident.len() == self.capacity).then(|| self.evict()));
            self.resident.insert(key);
            self.lost.retain(|&other| other != key);
            self.pool.iter_mut().filter(|expert| !expert.holds(key)).for_each(|expert| expert.rejected.push_back(key));
        }
        ModelStep { hit, evicted, fetched, bypassed: false }
    }

    fn remove(&mut self, key: u32) {
        self.resident.remove(&key);
        self.lost.retain(|&other| other != key);
        for expert in &mut self.pool {
            expert.cache.remove(key);
            expert.rejected.retain(|&other| other != key);
        }
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        for expert in &mut self.pool {
            let evicted = expert.cache.resize(capacity);
            expert.rejected.extend(evicted.iter().filter(|other| self.resident.contains(other)));
        }
        let surplus = self.resident.len().saturating_sub(capacity);
        (0..surplus).map(|_| self.evict()).collect()
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.resident.clone()
    }
}

impl Acme {
    fn weigh(&mut self, missed: &[bool]) {
        let (beta, share) = (self.args.real("beta"), self.args.real("share"));
        if missed.contains(&false) {
            let blamed = self.pool.iter_mut().zip(missed).filter(|(_, missed)| **missed);
            blamed.for_each(|(expert, _)| expert.weight *= beta);
        }
        let sum: f64 = self.pool.iter().map(|expert| expert.weight).sum();
        for expert in &mut self.pool {
            expert.weight = ((1.0 - share) * expert.weight + share * sum / 5.0) / sum;
        }
    }

    fn best(&self) -> &Expert {
        let greatest = self.pool.iter().map(|expert| expert.weight).fold(0.0, f64::max);
        self.pool.iter().find(|expert| expert.weight == greatest).expect("one of them")
    }

    fn evict(&mut self) -> u32 {
        let victim = *self.best().rejected.front().expect("a full cache has a block that the best expert lacks");
        self.resident.remove(&victim);
        self.lost.push_back(victim);
        self.pool.iter_mut().for_each(|expert| expert.rejected.retain(|&other| other != victim));
        victim
    }

    fn choose_fetch(&self) -> Option<u32> {
        let candidates = || self.lost.iter().rev().copied().find(|&key| self.best().holds(key));
        self.args.switch("refetch").then(candidates).flatten()
    }
}
