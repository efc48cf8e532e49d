//! One cache for all applications: the model of its policy.

use std::collections::BTreeSet;

use hotset_core::policy::Reference;

use crate::model::{Given, Model, ModelStep};
use crate::models;

pub(super) struct Shared(Box<dyn Model>);

impl Model for Shared {
    fn new(given: &Given<'_>) -> Shared {
        Shared(models::inner(given, "policy", given.capacity))
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        self.0.access(key, reference)
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
