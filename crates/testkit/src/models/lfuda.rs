//! LFUDA by its formula, sorting the residents: K = F + L, L = K of the last victim.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

pub(super) struct Lfuda {
    capacity: usize,
    time: u64,
    l: u64,
    pages: BTreeMap<u32, Page>,
}

struct Page {
    f: u64,
    k: u64,
    last: u64,
}

impl Model for Lfuda {
    fn new(given: &Given<'_>) -> Lfuda {
        Lfuda { capacity: given.capacity, time: 0, l: 0, pages: BTreeMap::new() }
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        self.time += 1;
        if let Some(page) = self.pages.get_mut(&key) {
            let f = page.f + 1;
            *page = Page { f, k: f + self.l, last: self.time };
            return ModelStep::hit();
        }
        let evicted = (self.pages.len() == self.capacity).then(|| self.evict());
        self.pages.insert(key, Page { f: 1, k: 1 + self.l, last: self.time });
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        self.pages.remove(&key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        let surplus = self.pages.len().saturating_sub(capacity);
        (0..surplus).map(|_| self.evict()).collect()
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.pages.keys().copied().collect()
    }
}

impl Lfuda {
    fn evict(&mut self) -> u32 {
        let least = self.pages.iter().min_by_key(|(_, page)| (page.k, page.last));
        let victim = *least.expect("a full cache has a victim").0;
        self.l = self.pages.remove(&victim).expect("it is resident").k;
        victim
    }
}
