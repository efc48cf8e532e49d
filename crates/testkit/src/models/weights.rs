//! What blocks weigh, for the models of policies that weigh them.

use std::collections::BTreeMap;

use hotset_core::policy::Reference;

/// What each key weighed when it was referred to last.
#[derive(Default)]
pub(super) struct Weights(BTreeMap<u32, usize>);

impl Weights {
    /// Notes the weight of `key` and gives it.
    pub fn note(&mut self, key: u32, reference: Reference) -> usize {
        self.0.insert(key, reference.weight as usize);
        reference.weight as usize
    }

    pub fn sum<'a>(&self, keys: impl IntoIterator<Item = &'a u32>) -> usize {
        keys.into_iter().map(|key| self.0[key]).sum()
    }
}
