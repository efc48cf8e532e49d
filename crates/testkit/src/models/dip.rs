//! DIP's order: LRU's list, oldest first.

use std::collections::VecDeque;

use hotset_core::policy::Args;

use super::bimodal::{Bimodal, Order};

pub(super) type Dip = Bimodal<Recency>;

pub(super) struct Recency(VecDeque<u32>);

impl Order for Recency {
    /// Near insertion has no name here: it is `lru`.
    const MODES: [&'static str; 2] = ["", "bip"];

    fn new(_: &Args) -> Recency {
        Recency(VecDeque::new())
    }

    fn keys(&self) -> Vec<u32> {
        self.0.iter().copied().collect()
    }

    fn renew(&mut self, key: u32) {
        self.remove(key);
        self.0.push_back(key);
    }

    fn insert(&mut self, key: u32, far: bool) {
        if far {
            self.0.push_front(key);
        } else {
            self.0.push_back(key);
        }
    }

    fn pop(&mut self) -> u32 {
        self.0.pop_front().expect("there is a victim")
    }

    fn remove(&mut self, key: u32) {
        self.0.retain(|&other| other != key);
    }
}
