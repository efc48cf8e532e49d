//! Hit counts on real traces, to the last hit. A row is named by a spec; one that nobody knows is an error.

use hotset_core::policy::PolicySpec;
use hotset_testkit::harness::Case;
use hotset_testkit::replay::replay;
use hotset_testkit::selection::{is_selected, on_all_cores};

mod support {
    pub mod golden;
}
use support::golden::traces;

/// Counts that others found.
const VECTORS: &str = include_str!("../golden/vectors.toml");

/// Hit ratios in percent that papers print.
const PAPERS: &str = include_str!("../golden/papers.toml");

#[test]
fn hit_counts_are_exact() {
    for golden in traces(VECTORS) {
        let rows: Vec<_> = golden.hits.iter().filter(|(spec, _)| is_wanted(spec)).collect();
        let Some(trace) = golden.read() else { continue };
        on_all_cores(rows, |(spec, expected)| {
            let hits = |&size: &u32| replay(&Case::of(spec, size), &trace).hits;
            let seen: Vec<u64> = golden.sizes.iter().map(hits).collect();
            assert_eq!(&seen, expected, "{spec} on {} at {:?}", golden.name(), golden.sizes);
        });
    }
}

#[test]
fn hit_ratios_are_those_of_papers() {
    for golden in traces(PAPERS) {
        let exactly = golden.percent.iter().map(|row| (row, 0.005));
        let nearly = golden.near.iter().map(|row| (row, 0.1));
        let rows: Vec<_> = exactly.chain(nearly).filter(|((spec, _), _)| is_wanted(spec)).collect();
        let Some(trace) = golden.read() else { continue };
        on_all_cores(rows, |((spec, expected), margin)| {
            assert_eq!(expected.len(), golden.sizes.len(), "{spec} on {}", golden.name());
            for (&size, percent) in golden.sizes.iter().zip(expected) {
                let seen = replay(&Case::of(spec, size), &trace).hits as f64 * 100.0 / trace.len() as f64;
                assert!((seen - percent).abs() <= margin, "{spec} on {} at {size}: {seen}", golden.name());
            }
        });
    }
}

/// True if tests look at the policy of this row. Panics if there is none.
fn is_wanted(spec: &str) -> bool {
    is_selected(PolicySpec::parse(spec).unwrap_or_else(|error| panic!("golden row {spec:?}: {error}")).info().name)
}
