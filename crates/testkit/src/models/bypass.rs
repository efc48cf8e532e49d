//! Any model, but keys of one class are not let in.

use std::collections::BTreeSet;

use hotset_core::classify::Class;
use hotset_core::policy::Reference;

use crate::model::{Given, Model, Step};
use crate::models;

pub(super) struct Bypass {
    inner: Box<dyn Model>,
    class: Class,
}

impl Model for Bypass {
    fn new(given: &Given<'_>) -> Bypass {
        let name = given.args.class("class");
        let class = given.args.rules_knowing(name).expect("a class of the tests").class(name).expect("known");
        Bypass { inner: models::inner(given, "policy", given.capacity), class }
    }

    fn access(&mut self, key: u32, reference: Reference) -> Step {
        if reference.class == self.class && !self.inner.resident().contains(&key) {
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
