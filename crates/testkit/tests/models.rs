//! Every policy does what its reference model does, under its defaults and under the arguments that the table of models
//! gives.

use hotset_core::policy::Needs;
use hotset_core::random::Rng;
use hotset_core::registry;
use hotset_testkit::harness::{Case, Event};
use hotset_testkit::host::Numbering;
use hotset_testkit::models::{self, Row};
use hotset_testkit::replay::replay;
use hotset_testkit::selection::{is_selected, keys_of_replacement, on_all_cores};
use hotset_testkit::traces;
use hotset_testkit::traces::samples;
use hotset_testkit::world::World;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// Capacities at which rounding and corner cases differ, and one that holds most of a small trace.
const CAPACITIES: [u32; 5] = [1, 2, 3, 7, 64];

#[test]
fn every_policy_has_a_model_and_every_model_a_policy() {
    let mut policies: Vec<&str> = registry::all().map(|entry| entry.info.name).collect();
    let mut models: Vec<&str> = models::MODELS.iter().map(|row| row.policy).collect();
    policies.sort_unstable();
    models.sort_unstable();
    assert_eq!(policies, models);
}

#[test]
fn all_short_traces() {
    let traces = ShortTraces::of(8);
    on_all_cores(selected().flat_map(|row| [1, 2, 3].map(|capacity| (row, capacity))), |(row, capacity)| {
        traces.check(&Case::new(row.policy, capacity));
    });
}

#[test]
fn longer_traces() {
    on_all_cores(selected().flat_map(|row| CAPACITIES.map(|capacity| (row, capacity))), |(row, capacity)| {
        let case = Case::new(row.policy, capacity);
        fuzz(64, traces::any(capacity * 3 + 2), |trace| case.check(&traces::events(trace)).map(drop));
    });
}

/// A host that gives forgotten slots to other blocks sees what one that never does sees, so `forget` is called when it
/// may be.
#[test]
fn removals_and_resizes() {
    on_all_cores(selected().flat_map(|row| CAPACITIES.map(|capacity| (row, capacity))), |(row, capacity)| {
        for numbering in numberings(row) {
            let case = Case::new(row.policy, capacity).numbered(numbering);
            fuzz(64, traces::eventful(capacity * 3 + 2, capacity + 5), |events| case.check(events).map(drop));
        }
    });
}

/// Structures made for the first size have to follow; under all arguments, since the memory of a policy depends on
/// them.
#[test]
fn growing_far_and_shrinking() {
    let events = growing();
    on_all_cores(selected().flat_map(specs), |(row, spec, world)| {
        for numbering in numberings(row) {
            let case = Case::of(&spec, 2).in_world(world).numbered(numbering);
            let outcome = case.check_from(events.len() - 1, &events);
            outcome.unwrap_or_else(|what| panic!("{spec}: {what}"));
        }
    });
}

/// Schemes ask some policies which blocks they value most. Ranks that are wrong change no hit of the policy itself.
#[test]
fn the_order_of_blocks() {
    let growing = growing();
    on_all_cores(selected().flat_map(specs), |(_, spec, world)| {
        let case = |capacity| Case::of(&spec, capacity).in_world(world).in_order();
        // What asks for positions tells no sizes.
        if world.heaviest > 1 || !case(1).keeps_order() {
            return;
        }
        case(2).check(&growing).unwrap_or_else(|what| panic!("{spec}: {what}"));
        for capacity in CAPACITIES {
            fuzz(16, traces::eventful(capacity * 3 + 2, capacity + 5), |events| case(capacity).check(events).map(drop));
        }
    });
}

#[test]
fn other_arguments_on_all_short_traces() {
    let traces = ShortTraces::of(7);
    on_all_cores(selected().flat_map(variants), |(_, spec, world)| {
        for capacity in 1..=3 {
            traces.check(&Case::of(&spec, capacity).in_world(world));
        }
    });
}

#[test]
fn other_arguments_with_removals_and_resizes() {
    on_all_cores(selected().flat_map(variants), |(row, spec, world)| {
        for capacity in [1, 2, 3, 7, 40] {
            for numbering in numberings(row) {
                let case = Case::of(&spec, capacity).in_world(world).numbered(numbering);
                fuzz(16, traces::eventful(capacity * 3 + 2, capacity + 5), |events| {
                    case.check(events).map(drop).map_err(|what| format!("{spec}: {what}"))
                });
            }
        }
    });
}

