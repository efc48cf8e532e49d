//! RRIP's order as the paper's hardware keeps it: each block has a re-reference prediction value; a scan finds the
//! first block with the greatest one, and raises all by one if none has it. The blocks are in the order in which they
//! were given their values; those that entered with the greatest value come before them.

use std::collections::VecDeque;

use hotset_core::policy::Args;

use super::bimodal::{Bimodal, Order};

pub(super) type Rrip = Bimodal<Predictions>;

pub(super) struct Predictions {
    most: u32,
    values: VecDeque<(u32, u32)>,
}

impl Order for Predictions {
    const MODES: [&'static str; 2] = ["srrip", "brrip"];

    fn new(args: &Args) -> Predictions {
        Predictions { most: 2u32.pow(args.count("bits") as u32) - 1, values: VecDeque::new() }
    }

    fn keys(&self) -> Vec<u32> {
        self.values.iter().map(|&(key, _)| key).collect()
    }

    fn renew(&mut self, key: u32) {
        if !self.values.contains(&(key, 0)) {
            self.remove(key);
            self.values.push_back((key, 0));
        }
    }

    fn insert(&mut self, key: u32, far: bool) {
        if far {
            self.values.push_front((key, self.most));
        } else {
            self.values.push_back((key, self.most - 1));
        }
    }

    fn pop(&mut self) -> u32 {
        loop {
            if let Some(distant) = self.values.iter().position(|&(_, value)| value == self.most) {
                return self.values.remove(distant).expect("it was found there").0;
            }
            self.values.iter_mut().for_each(|(_, value)| *value += 1);
        }
    }

    fn remove(&mut self, key: u32) {
        self.values.retain(|&(other, _)| other != key);
    }
}
