//! Policies that need no order of hits do the same, victim by victim, whether they are called for every reference or
//! for faults alone.

use hotset_core::policy::Hits;
use hotset_core::registry;
use hotset_testkit::harness::Case;
use hotset_testkit::models::MODELS;
use hotset_testkit::pager::{Calls, replay_as};
use hotset_testkit::selection::{is_selected, on_all_cores};
use hotset_testkit::traces;
use hotset_testkit::world::World;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// The specs of the table of models that a bit is enough for, in their worlds.
fn specs() -> Vec<(String, World)> {
    let rows = MODELS.iter().filter(|row| is_selected(row.policy));
    let in_worlds =
        rows.flat_map(|row| row.specs().flat_map(|spec| row.worlds.iter().map(move |&world| (spec.clone(), world))));
    let is_enough = |spec: &str| {
        let case = Case::of(spec, 1);
        let entry = registry::find(case.policy).expect("registered");
        // Hosts refuse some specs of the models, as `demote` around a policy that classifies blocks.
        let requirements = entry.requirements(&case.args, case.capacity);
        !entry.info.offline && requirements.is_ok_and(|requirements| requirements.hits < Hits::Order)
    };
    in_worlds.filter(|(spec, _)| is_enough(spec)).collect()
}

#[test]
fn a_bit_of_the_host_is_as_good_as_every_reference() {
    on_all_cores(specs(), |(spec, world)| {
        for capacity in [1, 2, 3, 7, 40] {
            let case = Case::of(&spec, capacity).in_world(world);
            let config =
                Config { cases: 64, rng_seed: RngSeed::Fixed(2004), failure_persistence: None, ..Config::default() };
            let outcome = TestRunner::new(config).run(&traces::eventful(capacity * 3 + 2, capacity + 5), |events| {
                let [all, faults] = [Calls::All, Calls::Faults].map(|calls| replay_as(calls, &case, &events));
                prop_assert_eq!(all, faults, "{} at {}", spec, capacity);
                Ok(())
            });
            outcome.unwrap_or_else(|failure| panic!("{failure}"));
        }
    });
}

#[test]
fn which_policies_a_bit_is_enough_for() {
    if registry::all().all(|entry| is_selected(entry.info.name)) {
        let found: Vec<String> = specs().into_iter().map(|(spec, _)| spec).collect();
        for spec in ["car", "clock", "clock-pro", "fifo", "lifo", "random", "s3-fifo(promote=1, most=1)", "sieve"] {
            assert!(found.iter().any(|other| other == spec), "{spec} is not among {found:?}");
        }
        for spec in ["lru", "clock(clear=1)", "s3-fifo", "lirs"] {
            assert!(!found.iter().any(|other| other == spec), "{spec} is among {found:?}");
        }
    }
}
