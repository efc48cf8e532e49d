//! Reference models.
//!
//! A model is a policy written a second time, from its published statement and not from the fast code: deliberately
//! slow and plain, on `VecDeque` and `BTreeMap`, over keys instead of slots.

use std::collections::BTreeSet;

use hotset_core::policy::{Args, Reference};

/// What one reference did, in keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelStep {
    /// The block was resident before the reference.
    pub hit: bool,
    /// Blocks whose data left, in the order they left.
    pub evicted: Vec<u32>,
    /// Blocks that were read ahead of their use, in the order they came.
    pub fetched: Vec<u32>,
    /// The block was not kept.
    pub bypassed: bool,
}

impl ModelStep {
    /// A hit that evicted nothing.
    pub fn hit() -> ModelStep {
        ModelStep { hit: true, ..ModelStep::default() }
    }

    /// A miss that brought the block in, after evicting these.
    pub fn admitted(evicted: impl IntoIterator<Item = u32>) -> ModelStep {
        ModelStep { evicted: evicted.into_iter().collect(), ..ModelStep::default() }
    }

    /// A miss that kept nothing.
    pub fn bypassed() -> ModelStep {
        ModelStep { bypassed: true, ..ModelStep::default() }
    }
}

/// All that a model is built from.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    /// Blocks that may be resident, at least 1.
    pub capacity: usize,
    /// The policy's parameters.
    pub args: &'a Args,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The keys of the whole trace, for the policies that know the future.
    pub trace: &'a [u32],
    /// The facts of each reference of the trace.
    pub references: &'a [Reference],
}

impl Given<'_> {
    /// A `ParamKind::Share` in blocks.
    pub fn share(&self, key: &str) -> usize {
        share(self.args, key, self.capacity)
    }
}

/// A `ParamKind::Share` in blocks out of `capacity`; the tests give no sizes in bytes, so it is never refused.
pub fn share(args: &Args, key: &str, capacity: usize) -> usize {
    args.share(key, capacity as u32).expect("tests give shares that need no block size") as usize
}

/// A slow reference model of a policy.
pub trait Model {
    /// An empty cache.
    fn new(given: &Given<'_>) -> Self
    where
        Self: Sized;

    /// References `key`.
    fn access(&mut self, key: u32, reference: Reference) -> ModelStep;

    /// `key` became invalid: it is dropped from wherever it is, resident or ghost.
    fn remove(&mut self, key: u32);

    /// Changes the capacity; returns the evicted keys in order.
    fn resize(&mut self, capacity: usize) -> Vec<u32>;

    /// The resident keys.
    fn resident(&self) -> BTreeSet<u32>;

    /// The resident keys in the order in which the policy values them, the most valued first; `None` if that is not
    /// defined.
    fn order(&self) -> Option<Vec<u32>> {
        None
    }

    /// True if something is known of `key`. Models whose ghosts matter to others say what they remember besides the
    /// resident keys.
    fn remembers(&self, key: u32) -> bool {
        self.resident().contains(&key)
    }
}
