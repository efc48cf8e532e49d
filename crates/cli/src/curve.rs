//! `hotset curve`: the hit ratio at every cache size.

mod line;
mod show;

use clap::Args;
use hotset_core::policy::{OnePass, PolicySpec};
use hotset_core::spec::Value;
use hotset_sim::curve::{LruCurve, OptCurve, Shards};
use hotset_sim::grid::{self, Plan};
use hotset_sim::results::{Choice, SCHEMA_VERSION};
use hotset_sim::{BlockSize, Options, Prepared, SimError, prepare, scan};
use hotset_trace::Trace;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::words;
use crate::progress::{Reading, Replaying};
use crate::report::{ReportArgs, Rows};
use crate::results::ResultArgs;
use crate::select::{self, CountArgs, FilterArgs};
use crate::traces::{CutArgs, OneTrace, ReadArgs, nothing_counted, nothing_referenced, say_remarks};
use line::{Line, Sampling};

/// Draw the hit ratio by cache size: LRU and OPT exactly at every size, other schemes at chosen ones
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset curve app.hst                              LRU and OPT, exact
  hotset curve huge.hst --policy lru --sample 0.01  LRU from one block in a hundred, with its error
  hotset curve app.hst --policy lru,arc,opt --points 30 --csv curves.csv
  hotset curve app.hst --policy lru,s3-fifo,opt --report app.html")]
pub(crate) struct Curve {
    #[command(flatten)]
    trace: OneTrace,
    /// Schemes, separated by commas. LRU and OPT take one pass for all sizes; any other is simulated at each point
    #[arg(short, long, value_name = "SPEC", default_value = "lru,opt")]
    policy: String,
    /// Estimate the LRU curve from this share of the blocks (0.01, 1%), and say how far it may err
    #[arg(long, value_name = "RATE", value_parser = parse_rate, conflicts_with = "sample_size")]
    sample: Option<f64>,
    /// Estimate the LRU curve from so many blocks, whatever the size of the trace
    #[arg(long, value_name = "BLOCKS", value_parser = clap::value_parser!(u32).range(1..))]
    sample_size: Option<u32>,
    /// Sizes in the results, on a logarithmic scale from one block to all; `all` is every size at which hits rise
    #[arg(long, value_name = "N", value_parser = parse_points, default_value = "20")]
    points: Points,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    cut: CutArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    count: CountArgs,
    #[command(flatten)]
    results: ResultArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Seed of the sample and of the schemes that draw random numbers
    #[arg(long, default_value_t = 1, help_heading = "Results")]
    seed: u64,
}

/// How many sizes to tell.
#[derive(Clone, Copy)]
enum Points {
    Some(usize),
    All,
}

/// A point as it is written: the fields of a row of `simulate`, as far as a curve tells them.
#[derive(Serialize)]
struct Point<'a> {
    /// As in a row of `simulate`.
    version: u32,
    /// The trace as the user named it.
    trace: &'a str,
    /// Canonical spec of the policy.
    policy: &'a str,
    /// Capacity in blocks.
    size_blocks: u64,
    /// Capacity in bytes, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    /// Bytes of a block, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    block_bytes: Option<u64>,
    /// Seed of the sample and of the policy's random numbers.
    seed: u64,
    /// As in a row of `simulate`.
    #[serde(flatten)]
    choice: &'a Choice,
    /// Blocks referenced.
    references: u64,
    /// References that found their block; of a sampled curve an estimate, rounded.
    hits: u64,
    /// References that did not.
    misses: u64,
    /// Hits per reference.
    hit_ratio: f64,
    /// Distinct blocks of the trace.
    distinct_blocks: u64,
    /// Absent for exact curves.
    #[serde(flatten)]
    sampling: Option<Sampling>,
}

const COLUMNS: [&str; 20] = [
    "version",
    "trace",
    "policy",
    "size_blocks",
    "size_bytes",
    "block_bytes",
    "seed",
    "filter",
    "warmup",
    "count_only",
    "maps",
    "references",
    "hits",
    "misses",
    "hit_ratio",
    "distinct_blocks",
    "sampling_rate",
    "sampled_blocks",
    "resolution_blocks",
    "expected_error",
];

