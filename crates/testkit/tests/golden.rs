//! Hit counts on real traces, to the last hit.

use std::collections::BTreeMap;

use hotset_core::registry;
use hotset_core::spec::PolicySpec;
use hotset_testkit::harness::Case;
use hotset_testkit::inputs::trace_path;
use hotset_testkit::replay::{renumber, replay};
use hotset_trace::{Batch, OpenOptions, formats::BUILTIN, open};
use serde::Deserialize;

/// A file of `golden/`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Golden {
    trace: Vec<Trace>,
}

/// A trace, in a file or written out, and what policies give on it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trace {
    file: Option<String>,
    #[serde(default)]
    keys: Vec<u64>,
    references: usize,
    distinct: usize,
    sizes: Vec<u32>,
    /// By policy, in the order of `sizes`.
    #[serde(default)]
    hits: BTreeMap<String, Vec<u64>>,
    /// By spec, in percent.
    #[serde(default)]
    percent: BTreeMap<String, Vec<f64>>,
    /// Percentages met within 0.1, of policies whose papers leave a choice open.
    #[serde(default)]
    near: BTreeMap<String, Vec<f64>>,
}

impl Trace {
    /// The keys, numbered densely; `None` where the file is missing.
    fn read(&self) -> Option<Vec<u32>> {
        let keys = match &self.file {
            Some(file) => blocks(&trace_path(file)?),
            None => self.keys.clone(),
        };
        let trace = renumber(keys);
        let distinct = trace.iter().max().map_or(0, |&last| last as usize + 1);
        assert_eq!((trace.len(), distinct), (self.references, self.distinct), "{}", self.name());
        Some(trace)
    }

    fn name(&self) -> &str {
        self.file.as_deref().unwrap_or("the trace written out")
    }
}

/// The blocks that a trace file references, at its own block size.
fn blocks(path: &std::path::Path) -> Vec<u64> {
    let mut trace = open(path, BUILTIN, &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let unit = match trace.meta().addressing {
        hotset_trace::Addressing::Bytes { unit } => u64::from(unit.expect("a trace with blocks of its own")),
        hotset_trace::Addressing::Objects => 0,
    };
    let (mut blocks, mut batch) = (Vec::new(), Batch::new());
    loop {
        trace.reader.read(&mut batch).unwrap_or_else(|error| panic!("{error}"));
        if batch.is_empty() {
            return blocks;
        }
        for request in &batch.requests {
            match unit {
                0 => blocks.push(request.offset),
                _ => blocks.extend(request.offset / unit..(request.offset + u64::from(request.length)).div_ceil(unit)),
            }
        }
    }
}

fn golden(text: &str) -> Vec<Trace> {
    toml::from_str::<Golden>(text).unwrap_or_else(|error| panic!("{error}")).trace
}

#[test]
fn hit_counts_are_exact() {
    for golden in golden(include_str!("../golden/vectors.toml")) {
        let Some(trace) = golden.read() else { continue };
        for (policy, expected) in &golden.hits {
            // The table also has policies that are not written yet.
            let Some(entry) = registry::find(policy) else { continue };
            let hits = |&size: &u32| replay(&Case::new(entry.info.name, size), &trace).hits;
            let seen: Vec<u64> = golden.sizes.iter().map(hits).collect();
            assert_eq!(&seen, expected, "{policy} on {} at {:?}", golden.name(), golden.sizes);
        }
    }
}

#[test]
fn hit_ratios_are_those_of_papers() {
    for golden in golden(include_str!("../golden/papers.toml")) {
        let Some(trace) = golden.read() else { continue };
        let exactly = golden.percent.iter().map(|row| (row, 0.005));
        let nearly = golden.near.iter().map(|row| (row, 0.1));
        for ((policy, expected), margin) in exactly.chain(nearly) {
            let spec = PolicySpec::parse(policy).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(expected.len(), golden.sizes.len(), "{policy} on {}", golden.name());
            for (&size, percent) in golden.sizes.iter().zip(expected) {
                let case = Case { args: spec.args(None), ..Case::new(spec.info().name, size) };
                let hits = replay(&case, &trace).hits;
                let seen = hits as f64 * 100.0 / trace.len() as f64;
                assert!((seen - percent).abs() <= margin, "{policy} on {} at {size}: {seen}", golden.name());
            }
        }
    }
}

/// Every registered policy whose hits on the traces are known is in the table, so a rename does not drop its row unseen.
#[test]
fn the_tables_name_registered_policies() {
    let golden = golden(include_str!("../golden/vectors.toml"));
    let known = |name: &str| golden.iter().any(|trace| trace.hits.keys().any(|policy| policy == name));
    for name in ["opt", "lru", "fifo", "clock", "mru", "lfu", "lru-k", "2q", "arc", "car", "sieve", "s3-fifo"] {
        assert!(registry::find(name).is_some() && known(name), "{name}");
    }
}
