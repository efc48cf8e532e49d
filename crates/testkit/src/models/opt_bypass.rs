//! OPT that may refuse a block: one that is used again later than every resident, or never.

use std::collections::BTreeSet;

use super::opt::Opt;
use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

pub(super) struct OptBypass(Opt);

impl Model for OptBypass {
    fn new(given: &Given<'_>) -> OptBypass {
        OptBypass(Opt::new(given))
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        let opt = &mut self.0;
        if opt.renew(key) {
            return ModelStep::hit();
        }
        let own = opt.distance(key);
        let later = |&other: &u32| opt.distance(other) >= own;
        let refused = own == usize::MAX || !opt.order.iter().any(later);
        if opt.order.len() == opt.capacity && refused {
            return ModelStep::bypassed();
        }
        let evicted = opt.shrink_to(opt.capacity - 1);
        opt.order.push_back(key);
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        self.0.remove(key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.0.resize(capacity)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.0.resident()
    }
}
