//! LRU-K as the paper's figure states it, searching all pages for the victim.

use std::collections::{BTreeMap, BTreeSet};

use hotset_core::policy::{Args, Reference};

use crate::model::{Given, Model, ModelStep};

pub(super) struct LruK {
    args: Args,
    capacity: usize,
    time: u64,
    resident: BTreeSet<u32>,
    known: BTreeMap<u32, Uses>,
}

struct Uses {
    /// HIST(1) to HIST(K), 0 where there was none.
    hist: Vec<u64>,
    last: u64,
    /// The period of retention since the last use is not over.
    retained: bool,
}

impl Model for LruK {
    fn new(given: &Given<'_>) -> LruK {
        LruK {
            args: given.args.clone(),
            capacity: given.capacity,
            time: 0,
            resident: BTreeSet::new(),
            known: BTreeMap::new(),
        }
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        self.time += 1;
        let time = self.time;
        let step = if self.resident.contains(&key) {
            let Uses { hist, last, .. } = self.known.get_mut(&key).expect("a resident page has a history");
            if time - *last > self.args.count("crp") {
                let span = *last - hist[0];
                hist.insert(0, time);
                hist.pop();
                hist.iter_mut().skip(1).filter(|hist| **hist > 0).for_each(|hist| *hist += span);
            }
            *last = time;
            ModelStep::hit()
        } else {
            let evicted = (self.resident.len() == self.capacity).then(|| self.evict(time));
            let k = self.args.count("k") as usize;
            let uses = self.known.entry(key).or_insert(Uses { hist: vec![0; k], last: 0, retained: true });
            uses.hist.insert(0, time);
            uses.hist.pop();
            uses.last = time;
            self.resident.insert(key);
            ModelStep::admitted(evicted)
        };
        self.known.get_mut(&key).expect("just used").retained = true;
        self.expire();
        step
    }

    fn remove(&mut self, key: u32) {
        self.resident.remove(&key);
        self.known.remove(&key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        let surplus = self.resident.len().saturating_sub(capacity);
        let evicted = (0..surplus).map(|_| self.evict(self.time + 1)).collect();
        self.expire();
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.resident.clone()
    }
}

impl LruK {
    fn evict(&mut self, time: u64) -> u32 {
        let oldest = |key: &&u32| {
            let uses = &self.known[*key];
            (uses.hist.last().copied(), uses.last)
        };
        let eligible = |key: &&u32| time - self.known[*key].last > self.args.count("crp");
        let victim = self.resident.iter().filter(eligible).min_by_key(oldest);
        let least_recent = || self.resident.iter().min_by_key(|key| self.known[*key].last);
        let victim = *victim.or_else(least_recent).expect("a full cache has a victim");
        self.resident.remove(&victim);
        if !self.known[&victim].retained {
            self.known.remove(&victim);
        }
        victim
    }

    /// Ends periods that will be over at the next reference.
    fn expire(&mut self) {
        let Some(period) = self.args.multiple("rip", self.capacity as u32) else { return };
        for uses in self.known.values_mut() {
            uses.retained &= self.time - uses.last < u64::from(period);
        }
        let resident = &self.resident;
        self.known.retain(|key, uses| uses.retained || resident.contains(key));
    }
}
