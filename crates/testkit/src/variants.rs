//! A policy against its model where parameters differ from the defaults.

use hotset_core::registry;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::harness::Case;
use crate::host::Numbering;
use crate::traces;
use crate::world::World;

/// Checks the policy with each set of arguments, on all small traces and on random ones with removals and resizes.
pub fn check(policy: &str, variants: &[&[(&str, &str)]]) {
    check_in(World::default(), policy, variants);
}

/// Like [`check`], with the blocks in this world.
pub fn check_in(world: World, policy: &str, variants: &[&[(&str, &str)]]) {
    for arguments in variants {
        let case = |capacity| {
            let case = Case::new(policy, capacity).in_world(world);
            arguments.iter().fold(case, |case, (key, value)| case.with(key, value))
        };
        for capacity in 1..=3 {
            for (first, trace) in traces::all(4, 7) {
                let outcome = case(capacity).check_from(first, &traces::events(&trace));
                outcome.unwrap_or_else(|what| panic!("{arguments:?}, {trace:?}: {what}"));
            }
        }
        // The future is told in slots that stand for one block throughout.
        let is_offline = registry::find(policy).is_some_and(|entry| entry.info.offline);
        let numberings = if is_offline { &[Numbering::Fixed][..] } else { &[Numbering::Fixed, Numbering::Recycled] };
        for capacity in [1, 2, 3, 7, 40] {
            for &numbering in numberings {
                let case = case(capacity).numbered(numbering);
                let config =
                    Config { cases: 16, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..Config::default() };
                let outcome = TestRunner::new(config)
                    .run(&traces::eventful(capacity * 3 + 2, capacity + 5), |events| {
                        case.check(&events).map(drop).map_err(TestCaseError::fail)
                    });
                outcome.unwrap_or_else(|failure| panic!("{arguments:?}: {failure}"));
            }
        }
    }
}
