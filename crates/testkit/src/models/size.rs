//! Any model, but larger objects are not let in.

use std::collections::BTreeSet;

use hotset_core::policy::Reference;

use crate::model::{Given, Model, Step};
use crate::models;

pub(super) struct Size {
    inner: Box<dyn Model>,
    max: u64,
}

impl Model for Size {
    fn new(given: &Given<'_>) -> Size {
        Size { inner: models::inner(given, "policy", given.capacity), max: given.args.bytes("max") }
    }

    fn access(&mut self, key: u32, reference: Reference) -> Step {
        if u64::from(reference.bytes) > self.max && !self.inner.resident().contains(&key) {
            return Step::bypassed();
        }
        self.inner.access(key, reference)
    }

    fn remove(&mut self, key: u32) {
        self.inner.remove(key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.inner.resize(capacity)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.inner.resident()
    }
}
