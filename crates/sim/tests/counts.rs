//! Exact counts on public traces (crates/testkit/golden/vectors.toml), through the whole path: file, reader,
//! renumbering, cells.

use std::collections::BTreeMap;

use hotset_core::registry;
use hotset_sim::grid::{self, Plan};
use hotset_sim::{Options, Prepared, Silent, prepare};
use hotset_testkit::inputs;
use hotset_trace::formats::BUILTIN;
use hotset_trace::{OpenOptions, open};
use serde::Deserialize;

/// Of the random numbers in golden rows.
const SEED: u64 = 42;

#[derive(Deserialize)]
struct Vectors {
    trace: Vec<Golden>,
}

#[derive(Deserialize)]
struct Golden {
    /// Absent where the trace is written out: such ones are for the tests of single policies.
    file: Option<String>,
    references: u64,
    distinct: u32,
    sizes: Vec<u32>,
    hits: BTreeMap<String, Vec<u64>>,
}

fn vectors() -> Vec<Golden> {
    let text = include_str!("../../testkit/golden/vectors.toml");
    toml::from_str::<Vectors>(text).expect("the golden file is well formed").trace
}

#[test]
fn every_count_is_met() {
    let Some(folder) = inputs::trace_path("") else { return };
    let (mut checked, mut others) = (0, Vec::new());
    for golden in vectors() {
        let Some(file) = &golden.file else { continue };
        let trace = open(&folder.join(file), BUILTIN, &OpenOptions::default()).unwrap();
        let (mut prepared, _) = prepare(trace.reader, &Options::default(), &Silent).unwrap();
        let Prepared::Held(references) = &prepared else { panic!("{file} is small") };
        assert_eq!((references.len(), references.distinct()), (golden.references, golden.distinct), "{file}");
        let known = golden.hits.iter().filter_map(|(name, hits)| Some((registry::find(name)?, hits)));
        for (entry, expected) in known {
            let plan = |&capacity| Plan { entry, args: entry.defaults(None), capacity, bytes: None, seed: SEED };
            let plans: Vec<Plan> = golden.sizes.iter().map(plan).collect();
            let replayed = grid::run(&mut prepared, &plans, &Silent).unwrap();
            let hits: Vec<u64> = replayed.tallies.iter().map(|tally| tally.total.hits).collect();
            if hits != *expected {
                others.push(format!("{} on {file}: {hits:?} instead of {expected:?}", entry.info.name));
            }
            checked += hits.len();
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
    assert!(checked > 400, "only {checked} counts were checked");
}
