//! Two models, one above the other: what the upper one evicts is referenced in the lower one.

use std::collections::BTreeSet;

use hotset_core::policy::{Args, Reference};

use crate::model::{Given, Model, Step, share};
use crate::models;

pub(super) struct Demote {
    args: Args,
    client: Box<dyn Model>,
    array: Box<dyn Model>,
    array_size: usize,
    only_reused: bool,
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
            reused: BTreeSet::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> Step {
        let below = self.array.resident().contains(&key);
        let upper = self.client.access(key, reference);
        if below && upper.bypassed {
            self.array.access(key, reference);
        } else if below {
            self.array.remove(key);
        }
        if upper.hit || below {
            self.reused.insert(key);
        } else {
            self.reused.remove(&key);
        }
        let evicted = self.send_down(upper.evicted, reference.time);
        Step { hit: upper.hit || below, evicted, bypassed: upper.bypassed && !below, fetched: upper.fetched }
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
        let demoted = self.client.resize(client);
        // What the client gives up takes the places that the array's own shrinking left.
        evicted.extend(self.send_down(demoted, 0));
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.client.resident().union(&self.array.resident()).copied().collect()
    }
}

impl Demote {
    fn send_down(&mut self, demoted: Vec<u32>, time: u64) -> Vec<u32> {
        let mut evicted = Vec::new();
        for key in demoted {
            if self.array_size == 0 || (self.only_reused && !self.reused.contains(&key)) {
                evicted.push(key);
                continue;
            }
            let step = self.array.access(key, Reference { time, ..Reference::default() });
            evicted.extend(step.evicted);
            if step.bypassed {
                evicted.push(key);
            }
        }
        evicted
    }
}
