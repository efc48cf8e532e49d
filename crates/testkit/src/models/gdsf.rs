//! GDSF by its formula, sorting the residents: K = F * C / S + L, L = K of the last victim.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

pub(super) struct Gdsf {
    capacity: usize,
    costs_packets: bool,
    time: u64,
    l: f64,
    objects: BTreeMap<u32, Object>,
}

#[derive(Clone, Copy)]
struct Object {
    f: u64,
    k: f64,
    last: u64,
}

impl Model for Gdsf {
    fn new(given: &Given<'_>) -> Gdsf {
        let costs_packets = given.args.word("cost") == "packets";
        Gdsf { capacity: given.capacity, costs_packets, time: 0, l: 0.0, objects: BTreeMap::new() }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        self.time += 1;
        let before = self.objects.get(&key).copied();
        let full = before.is_none() && self.objects.len() == self.capacity;
        let evicted = full.then(|| self.evict());
        let s = f64::from(reference.bytes.max(1));
        let c = if self.costs_packets { 2.0 + (f64::from(reference.bytes) / 536.0).ceil() } else { 1.0 };
        let f = before.map_or(0, |object| object.f) + 1;
        self.objects.insert(key, Object { f, k: self.l + f as f64 * c / s, last: self.time });
        if before.is_some() { ModelStep::hit() } else { ModelStep::admitted(evicted) }
    }

    fn remove(&mut self, key: u32) {
        self.objects.remove(&key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        let surplus = self.objects.len().saturating_sub(capacity);
        (0..surplus).map(|_| self.evict()).collect()
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.objects.keys().copied().collect()
    }
}

impl Gdsf {
    fn evict(&mut self) -> u32 {
        let order = |a: &Object, b: &Object| a.k.total_cmp(&b.k).then(a.last.cmp(&b.last));
        let least = self.objects.iter().min_by(|a, b| order(a.1, b.1));
        let victim = *least.expect("a full cache has a victim").0;
        self.l = self.objects.remove(&victim).expect("it is resident").k;
        victim
    }
}
