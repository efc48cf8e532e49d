//! One trace against policies at sizes: what `simulate` and `experiment` share.

pub(crate) mod paging;

use std::path::Path;

use hotset_core::classify::Rules;
use hotset_core::spec::{PolicySpec, SizeSpec};
use hotset_sim::grid::{self, Plan};
use hotset_sim::results::{Row, TraceFacts};
use hotset_sim::{BlockSize, Options, Prepared, prepare};
use hotset_trace::Trace;

use crate::failure::Failure;
use crate::progress::{Reading, Replaying};
use crate::traces::{ReadArgs, nothing_referenced, say_remarks};

/// What is replayed against what.
pub(crate) struct Replay<'a> {
    pub(crate) policies: &'a [PolicySpec],
    /// The sizes, and how they were written.
    pub(crate) sizes: (&'a SizeSpec, &'a str),
    /// Where they were written, for errors.
    pub(crate) sizes_from: &'a str,
    pub(crate) read: &'a ReadArgs,
    pub(crate) options: Options,
    /// The user's classes.
    pub(crate) rules: Option<&'a Rules>,
    pub(crate) seed: u64,
}

impl Replay<'_> {
    /// Rows policy by policy, each at all sizes.
    pub(crate) fn rows(&self, path: &Path) -> Result<Vec<Row>, Failure> {
        self.rows_of(self.read.open(path)?, path)
    }

    /// The same for a trace that is open.
    pub(crate) fn rows_of(&self, trace: Trace, path: &Path) -> Result<Vec<Row>, Failure> {
        let (sizes, written) = self.sizes;
        let policies = self.policies;
        let meta = trace.meta().clone();
        let mut options = self.options.clone();
        let block_bytes = options.block.unwrap_or_else(|| BlockSize::default_for(&meta)).bytes();
        let args = |policy: &PolicySpec| policy.args(block_bytes).with_rules(self.rules.cloned());
        options.keep_requests = policies.iter().any(|policy| grid::wants_requests(policy.info(), &args(policy)));
        options.keep_times = policies.iter().any(|policy| args(policy).wants_clock());
        let name = path.display().to_string();
        let (mut prepared, reader) = prepare(trace.reader, &options, &Reading::new(&name, &trace.progress))?;
        let (footprint, references) = match &prepared {
            Prepared::Held(references) if references.is_empty() => return Err(nothing_referenced(&name)),
            Prepared::Held(references) => (u64::from(references.distinct()), Some(references.len())),
            Prepared::Stream(stream) => {
                stream.check(sizes.needs_footprint(), policies.iter().find(|policy| policy.is_offline()))?;
                (0, None)
            }
        };
        let capacities =
            sizes.resolve(footprint, block_bytes).map_err(|error| Failure::spec(self.sizes_from, written, &error))?;
        let plan =
            |policy: &PolicySpec, capacity| Plan { info: policy.info(), args: args(policy), capacity, seed: self.seed };
        let plans: Vec<Plan> =
            policies.iter().flat_map(|policy| capacities.iter().map(|&size| plan(policy, size))).collect();
        let replayed = grid::run(&mut prepared, &plans, &Replaying::new(plans.len(), references))?;
        let reader = match (reader, prepared) {
            (Some(reader), _) => reader,
            (None, Prepared::Stream(stream)) => stream.into_reader(),
            (None, Prepared::Held(_)) => unreachable!("a held trace has been read"),
        };
        say_remarks(&name, reader.as_ref())?;
        let facts = TraceFacts {
            name,
            block_bytes,
            distinct: replayed.distinct,
            has_ops: meta.has_ops,
            apps: reader.tables().apps.clone(),
        };
        let specs = policies.iter().flat_map(|policy| std::iter::repeat_n(policy, capacities.len()));
        let cells = specs.zip(&plans).zip(&replayed.tallies);
        Ok(cells.map(|((spec, plan), tally)| facts.row(spec.to_string(), plan.capacity, self.seed, tally)).collect())
    }
}