impl Curve {
    pub(crate) fn run(self, typed: &str) -> Result<(), Failure> {
        let policies =
            PolicySpec::parse_list(&self.policy).map_err(|error| Failure::spec("--policy", &self.policy, &error))?;
        let name = self.trace.path.display().to_string();
        let page = self.report.prepare(std::slice::from_ref(&self.trace.path))?;
        let selection = self.count.count(self.filter.selection()?);
        let mut options = self.cut.options();
        let path = &self.trace.path;
        let trace = select::select(|| self.read.open(path), path, &selection, &options)?;
        let has_ops = trace.meta().has_ops;
        let block_bytes = options.block.unwrap_or_else(|| BlockSize::default_for(trace.meta())).bytes();
        options.keep_requests =
            policies.iter().any(|policy| grid::wants_requests(policy.entry(), &policy.args(block_bytes)));
        options.keep_times = policies.iter().any(|policy| policy.args(block_bytes).wants_clock());
        let lines = match self.sampler()? {
            Some(_) if !selection.counts_all() => {
                let message = "a sample counts all references: leave --warmup and --count-only out, or --sample";
                return Err(Failure::Usage(message.to_owned()));
            }
            Some(sampler) => vec![sampled(sampler, trace, &options, &name, &policies)?],
            None => self.exact(trace, &options, &name, &policies, block_bytes)?,
        };
        if lines[0].references == 0 {
            return Err(match selection.counts_all() {
                true => nothing_referenced(&name, &selection),
                false => nothing_counted(&name, &selection),
            });
        }
        let choice = Choice::new(&selection, options.maps, has_ops);
        let points = self.points(&lines, &name, &choice, block_bytes);
        self.results.write(&COLUMNS, &points)?;
        if let Some(page) = page {
            page.write(typed, Rows { rows: &points, series: &[] })?;
        }
        if !self.results.has_stdout() {
            show::show(&words::named(&name, &choice), &lines, block_bytes)?;
        }
        Ok(())
    }

    fn sampler(&self) -> Result<Option<Shards>, Failure> {
        match (self.sample, self.sample_size) {
            (Some(rate), _) => Shards::fixed_rate(rate, self.seed)
                .map(Some)
                .map_err(|error| Failure::Usage(format!("--sample: {error}"))),
            (None, Some(blocks)) => Ok(Some(Shards::fixed_size(blocks as usize, self.seed))),
            (None, None) => Ok(None),
        }
    }

    /// A line a policy.
    fn exact(
        &self,
        trace: Trace,
        options: &Options,
        name: &str,
        policies: &[PolicySpec],
        block_bytes: Option<u64>,
    ) -> Result<Vec<Line>, Failure> {
        let (mut prepared, reader) = prepare(trace.reader, options, &Reading::new(name, &trace.progress))?;
        if let Some(reader) = &reader {
            say_remarks(name, reader.as_ref())?;
        }
        let mut lines = Vec::new();
        for policy in policies {
            let references = match &prepared {
                Prepared::Held(references) => references,
                Prepared::Stream(stream) => {
                    return Err(stream.refuse("an exact curve", "or estimate it with --sample-size 10000").into());
                }
            };
            // The short cuts count every reference.
            let one_pass = policy.entry().asks.one_pass().filter(|_| !references.has_uncounted());
            lines.push(match one_pass {
                Some(OnePass::LastUse) => {
                    let mut curve = LruCurve::new();
                    curve.feed(references.ids());
                    Line::exact(policy.to_string(), &curve.curve())
                }
                Some(OnePass::NextUse) => {
                    let mut curve = OptCurve::new();
                    curve
                        .feed(references.ids())
                        .map_err(|_| SimError::TooManyReferences { policy: policy.to_string() })?;
                    Line::exact(policy.to_string(), &curve.curve())
                }
                Some(OnePass::LastUseByPart) => match references.parts_curve(policy, block_bytes)? {
                    Some((_, by_total)) => Line::exact(policy.to_string(), &by_total),
                    None => self.simulated(policy, &mut prepared, block_bytes)?,
                },
                None => self.simulated(policy, &mut prepared, block_bytes)?,
            });
        }
        Ok(lines)
    }

