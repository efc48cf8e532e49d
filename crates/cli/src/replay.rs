//! One trace against policies at sizes: what `simulate` and `experiment` share.

pub(crate) mod paging;

use std::path::Path;

use hotset_core::classify::Rules;
use hotset_core::policy::{Args, PolicySpec};
use hotset_core::spec::SizeSpec;
use hotset_sim::grid::{self, Plan};
use hotset_sim::machine::{self, Sample};
use hotset_sim::results::{Choice, Row, SeriesRow, TraceFacts};
use hotset_sim::select::Selection;
use hotset_sim::{BlockSize, Options, Prepared, Tally, prepare};
use hotset_trace::Trace;

use crate::failure::Failure;
use crate::progress::{Reading, Replaying};
use crate::traces::{nothing_counted, nothing_referenced, say_remarks};

/// What is replayed against what.
pub(crate) struct Replay<'a> {
    pub(crate) policies: &'a [PolicySpec],
    /// The sizes, and how they were written.
    pub(crate) sizes: (&'a SizeSpec, &'a str),
    /// Where they were written, for errors.
    pub(crate) sizes_from: &'a str,
    pub(crate) options: Options,
    /// What is chosen of the traces, which are opened so.
    pub(crate) selection: &'a Selection,
    /// The user's classes.
    pub(crate) rules: Option<&'a Rules>,
    pub(crate) seed: u64,
    /// Replay on a clock.
    pub(crate) timed: Option<&'a machine::Options>,
}

/// What a replay gave.
#[derive(Default)]
pub(crate) struct Replayed {
    pub(crate) rows: Vec<Row>,
    /// Rows of one stretch after another, if they were asked for.
    pub(crate) series: Vec<SeriesRow>,
}

impl Replay<'_> {
    /// Rows policy by policy, each at all sizes. `path` is the name of the trace.
    pub(crate) fn rows_of(&self, trace: Trace, path: &Path) -> Result<Replayed, Failure> {
        let (sizes, written) = self.sizes;
        let policies = self.policies;
        let meta = trace.meta().clone();
        let mut options = self.options.clone();
        let block_bytes = options.block.unwrap_or_else(|| BlockSize::default_for(&meta)).bytes();
        let args = |policy: &PolicySpec| policy.args(block_bytes).with_rules(self.rules.cloned());
        options.keep_requests = policies.iter().any(|policy| grid::wants_requests(policy.entry(), &args(policy)));
        options.keep_times = self.timed.is_some() || policies.iter().any(|policy| args(policy).uses_clock());
        let name = path.display().to_string();
        let (mut prepared, reader) = prepare(trace.reader, &options, &Reading::new(&name, &trace.progress))?;
        if let Some(reader) = &reader {
            say_remarks(&name, reader.as_ref())?;
        }
        let (footprint, references) = match &prepared {
            Prepared::Held(references) if references.is_empty() => {
                return Err(nothing_referenced(&name, self.selection));
            }
            Prepared::Held(references) => (u64::from(references.distinct()), Some(references.len())),
            Prepared::Stream(stream) => {
                stream.check(sizes.needs_footprint(), policies.iter().find(|policy| policy.is_offline()))?;
                (0, None)
            }
        };
        let capacities =
            sizes.resolve(footprint, block_bytes).map_err(|error| Failure::spec(self.sizes_from, written, &error))?;
        let plans = self.plans(&capacities, args);
        let replaying = Replaying::new(plans.len(), references);
        let cells = self.cells(&mut prepared, &plans, &replaying)?;
        drop(replaying);
        let reader = match (reader, prepared) {
            (Some(reader), _) => reader,
            (None, Prepared::Stream(stream)) => {
                let reader = stream.into_reader();
                say_remarks(&name, reader.as_ref())?;
                reader
            }
            (None, Prepared::Held(_)) => unreachable!("a held trace has been read"),
        };
        if cells.tallies.iter().all(|tally| tally.total.references == 0) {
            return Err(match self.selection.counts_all() {
                true => nothing_referenced(&name, self.selection),
                false => nothing_counted(&name, self.selection),
            });
        }
        let facts = TraceFacts {
            name,
            choice: Choice::new(self.selection, options.maps, meta.has_ops),
            block_bytes,
            distinct: cells.distinct,
            has_ops: meta.has_ops,
            apps: reader.tables().apps.clone(),
        };
        let specs = policies.iter().flat_map(|policy| std::iter::repeat_n(policy.to_string(), capacities.len()));
        let mut replayed = Replayed::default();
        for ((spec, plan), (tally, samples)) in specs.zip(&plans).zip(cells.tallies.iter().zip(&cells.samples)) {
            if let Some(every) = self.timed.and_then(|options| options.every) {
                replayed.series.extend(facts.series(&spec, plan.capacity, every, samples));
            }
            replayed.rows.push(facts.row(spec, plan.capacity, self.seed, tally));
        }
        Ok(replayed)
    }

    /// A plan for each policy and size.
    fn plans(&self, capacities: &[u32], args: impl Fn(&PolicySpec) -> Args) -> Vec<Plan> {
        let plan = |policy: &PolicySpec, capacity| Plan {
            entry: policy.entry(),
            args: args(policy),
            capacity,
            seed: self.seed,
        };
        self.policies
            .iter()
            .flat_map(|policy| capacities.iter().map(|&size| plan(policy, size)).collect::<Vec<_>>())
            .collect()
    }

    fn cells(&self, prepared: &mut Prepared, plans: &[Plan], replaying: &Replaying) -> Result<Cells, Failure> {
        match (prepared, self.timed) {
            (Prepared::Held(references), Some(options)) => {
                let cells = machine::run(references, plans, options, replaying)?;
                let (tallies, samples) = cells.into_iter().map(|cell| (cell.tally, cell.samples)).unzip();
                Ok(Cells { tallies, samples, distinct: Some(references.distinct()) })
            }
            (Prepared::Stream(stream), Some(_)) => {
                Err(stream.refuse("a replay on a clock or a series", "or leave --disk and --series out").into())
            }
            (prepared, None) => {
                let replayed = grid::run(prepared, plans, replaying)?;
                let samples = vec![Vec::new(); plans.len()];
                Ok(Cells { tallies: replayed.tallies, samples, distinct: replayed.distinct })
            }
        }
    }
}

/// What came of the plans, one by one.
struct Cells {
    tallies: Vec<Tally>,
    samples: Vec<Vec<Sample>>,
    /// Blocks that the trace references.
    distinct: Option<u32>,
}
