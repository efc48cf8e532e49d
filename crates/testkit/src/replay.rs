//! Runs a policy alone, as fast as it goes, and counts.

use hotset_core::policy::{Effects, Extra, Note, Outcome, Policy, Slot};
use hotset_core::registry::{self, Boxed, Visitor};

use crate::harness::{Case, future};
use crate::model::Given;
use crate::models;

/// The results of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayCounts {
    /// References to resident blocks.
    pub hits: u64,
    /// References after which the block was not kept.
    pub bypasses: u64,
    /// Blocks read ahead of their use.
    pub fetches: u64,
    /// Victims, in order.
    pub evicted: Vec<Slot>,
}

/// Replays `trace`, whose keys are numbered densely from 0, and counts. The numbering of `case` is ignored: slots are
/// keys.
pub fn replay(case: &Case, trace: &[u32]) -> ReplayCounts {
    struct Run<'a>(&'a Case, &'a [u32]);
    impl Visitor for Run<'_> {
        type Output = ReplayCounts;
        fn visit<P: Policy + 'static>(self) -> ReplayCounts {
            match self.0.world.weighs() {
                true => self.run::<Boxed<P>>(),
                false => self.run::<P>(),
            }
        }
    }
    impl Run<'_> {
        fn run<P: Policy>(self) -> ReplayCounts {
            let Run(case, trace) = self;
            let future = P::INFO.offline.then(|| future(trace.to_vec()));
            let slots = trace.iter().max().map_or(0, |&last| last + 1);
            let mut policy = case.build(slots, future.as_ref(), P::new);
            let (mut counts, mut seen) = (ReplayCounts::default(), Seen::default());
            for (&slot, reference) in trace.iter().zip(case.references(trace)) {
                seen.clock = reference.clock;
                let outcome = policy.access(slot, reference, &mut seen);
                counts.hits += u64::from(outcome == Outcome::Hit);
                counts.bypasses += u64::from(outcome == Outcome::Bypassed);
            }
            ReplayCounts { evicted: seen.evicted, fetches: seen.fetches, ..counts }
        }
    }
    registry::visit(case.policy, Run(case, trace)).expect("a registered policy")
}

/// Hits of the policy's model on such a trace.
pub fn model_hits(case: &Case, trace: &[u32]) -> u64 {
    let references = case.references(trace);
    let given =
        Given { capacity: case.capacity as usize, args: &case.args, seed: case.seed, trace, references: &references };
    let mut model = models::model(case.policy, &given).unwrap_or_else(|| panic!("{} has no model", case.policy));
    trace.iter().zip(&references).filter(|&(&key, &reference)| model.access(key, reference).hit).count() as u64
}

/// Numbers keys densely from 0, in the order of their first appearance.
pub fn renumber(keys: impl IntoIterator<Item = u64>) -> Vec<u32> {
    let mut numbers = std::collections::HashMap::new();
    let mut number = |key| {
        let next = numbers.len() as u32;
        *numbers.entry(key).or_insert(next)
    };
    keys.into_iter().map(&mut number).collect()
}

#[derive(Default)]
struct Seen {
    evicted: Vec<Slot>,
    fetches: u64,
    /// The clock of the reference at hand.
    clock: u64,
}

impl Effects for Seen {
    fn evict(&mut self, slot: Slot) {
        self.evicted.push(slot);
    }

    fn fetch(&mut self, _slot: Slot, _why: Extra) {
        self.fetches += 1;
    }

    fn forget(&mut self, _slot: Slot) {}

    fn storage_busy(&self) -> Option<u64> {
        Some(crate::world::storage_busy(self.clock))
    }

    #[inline(always)]
    fn take_accessed(&mut self, _slot: Slot) -> bool {
        false
    }

    fn note(&mut self, _note: &Note) {}
}
