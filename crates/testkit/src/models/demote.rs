//! Two models, one above the other: an eviction of the upper one is a reference in the lower one.

use std::collections::BTreeSet;

use hotset_core::policy::{Args, Reference};

use crate::model::{Given, Model, ModelStep, share};
use crate::models;

pub(super) struct Demote {
    args: Args,
    client: Box<dyn Model>,
    array: Box<dyn Model>,
    array_size: usize,
    only_reused: bool,
    is_inclusive: bool,
    /// Blocks that hit when they were referenced last.
    reused: BTreeSet<u32>,
}

fn client_size(args: &Args, capacity: usize) -> usize {
    share(args, "client", capacity).min(capacity.saturating_sub(1)).max(1)
}

impl Model for Demote {
    fn new(given: &Given<'_>) -> Demote {
        let client = client_size(given.args, given.capacity);
        let array_size = given.capacity - client;
        Demote {
            args: given.args.clone(),
            client: models::inner(given, "upper", client),
            array: models::inner(given, "lower", array_size.max(1)),
            array_size,
            only_reused: given.args.word("admit") == "reused",
            is_inclusive: given.args.word("levels") == "inclusive",
            reused: BTreeSet::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let below = self.array.resident().contains(&key);
        let upper = self.client.access(key, reference);
        let demoted: Vec<u32> = upper.evicted.into_iter().filter(|&victim| !self.stays(victim)).collect();
        let mut evicted = Vec::new();
        if below && upper.bypassed {
            evicted = self.touch(key, reference);
        } else if below && self.is_inclusive && !upper.hit && !reference.write {
            let told = Reference { time: reference.time, ..Reference::default() };
            evicted = self.touch(key, told);
        } else if below && (!upper.hit || reference.write) {
            self.array.remove(key);
        }
        if upper.hit || below {
            self.reused.insert(key);
        } else {
            self.reused.remove(&key);
        }
        evicted.extend(self.send_down(demoted, reference.time));
        ModelStep { hit: upper.hit || below, evicted, bypassed: upper.bypassed && !below, fetched: upper.fetched }
    }

    fn remove(&mut self, key: u32) {
        self.client.remove(key);
        self.array.remove(key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        let client = client_size(&self.args, capacity);
        self.array_size = capacity - client;
        let mut evicted = self.array.resize(self.array_size.max(1));
        if self.array_size == 0 {
            for key in self.array.resident() {
                self.array.remove(key);
                evicted.push(key);
            }
        }
        let mut evicted = self.gone(evicted);
        let demoted = self.client.resize(client).into_iter().filter(|&victim| !self.stays(victim)).collect();
        // Blocks from the client take the places that the array's own shrinking left.
        evicted.extend(self.send_down(demoted, 0));
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.client.resident().union(&self.array.resident()).copied().collect()
    }
}

impl Demote {
    /// The array has what the client evicts.
    fn stays(&self, victim: u32) -> bool {
        self.is_inclusive && self.array.resident().contains(&victim)
    }

    /// The array receives a reference to a block that it has.
    fn touch(&mut self, key: u32, reference: Reference) -> Vec<u32> {
        let evicted = self.array.access(key, reference).evicted;
        self.gone(evicted)
    }

    /// Blocks that the array evicts and that the client does not hold either.
    fn gone(&self, evicted: Vec<u32>) -> Vec<u32> {
        evicted.into_iter().filter(|key| !self.client.resident().contains(key)).collect()
    }

    fn send_down(&mut self, demoted: Vec<u32>, time: u64) -> Vec<u32> {
        let mut evicted = Vec::new();
        for key in demoted {
            if self.array_size == 0 || (self.only_reused && !self.reused.contains(&key)) {
                evicted.push(key);
                continue;
            }
            let step = self.array.access(key, Reference { time, ..Reference::default() });
            evicted.extend(self.gone(step.evicted));
            if step.bypassed {
                evicted.push(key);
            }
        }
        evicted
    }
}
