//! Paging policies against their models, against each other, and against the laws they obey.

use hotset_core::paging::ENTRIES;
use hotset_testkit::paging::{Case, Step};
use hotset_testkit::traces;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn touches(trace: impl IntoIterator<Item = u32>) -> Vec<Step> {
    trace.into_iter().map(Step::Touch).collect()
}

fn looped(pages: u32, laps: u32) -> Vec<Step> {
    touches((0..laps).flat_map(|_| 0..pages))
}

/// Page k is met in proportion to 1/(k + 1), nearly.
fn skewed(pages: u32, length: u32) -> Vec<Step> {
    let mut state = 3u64;
    touches((0..length).map(|_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let unit = (state >> 40) as f64 / (1u64 << 24) as f64;
        ((f64::from(pages).powf(unit)) as u32).min(pages - 1)
    }))
}

/// The published prototype: a loop of 300 pages, 30 laps.
#[test]
fn a_loop_gives_apr_the_known_hits() {
    let steps = looped(300, 30);
    for (frames, apr, opt) in [(100, 2842, 2900), (200, 5742, 5800), (280, 8062, 8120)] {
        for decay in ["0.3", "0.5", "0.7", "0.9"] {
            assert_eq!(Case::new("apr", frames).with("decay", decay).run(&steps).hits, apr, "{frames} frames, {decay}");
        }
        assert_eq!(Case::new("opt", frames).run(&steps).hits, opt);
        assert_eq!(Case::new("clock", frames).run(&steps).hits, 0);
    }
}

/// On a loop LIFO+ keeps all frames but two for good: a fetched page leaves once another was fetched on top of it. That is one hit a lap
/// less than a stack that always evicts its top. MRU's victims go round, which is worth a third of a page more in 100 frames of 300 pages: measured,
/// 99.3 hits a lap where LIFO+ has 98.
#[test]
fn lifo_plus_alone_on_a_loop_keeps_all_frames_but_two() {
    for (pages, frames) in [(300, 100), (300, 299), (37, 5), (10, 1), (10, 2)] {
        for policy in [Case::new("lifo+", frames), Case::new("apr", frames).with("use", "lifo+")] {
            let laps = |laps: u32| policy.run(&looped(pages, laps)).hits;
            for lap in 1..20 {
                assert_eq!(laps(lap + 1) - laps(lap), u64::from(frames.saturating_sub(2)), "{pages} in {frames}");
            }
        }
    }
}

/// The double access bits hide the scans of LIFO+ from CLOCK entirely.
fn assert_shelters(steps: &[Step], frames: u32, object_pages: u32) {
    for initial in ["0", "1"] {
        let clock = Case::new("clock", frames).with("initial", initial).run(steps);
        for ghosts in ["0%", "100%"] {
            let apr = Case::new("apr", frames).with("use", "clock").with("initial", initial).with("ghosts", ghosts);
            assert_eq!(Case { object_pages, ..apr }.run(steps).victims, clock.victims);
        }
    }
}

#[test]
fn apr_that_may_only_use_clock_evicts_what_clock_evicts() {
    for object_pages in [0, 1, 16, u32::MAX] {
        for frames in [1, 2, 50, 99] {
            assert_shelters(&looped(100, 20), frames, object_pages);
            assert_shelters(&skewed(200, 20_000), frames, object_pages);
        }
    }
}

#[test]
fn one_frame_is_enough_for_everyone() {
    for entry in ENTRIES {
        let run = Case::new(entry.info.name, 1).check(&touches([0, 0, 1, 1, 0, 2, 2, 2, 1])).unwrap();
        assert_eq!((run.hits, run.victims), (4, vec![None, Some(0), Some(1), Some(0), Some(2)]), "{}", entry.info.name);
    }
}

#[test]
fn memory_as_large_as_the_program_is_fetched_once() {
    for entry in ENTRIES {
        let run = Case::new(entry.info.name, 200).check(&skewed(200, 3000)).unwrap();
        assert!(run.victims.iter().all(Option::is_none), "{}", entry.info.name);
    }
}

fn cases(frames: u32) -> Vec<Case> {
    let mut cases: Vec<Case> = ENTRIES.iter().map(|entry| Case::new(entry.info.name, frames)).collect();
    for (key, value) in [("decay", "0"), ("decay", "0.999999"), ("ghosts", "0%"), ("ghosts", "30%"), ("use", "clock")] {
        cases.push(Case::new("apr", frames).with(key, value));
    }
    cases.push(Case::new("apr", frames).with("use", "lifo+").with("globals", "on"));
    let seq =
        Case::new("seq", frames).with("long", "3").with("recent", "2").with("distance", "1").with("sequences", "3");
    cases.extend([seq.clone(), seq.with("distance", "0").with("initial", "0")]);
    for policy in ["apr", "clock", "lifo+"] {
        cases.push(Case::new(policy, frames).with("initial", "0"));
    }
    cases
}

fn steps(pages: u32) -> impl Strategy<Value = Vec<Step>> {
    (traces::any(pages), prop::collection::vec(prop::option::weighted(0.1, 0..pages), 64)).prop_map(|(trace, frees)| {
        let besides = frees.into_iter().cycle();
        let with_free =
            |(&page, free): (&u32, Option<u32>)| free.map(Step::Free).into_iter().chain([Step::Touch(page)]);
        trace.iter().zip(besides).flat_map(with_free).collect()
    })
}

/// The same cases every time.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 200,
        rng_seed: RngSeed::Fixed(2021),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_policy_does_what_its_model_does(
        steps in steps(40),
        frames in prop::sample::select(vec![1u32, 2, 3, 7, 20]),
        object_pages in prop::sample::select(vec![0u32, 1, 10, 13, u32::MAX]),
        stride in prop::sample::select(vec![1u64, 7, 524_287]),
    ) {
        for case in cases(frames) {
            let case = Case { object_pages, stride, ..case };
            let difference = case.check(&steps).err();
            prop_assert!(difference.is_none(), "{}", difference.unwrap_or_default());
        }
    }

    #[test]
    fn nobody_faults_less_than_opt(steps in traces::any(40).prop_map(touches), frames in 1u32..20) {
        let bound = Case::new("opt", frames).run(&steps).hits;
        for case in cases(frames) {
            prop_assert!(case.run(&steps).hits <= bound, "{:?}", case);
        }
    }

    #[test]
    fn shelters_hide_local_scans(steps in steps(40), frames in 1u32..20, object_pages in 1u32..20) {
        assert_shelters(&steps, frames, object_pages);
    }
}
