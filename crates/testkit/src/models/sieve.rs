//! SIEVE as algorithm 1 of the paper states it: one list, newest first, a visited bit a block, and a hand that points
//! at a block.

use std::collections::BTreeSet;

use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

pub(super) struct Sieve {
    capacity: usize,
    /// Block and visited bit, newest first.
    list: Vec<(u32, bool)>,
    /// The block under the hand; `None` is the tail.
    hand: Option<u32>,
}

impl Model for Sieve {
    fn new(given: &Given<'_>) -> Sieve {
        Sieve { capacity: given.capacity, list: Vec::new(), hand: None }
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        if let Some((_, visited)) = self.list.iter_mut().find(|(block, _)| *block == key) {
            *visited = true;
            return ModelStep::hit();
        }
        let evicted = self.shrink_to(self.capacity - 1);
        self.list.insert(0, (key, false));
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        let Some(at) = self.list.iter().position(|&(block, _)| block == key) else { return };
        if self.hand == Some(key) {
            self.hand = self.towards_head(at);
        }
        self.list.remove(at);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        self.shrink_to(capacity)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.list.iter().map(|&(block, _)| block).collect()
    }
}

impl Sieve {
    fn towards_head(&self, at: usize) -> Option<u32> {
        at.checked_sub(1).map(|next| self.list[next].0)
    }

    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.list.len() > len {
            let under = self.hand.and_then(|hand| self.list.iter().position(|&(block, _)| block == hand));
            let at = under.unwrap_or(self.list.len() - 1);
            self.hand = self.towards_head(at);
            if self.list[at].1 {
                self.list[at].1 = false;
            } else {
                evicted.push(self.list.remove(at).0);
            }
        }
        evicted
    }
}
