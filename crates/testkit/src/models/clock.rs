//! CLOCK as a ring: pages in a circle, a hand, and a counter a page. The circle is written as a list that begins at the
//! hand, so that the page behind the hand, where a new one goes, is the last.

use std::collections::{BTreeSet, VecDeque};

use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

pub(super) struct Clock {
    capacity: usize,
    most: u32,
    initial: u32,
    /// References from one clearing of the counters to the next, and those since the last.
    clear: Option<u64>,
    since: u64,
    /// Page and counter, from the hand on.
    ring: VecDeque<(u32, u32)>,
}

impl Model for Clock {
    fn new(given: &Given<'_>) -> Clock {
        let (bits, initial) = (given.args.count("bits"), given.args.count("initial"));
        let clear = Some(given.args.count("clear")).filter(|&references| references > 0);
        let (most, initial) = ((1 << bits) - 1, initial as u32);
        Clock { capacity: given.capacity, most, initial, clear, since: 0, ring: VecDeque::new() }
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        if self.clear == Some(self.since) {
            self.ring.iter_mut().for_each(|(_, count)| *count = 0);
            self.since = 0;
        }
        self.since += 1;
        if let Some((_, count)) = self.ring.iter_mut().find(|(page, _)| *page == key) {
            *count = (*count + 1).min(self.most);
            return ModelStep::hit();
        }
        let evicted = self.shrink_to(self.capacity - 1);
        self.ring.push_back((key, self.initial));
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        self.ring.retain(|&(page, _)| page != key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        self.shrink_to(capacity)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.ring.iter().map(|&(page, _)| page).collect()
    }
}

impl Clock {
    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.ring.len() > len {
            let (page, count) = self.ring.pop_front().expect("the ring is not empty");
            if count == 0 {
                evicted.push(page);
            } else {
                self.ring.push_back((page, count - 1));
            }
        }
        evicted
    }
}
