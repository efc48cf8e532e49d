//! Two places to enter and the duel between them, over any order: shared by the models of DIP and RRIP.

use std::collections::BTreeSet;

use hotset_core::policy::{Args, Reference};
use hotset_core::random::Rng;

use crate::model::{Given, Model, ModelStep};

/// An order of eviction of a few keys.
pub(super) trait Order {
    fn new(args: &Args) -> Self;
    /// The word of `mode` for near insertion, and the one for bimodal insertion.
    const MODES: [&'static str; 2];
    fn keys(&self) -> Vec<u32>;
    fn renew(&mut self, key: u32);
    fn insert(&mut self, key: u32, far: bool);
    fn pop(&mut self) -> u32;
    fn remove(&mut self, key: u32);

    /// Pops until `len` keys are left.
    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        (len..self.keys().len()).map(|_| self.pop()).collect()
    }
}

pub(super) struct Bimodal<O> {
    args: Args,
    capacity: usize,
    cache: O,
    near: O,
    bimodal: O,
    counter: i32,
    random: Rng,
}

impl<O: Order> Model for Bimodal<O> {
    fn new(given: &Given<'_>) -> Bimodal<O> {
        let [cache, near, bimodal] = [(); 3].map(|()| O::new(given.args));
        let (args, random) = (given.args.clone(), Rng::new(given.seed));
        Bimodal { args, capacity: given.capacity, cache, near, bimodal, counter: 512, random }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let address = u64::from(reference.file) * (1 << 32) + u64::from(reference.block);
        if self.duels() && Rng::new(address).bits() <= u64::MAX / self.every() as u64 {
            self.watch(key);
        }
        if self.cache.keys().contains(&key) {
            self.cache.renew(key);
            return ModelStep::hit();
        }
        let evicted = self.cache.shrink_to(self.capacity - 1);
        let bimodal = if self.duels() { self.counter >= 512 } else { self.args.word("mode") == O::MODES[1] };
        let far = bimodal && self.draws_far();
        self.cache.insert(key, far);
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        for order in [&mut self.cache, &mut self.near, &mut self.bimodal] {
            order.remove(key);
        }
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        let before = self.every();
        self.capacity = capacity;
        let left = if self.every() == before { capacity / before } else { 0 };
        self.near.shrink_to(left);
        self.bimodal.shrink_to(left);
        self.cache.shrink_to(capacity)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.cache.keys().into_iter().collect()
    }
}

impl<O: Order> Bimodal<O> {
    fn duels(&self) -> bool {
        !O::MODES.contains(&self.args.word("mode"))
    }

    /// One block in this many is watched, so that the shadows have at least `shadow` blocks if the cache has.
    fn every(&self) -> usize {
        (self.args.count("duel") as usize).min(self.capacity / self.args.count("shadow") as usize).max(1)
    }

    fn draws_far(&mut self) -> bool {
        self.random.unit() >= self.args.real("epsilon")
    }

    fn watch(&mut self, key: u32) {
        let [near_hits, bimodal_hits] = [&self.near, &self.bimodal].map(|shadow| shadow.keys().contains(&key));
        self.counter = (self.counter + i32::from(bimodal_hits) - i32::from(near_hits)).clamp(0, 1023);
        let left = self.capacity / self.every() - 1;
        if near_hits {
            self.near.renew(key);
        } else {
            self.near.shrink_to(left);
            self.near.insert(key, false);
        }
        if bimodal_hits {
            self.bimodal.renew(key);
        } else {
            self.bimodal.shrink_to(left);
            let far = self.draws_far();
            self.bimodal.insert(key, far);
        }
    }
}