    /// A policy without a short cut, replayed at every point.
    fn simulated(
        &self,
        policy: &PolicySpec,
        prepared: &mut Prepared,
        block_bytes: Option<u64>,
    ) -> Result<Line, Failure> {
        let Points::Some(points) = self.points else {
            let message = format!("--points all: {policy} must be simulated at every size; expected a number of sizes");
            return Err(Failure::Usage(message));
        };
        let Prepared::Held(references) = &*prepared else { unreachable!("a stream has been refused") };
        let (references, distinct) = (references.len(), references.distinct());
        let sizes = line::spread(distinct.into(), points);
        let plan = |&size: &u64| Plan {
            entry: policy.entry(),
            args: policy.args(block_bytes),
            capacity: size as u32,
            seed: self.seed,
        };
        let plans: Vec<Plan> = sizes.iter().map(plan).collect();
        let replayed = grid::run(prepared, &plans, &Replaying::new(plans.len(), Some(references)))?;
        let hits = sizes.iter().zip(&replayed.tallies).map(|(&size, tally)| (size, tally.total.hits));
        // A scheme that sees inodes and directories has more references than the trace has data.
        let references = replayed.tallies.first().map_or(references, |tally| tally.total.references);
        Ok(Line::simulated(policy.to_string(), references, distinct.into(), hits))
    }

    fn points<'a>(
        &self,
        lines: &'a [Line],
        name: &'a str,
        choice: &'a Choice,
        block_bytes: Option<u64>,
    ) -> Vec<Point<'a>> {
        let sizes = |line: &Line| match self.points {
            Points::Some(points) => line.sizes(points),
            Points::All => line.steps(),
        };
        let at = |line: &'a Line, size: u64| {
            let hits = line.hits(size).round() as u64;
            Point {
                version: SCHEMA_VERSION,
                trace: name,
                policy: &line.policy,
                size_blocks: size,
                size_bytes: block_bytes.map(|block| block.saturating_mul(size)),
                block_bytes,
                seed: self.seed,
                choice,
                references: line.references,
                hits,
                misses: line.references - hits,
                hit_ratio: line.ratio(size),
                distinct_blocks: line.distinct,
                sampling: line.sampling,
            }
        };
        lines.iter().flat_map(|line| sizes(line).into_iter().map(move |size| at(line, size))).collect()
    }
}

/// The LRU curve from a sample, in the memory of the sample.
fn sampled(
    mut sampler: Shards,
    mut trace: Trace,
    options: &Options,
    name: &str,
    policies: &[PolicySpec],
) -> Result<Line, Failure> {
    let others = policies.iter().find(|policy| policy.entry().asks.one_pass() != Some(OnePass::LastUse));
    if let Some(other) = others {
        let message = format!("a sample gives the curve of lru only, not of {other}: expected --policy lru");
        return Err(Failure::Usage(message));
    }
    let progress = Reading::new(name, &trace.progress);
    scan(trace.reader.as_mut(), options, &progress, |keys| sampler.feed(keys))?;
    drop(progress);
    say_remarks(name, trace.reader.as_ref())?;
    Ok(Line::sampled(policies[0].to_string(), &sampler.curve()))
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = match Value::parse(text) {
        Ok(Value::Number(rate)) => rate,
        Ok(Value::Percent(percent)) => percent / 100.0,
        _ => return Err(format!("{text:?} is no share: expected a number such as 0.01 or 1%")),
    };
    if rate > 0.0 && rate <= 1.0 {
        Ok(rate)
    } else {
        Err(format!("{text} is no share: expected more than 0 and at most 1"))
    }
}

fn parse_points(text: &str) -> Result<Points, String> {
    match text.parse() {
        _ if text == "all" => Ok(Points::All),
        Ok(points @ 2..=1000) => Ok(Points::Some(points)),
        _ => Err(format!("{text:?} is no number of points: expected 2 to 1000, or `all`")),
    }
}
