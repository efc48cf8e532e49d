//! S3-FIFO as algorithm 1 of the paper states it, newest first, with the readings that the policy's file gives.

use std::collections::{BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};

use crate::model::{Given, Model, Step, share};

pub(super) struct S3Fifo {
    capacity: usize,
    args: Args,
    /// Block and hits.
    small: VecDeque<(u32, u32)>,
    main: VecDeque<(u32, u32)>,
    ghosts: VecDeque<u32>,
}

impl Model for S3Fifo {
    fn new(given: &Given<'_>) -> S3Fifo {
        S3Fifo {
            capacity: given.capacity,
            args: given.args.clone(),
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghosts: VecDeque::new(),
        }
    }

    fn access(&mut self, key: u32, _: Reference) -> Step {
        if let Some((_, hits)) = self.small.iter_mut().chain(&mut self.main).find(|(block, _)| *block == key) {
            *hits = (*hits + 1).min(self.args.count("most") as u32);
            return Step::hit();
        }
        let full = self.small.len() + self.main.len() == self.capacity;
        let evicted = full.then(|| self.evict());
        if self.ghosts.contains(&key) {
            self.ghosts.retain(|&other| other != key);
            self.main.push_front((key, 0));
        } else {
            self.small.push_front((key, 0));
        }
        Step::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        self.small.retain(|&(block, _)| block != key);
        self.main.retain(|&(block, _)| block != key);
        self.ghosts.retain(|&block| block != key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        let surplus = (self.small.len() + self.main.len()).saturating_sub(capacity);
        let evicted = (0..surplus).map(|_| self.evict()).collect();
        self.ghosts.truncate(self.share("ghost"));
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.small.iter().chain(&self.main).map(|&(block, _)| block).collect()
    }
}

impl S3Fifo {
    fn share(&self, key: &str) -> usize {
        share(&self.args, key, self.capacity)
    }

    fn evict(&mut self) -> u32 {
        loop {
            if self.small.len() >= self.share("small").max(1) || self.main.is_empty() {
                let (block, hits) = self.small.pop_back().expect("one of the queues holds blocks");
                if u64::from(hits) < self.args.count("promote") {
                    self.ghosts.push_front(block);
                    self.ghosts.truncate(self.share("ghost"));
                    return block;
                }
                self.main.push_front((block, 0));
            } else {
                let (block, hits) = self.main.pop_back().expect("checked above");
                if hits == 0 {
                    return block;
                }
                self.main.push_front((block, hits - 1));
            }
        }
    }
}
