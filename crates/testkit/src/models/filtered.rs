//! Any model, but some keys are not let in.

use std::collections::BTreeSet;

use hotset_core::classify::Class;
use hotset_core::policy::Reference;

use crate::model::{Given, Model, ModelStep};
use crate::models;

pub(super) struct Filtered<R> {
    inner: Box<dyn Model>,
    rule: R,
}

/// Which keys are not let in.
pub(super) trait Rule: Send {
    fn new(given: &Given<'_>) -> Self;
    fn refuses(&self, reference: &Reference) -> bool;
}

/// Those of one class.
pub(super) struct OfClass(Class);

impl Rule for OfClass {
    fn new(given: &Given<'_>) -> OfClass {
        let name = given.args.class("class");
        OfClass(given.args.rules_knowing(name).expect("a class of the tests").class(name).expect("known"))
    }

    fn refuses(&self, reference: &Reference) -> bool {
        reference.class == self.0
    }
}

/// Larger objects.
pub(super) struct Larger(u64);

impl Rule for Larger {
    fn new(given: &Given<'_>) -> Larger {
        Larger(given.args.bytes("max"))
    }

    fn refuses(&self, reference: &Reference) -> bool {
        u64::from(reference.bytes) > self.0
    }
}

impl<R: Rule> Model for Filtered<R> {
    fn new(given: &Given<'_>) -> Filtered<R> {
        Filtered { inner: models::inner(given, "policy", given.capacity), rule: R::new(given) }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        if self.rule.refuses(&reference) && !self.inner.resident().contains(&key) {
            return ModelStep::bypassed();
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