/// A parameter that no variant gives another value, or whose value changes nothing, could be ignored by the policy
/// unseen.
#[test]
fn every_parameter_tells() {
    let params = selected().flat_map(|row| {
        let info = registry::find(row.policy).expect("registered").info;
        keys_of_replacement(info).map(move |key| (row, key))
    });
    let silent = on_all_cores(params, |(row, key)| (!tells(row, key)).then(|| format!("{}({key}=…)", row.policy)));
    let silent: Vec<String> = silent.into_iter().flatten().collect();
    assert!(silent.is_empty(), "no variant in the table of models shows what these do: {}", silent.join(", "));
}

/// True if a run of some variant differs from the same with the default of parameter `key`; the policy agrees with its
/// model in both.
fn tells(row: &'static Row, key: &str) -> bool {
    variants(row).any(|(_, spec, world)| {
        [2, 3, 7, 20, 40].iter().any(|&capacity| {
            let case = Case::of(&spec, capacity).in_world(world);
            case.args.is_given(key) && samples().iter().any(|trace| differ(&case, &case.clone().without(key), trace))
        })
    })
}

fn differ(one: &Case, other: &Case, trace: &[u32]) -> bool {
    let differ = replay(one, trace) != replay(other, trace);
    for case in [one, other].into_iter().filter(|_| differ) {
        let outcome = case.check_from(usize::MAX, &traces::events(trace));
        outcome.unwrap_or_else(|what| panic!("{:?}: {what}", case.args));
    }
    differ
}

/// The rows of the table that are looked at.
fn selected() -> impl Iterator<Item = &'static Row> {
    models::MODELS.iter().filter(|row| is_selected(row.policy))
}

/// The trials of a row: specs in worlds.
fn specs(row: &'static Row) -> impl Iterator<Item = (&'static Row, String, World)> {
    row.specs().flat_map(move |spec| row.worlds.iter().map(move |&world| (row, spec.clone(), world)))
}

/// All of them but the defaults in the plain world.
fn variants(row: &'static Row) -> impl Iterator<Item = (&'static Row, String, World)> {
    specs(row).filter(|(row, spec, world)| spec != row.policy || *world != World::PLAIN)
}

/// A cache of two blocks that is used, grows to eighty times its size, is filled twice over, and shrinks.
fn growing() -> Vec<Event> {
    let mut random = Rng::new(5);
    let mut draw = |keys, count| (0..count).map(|_| Event::Access(random.below(keys))).collect::<Vec<_>>();
    let scan: Vec<Event> = (0..320).map(Event::Access).collect();
    [draw(6, 30), vec![Event::Resize(160)], scan, draw(320, 400), vec![Event::Resize(3)], draw(20, 60)].concat()
}

/// A host that gives forgotten slots to other blocks has no known future: there a slot must belong to one block
/// throughout.
fn numberings(row: &Row) -> impl Iterator<Item = Numbering> {
    let is_offline = registry::find(row.policy).is_some_and(|entry| entry.info.offline);
    [Numbering::Fixed].into_iter().chain((!is_offline).then_some(Numbering::Recycled))
}

/// All traces of a length, each with the number of its first reference that differs from the trace before.
struct ShortTraces {
    any: Vec<(usize, Vec<u32>)>,
    in_order: Vec<(usize, Vec<u32>)>,
}

impl ShortTraces {
    fn of(length: u32) -> ShortTraces {
        let any = traces::with_first_news(traces::all(4, length));
        ShortTraces { any, in_order: traces::with_first_news(traces::all_in_order(5, length)) }
    }

    /// A policy that sees only slots is tried with one of several traces that differ in the names of blocks only.
    fn check(&self, case: &Case) {
        let needs = registry::find(case.policy).expect("registered").info.needs;
        for (first, trace) in if needs == Needs::NOTHING { &self.in_order } else { &self.any } {
            let outcome = case.check_from(*first, &traces::events(trace));
            outcome.unwrap_or_else(|what| panic!("{:?}, {trace:?}: {what}", case.args));
        }
    }
}

/// Runs `check` on `cases` values, the same ones every time, and shrinks one that fails.
fn fuzz<S: Strategy>(cases: u32, strategy: S, check: impl Fn(&S::Value) -> Result<(), String>) {
    let config = Config { cases, rng_seed: RngSeed::Fixed(2020), failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&strategy, |value| check(&value).map_err(TestCaseError::fail));
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
