//! Every policy does what its reference model does.

use hotset_core::registry;
use hotset_testkit::harness::Case;
use hotset_testkit::host::Numbering;
use hotset_testkit::{models, traces};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// Capacities at which rounding and corner cases differ, and one that holds most of a small trace.
const CAPACITIES: [u32; 5] = [1, 2, 3, 7, 64];

/// Schemes that are not ordered like a policy of `capacity` blocks of one size, and have tests of their own.
const OTHER_UNITS: &[&str] = &["attribute", "unix"];

/// Names of all policies, and of the schemes that count in blocks of one size.
fn tested() -> impl Iterator<Item = &'static str> {
    registry::all().map(|entry| entry.info.name).filter(|name| !OTHER_UNITS.contains(name))
}

#[test]
fn every_policy_has_a_model_and_every_model_a_policy() {
    let mut policies: Vec<&str> = tested().collect();
    let mut models: Vec<&str> = models::MODELS.iter().map(|(name, _)| *name).collect();
    policies.sort_unstable();
    models.sort_unstable();
    assert_eq!(policies, models);
}

#[test]
fn all_traces_of_eight_references_over_four_keys() {
    on_two_cores(|name| {
        for capacity in 1..=3 {
            let case = Case::new(name, capacity);
            for (first, trace) in traces::all(4, 8) {
                case.check_from(first, &traces::events(&trace)).unwrap_or_else(|what| panic!("{trace:?}: {what}"));
            }
        }
    });
}

#[test]
fn longer_traces() {
    on_two_cores(|name| {
        for capacity in CAPACITIES {
            let case = Case::new(name, capacity);
            fuzz(64, traces::any(capacity * 3 + 2), |trace| case.check(&traces::events(trace)).map(drop));
        }
    });
}

#[test]
fn removals_and_resizes() {
    on_two_cores(|name| {
        for capacity in CAPACITIES {
            let case = Case::new(name, capacity);
            fuzz(64, traces::eventful(capacity * 3 + 2, capacity + 5), |events| case.check(events).map(drop));
        }
    });
}

/// A host that gives forgotten slots to other blocks sees what one that never does sees, so `forget` is called when it may be.
#[test]
fn recycled_slots() {
    on_two_cores(|name| {
        if registry::find(name).is_some_and(|entry| entry.info.offline) {
            return; // The future is told in slots that stand for one block throughout.
        }
        for capacity in CAPACITIES {
            let case = Case::new(name, capacity).numbered(Numbering::Recycled);
            fuzz(64, traces::eventful(capacity * 3 + 2, capacity + 5), |events| case.check(events).map(drop));
        }
    });
}

/// Runs `check` for every registered policy, or for those that the environment variable `HOTSET_POLICIES` names, split by commas.
fn on_two_cores(check: impl Fn(&'static str) + Sync) {
    let wanted = std::env::var("HOTSET_POLICIES").ok();
    let is_wanted = |name: &&str| wanted.as_ref().is_none_or(|list| list.split(',').any(|other| other == *name));
    let names: Vec<&str> = tested().filter(is_wanted).collect();
    let (even, odd): (Vec<_>, Vec<_>) = names.iter().enumerate().partition(|(number, _)| number % 2 == 0);
    std::thread::scope(|scope| {
        for half in [even, odd] {
            let check = &check;
            scope.spawn(move || half.into_iter().for_each(|(_, name)| check(name)));
        }
    });
}

/// Runs `check` on `cases` values, the same ones every time, and shrinks one that fails.
fn fuzz<S: Strategy>(cases: u32, strategy: S, check: impl Fn(&S::Value) -> Result<(), String>) {
    let config = Config { cases, rng_seed: RngSeed::Fixed(2020), failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&strategy, |value| check(&value).map_err(TestCaseError::fail));
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
