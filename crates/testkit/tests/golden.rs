//! Hit counts on real traces, to the last hit. A row is named by a spec; an unknown one is an error.

use hotset_core::policy::PolicySpec;
use hotset_testkit::replay::replay;
use hotset_testkit::selection::{is_selected, keys_of_replacement, on_all_cores, policies, selected};

mod support {
    pub mod golden;
}
use support::golden::{Trace, traces};

/// Counts that others found.
const VECTORS: &str = include_str!("../golden/vectors.toml");

/// Counts of our own slow models, under other arguments than the defaults.
const VARIANTS: &str = include_str!("../golden/variants.toml");

/// Hit ratios in percent that papers print.
const PAPERS: &str = include_str!("../golden/papers.toml");

#[test]
fn hit_counts_are_exact() {
    for golden in traces(VECTORS).into_iter().chain(traces(VARIANTS)) {
        let rows: Vec<_> = golden.hits.iter().filter(|(spec, _)| is_wanted(spec)).collect();
        let Some(trace) = read_for(&golden, &rows) else { continue };
        on_all_cores(rows, |(spec, expected)| {
            let hits = |&size: &u32| replay(&golden.case(spec, size), &trace).hits;
            let seen: Vec<u64> = golden.sizes.iter().map(hits).collect();
            assert_eq!(&seen, expected, "{spec} on {} at {:?}", golden.name(), golden.sizes);
        });
    }
}

/// A policy without a row under its defaults would pass whatever it does.
#[test]
fn every_policy_has_a_row() {
    let rows: Vec<Trace> = traces(VECTORS).into_iter().chain(traces(VARIANTS)).collect();
    let has_row = |name: &str| rows.iter().any(|golden| golden.hits.contains_key(name));
    let without: Vec<&str> = policies().map(|entry| entry.info.name).filter(|name| !has_row(name)).collect();
    assert!(without.is_empty(), "no row of golden/vectors.toml or variants.toml is one of {}", without.join(", "));
}

/// Policies of which some parameter has no such row: what blocks begin with changes nothing on these traces.
const UNCOUNTED: &[&str] = &["lifo+"];

/// A parameter of which no row gives another value than the default, or whose rows count the same with the default,
/// could be ignored unseen.
#[test]
fn every_parameter_has_a_row_that_depends_on_it() {
    let read: Option<Vec<_>> = traces(VARIANTS).into_iter().map(|golden| Some((golden.read()?, golden))).collect();
    let Some(read) = read else { return };
    let counted = selected().into_iter().filter(|entry| !UNCOUNTED.contains(&entry.info.name));
    let params = counted.flat_map(|entry| keys_of_replacement(entry.info).map(move |key| (entry.info.name, key)));
    let silent = on_all_cores(params, |(policy, key)| {
        let mut rows = read.iter().flat_map(|(trace, golden)| golden.hits.iter().map(move |row| (trace, golden, row)));
        let depends = rows.any(|(trace, golden, (spec, hits))| depends_on(golden, policy, key, spec, hits, trace));
        (!depends).then(|| format!("{policy}({key}=…)"))
    });
    let silent: Vec<String> = silent.into_iter().flatten().collect();
    assert!(silent.is_empty(), "no row of golden/variants.toml shows what these do: {}", silent.join(", "));
}

/// True if the row is one of this policy, and the hits would be others with the default of parameter `key`.
fn depends_on(golden: &Trace, policy: &str, key: &str, spec: &str, hits: &[u64], trace: &[u32]) -> bool {
    golden.sizes.iter().zip(hits).any(|(&size, &hits)| {
        let case = golden.case(spec, size);
        case.policy == policy && case.args.is_given(key) && replay(&case.without(key), trace).hits != hits
    })
}

#[test]
fn hit_ratios_are_those_of_papers() {
    for golden in traces(PAPERS) {
        let exactly = golden.percent.iter().map(|row| (row, 0.005));
        let nearly = golden.near.iter().map(|row| (row, 0.1));
        let rows: Vec<_> = exactly.chain(nearly).filter(|((spec, _), _)| is_wanted(spec)).collect();
        let Some(trace) = read_for(&golden, &rows) else { continue };
        on_all_cores(rows, |((spec, expected), margin)| {
            assert_eq!(expected.len(), golden.sizes.len(), "{spec} on {}", golden.name());
            for (&size, percent) in golden.sizes.iter().zip(expected) {
                let seen = replay(&golden.case(spec, size), &trace).hits as f64 * 100.0 / trace.len() as f64;
                assert!((seen - percent).abs() <= margin, "{spec} on {} at {size}: {seen}", golden.name());
            }
        });
    }
}

/// The trace, unless it is missing or no row asks for it.
fn read_for<R>(golden: &Trace, rows: &[R]) -> Option<Vec<u32>> {
    if rows.is_empty() { None } else { golden.read() }
}

/// True if tests look at the policy of this row. Panics if there is none.
fn is_wanted(spec: &str) -> bool {
    is_selected(PolicySpec::parse(spec).unwrap_or_else(|error| panic!("golden row {spec:?}: {error}")).info().name)
}
