//! The files of `golden/` and their traces: for the test of the counts and for the command that prints new ones.

use std::collections::BTreeMap;

use hotset_testkit::harness::Case;
use hotset_testkit::inputs::trace_path;
use hotset_testkit::replay::renumber;
use hotset_testkit::world::World;
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
pub struct Trace {
    pub file: Option<String>,
    /// How many of the references of the file are taken; all of them if not said.
    first: Option<usize>,
    #[serde(default)]
    pub keys: Vec<u64>,
    pub references: usize,
    pub distinct: usize,
    pub sizes: Vec<u32>,
    /// The assumed places and applications of its blocks; these traces do not have them.
    #[serde(default)]
    world: Surroundings,
    /// By spec, in the order of `sizes`.
    #[serde(default)]
    pub hits: BTreeMap<String, Vec<u64>>,
    /// By spec, in percent.
    #[serde(default)]
    pub percent: BTreeMap<String, Vec<f64>>,
    /// Percentages met within 0.1, of policies whose papers leave a choice open.
    #[serde(default)]
    pub near: BTreeMap<String, Vec<f64>>,
}

/// A [`World`].
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Surroundings {
    file_blocks: u32,
    apps: u32,
    classes: u32,
    class_lasts: u64,
    heaviest: u32,
}

impl Default for Surroundings {
    fn default() -> Surroundings {
        let World { file_blocks, apps, classes, class_lasts, heaviest, .. } = World::PLAIN;
        Surroundings { file_blocks, apps, classes, class_lasts, heaviest }
    }
}

impl Trace {
    /// A cache of `size` blocks in the world of this trace. Panics if the spec is unknown.
    pub fn case(&self, spec: &str, size: u32) -> Case {
        let Surroundings { file_blocks, apps, classes, class_lasts, heaviest } = self.world;
        Case::of(spec, size).in_world(World { file_blocks, apps, classes, class_lasts, heaviest, ..World::PLAIN })
    }

    /// The keys, numbered densely; `None` where the file is missing.
    pub fn read(&self) -> Option<Vec<u32>> {
        let mut keys = match &self.file {
            Some(file) => blocks(&trace_path(file)?),
            None => self.keys.clone(),
        };
        keys.truncate(self.first.unwrap_or(usize::MAX));
        let trace = renumber(keys);
        let distinct = trace.iter().max().map_or(0, |&last| last as usize + 1);
        assert_eq!((trace.len(), distinct), (self.references, self.distinct), "{}", self.name());
        Some(trace)
    }

    pub fn name(&self) -> &str {
        self.file.as_deref().unwrap_or("the trace written out")
    }
}

/// The traces of a file of `golden/`.
pub fn traces(text: &str) -> Vec<Trace> {
    toml::from_str::<Golden>(text).unwrap_or_else(|error| panic!("{error}")).trace
}

/// The blocks that a trace file references, at its own block size.
fn blocks(path: &std::path::Path) -> Vec<u64> {
    let mut trace = open(path, BUILTIN, &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let unit = match trace.meta().addressing {
        hotset_trace::Addressing::Bytes { unit } => u64::from(unit.expect("a trace with a block size")),
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
