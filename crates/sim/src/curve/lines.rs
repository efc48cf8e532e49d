//! Curves of several policies over one trace, each by the quickest way that gives it exactly.

use hotset_core::policy::{OnePass, PolicySpec};
use hotset_core::setting::SettingName;
use hotset_core::spec::{SpecError, Value};
use hotset_results::{Choice, Row};
use hotset_trace::{Meta, Trace, TraceError};

use super::{Line, LruCurve, OptCurve, Shards, row, spread};
use crate::curve::sampled;
use crate::error::SimError;
use crate::expand::options::Options;
use crate::expand::scan::scan;
use crate::facts::TraceFacts;
use crate::grid::{self, Plan};
use crate::progress::Observer;
use crate::references::References;
use crate::references::prepare::{Prepared, prepare};
use crate::select::Selection;

/// Which curves are drawn, and how.
///
/// ```
/// use hotset_sim::Silent;
/// use hotset_sim::curve::Curves;
/// use hotset_trace::formats::{BUILTIN, OpenOptions};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("loop.csv");
/// let lines: String = (0..400).map(|at| format!("{},4096\n", at % 100 * 4096)).collect();
/// std::fs::write(&path, format!("offset,size\n{lines}"))?;
///
/// let open = || hotset_trace::open(&path, &BUILTIN, &OpenOptions::default());
/// let drawn = Curves::parse("lru,opt")?.run("loop.csv", open, &Silent)?;
/// assert_eq!((drawn.lines[0].hits(99), drawn.lines[0].hits(100)), (0.0, 300.0));
/// assert!(drawn.lines[1].ratio(50) > 0.3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Curves {
    /// The policies.
    pub policies: Vec<PolicySpec>,
    /// How traces are cut into blocks. Whether requests and times are kept follows from the policies.
    pub options: Options,
    /// Which requests are replayed, and which of them count.
    pub selection: Selection,
    /// The reported sizes, and those at which a policy is replayed that one pass cannot give.
    pub points: Points,
    /// A sample in place of the whole trace, for LRU alone.
    pub sample: Option<Sample>,
    /// Seed of the sample and of policies that draw random numbers.
    pub seed: u64,
}

/// The number of reported sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Points {
    /// So many, on a logarithmic scale from one block to all.
    Some(usize),
    /// Every size at which hits rise.
    All,
}

/// How much is sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// This share of the blocks, more than 0 and at most 1.
    Rate(f64),
    /// So many blocks, whatever the length of the trace.
    Blocks(u32),
}

impl Points {
    /// Reads a number of sizes, or `all`.
    pub fn parse(text: &str) -> Result<Points, String> {
        match text.parse() {
            _ if text == "all" => Ok(Points::All),
            Ok(points @ 2..=1000) => Ok(Points::Some(points)),
            _ => Err(format!("{text:?} is not a number of points: expected 2 to 1000, or `all`")),
        }
    }
}

impl Sample {
    /// Reads a share of the blocks for [`Sample::Rate`]: `0.01`, `1%`.
    pub fn parse_rate(text: &str) -> Result<f64, String> {
        let rate = match Value::parse(text) {
            Ok(Value::Number(rate)) => rate,
            Ok(Value::Percent(percent)) => percent / 100.0,
            _ => return Err(format!("{text:?} is not a share: expected a number such as 0.01 or 1%")),
        };
        match rate > 0.0 && rate <= 1.0 {
            true => Ok(rate),
            false => Err(format!("{text} is not a share: expected more than 0 and at most 1")),
        }
    }
}

/// The curves of a trace.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// One a policy.
    pub lines: Vec<Line>,
    /// One a policy and size: policy by policy.
    pub rows: Vec<Row>,
    /// Bytes of a block, where blocks have a size.
    pub block_bytes: Option<u64>,
}

impl Curves {
    /// Curves of these policies at 20 sizes; all else is the default.
    pub fn new(policies: Vec<PolicySpec>) -> Curves {
        Curves {
            policies,
            options: Options::default(),
            selection: Selection::default(),
            points: Points::Some(20),
            sample: None,
            seed: 1,
        }
    }

    /// The same from text, as the setting `policy` has it.
    pub fn parse(policies: &str) -> Result<Curves, SpecError> {
        Ok(Curves::new(PolicySpec::parse_list(policies)?))
    }

    /// Draws the curves of the trace that `open` opens, twice where the selection must know its length. Rows and errors
    /// call it `name`.
    pub fn run(
        &self,
        name: &str,
        open: impl Fn() -> Result<Trace, TraceError>,
        observer: &dyn Observer,
    ) -> Result<Drawn, SimError> {
        let trace = self.selection.open(name, open, &self.options)?;
        sampled::check(trace.meta())?;
        let facts = self.facts(name, trace.meta());
        let block_bytes = facts.block_bytes;
        let lines = match self.sample {
            Some(sample) => vec![self.sampled(sample, name, trace, observer)?],
            None => self.exact(name, trace, block_bytes, observer)?,
        };
        if lines.first().is_none_or(|line| line.references == 0) {
            return Err(SimError::nothing(name, &self.selection));
        }
        let rows = self.rows(&lines, &facts);
        Ok(Drawn { lines, rows, block_bytes })
    }

    /// The LRU curve from a sample, in the memory of the sample.
    fn sampled(&self, sample: Sample, name: &str, mut trace: Trace, observer: &dyn Observer) -> Result<Line, SimError> {
        if !self.selection.counts_all() {
            return Err(SimError::SampleCountsAll);
        }
        let gives_lru = |policy: &&PolicySpec| policy.info().one_pass == Some(OnePass::LastUse);
        if let Some(other) = self.policies.iter().find(|policy| !gives_lru(policy)) {
            return Err(SimError::NotSampled { policy: other.to_string() });
        }
        let mut sampler = match sample {
            Sample::Rate(rate) => Shards::fixed_rate(rate, self.seed)?,
            Sample::Blocks(blocks) => Shards::fixed_size(blocks as usize, self.seed),
        };
        {
            let reading = observer.reading(name, &trace.progress);
            scan(trace.reader.as_mut(), &self.options, reading.as_ref(), |scanned| sampler.take(scanned))?;
        }
        observer.read(name, trace.reader.as_ref());
        let policy = self.policies.first().map_or_else(String::new, PolicySpec::to_string);
        Ok(Line::sampled(policy, &sampler.curve()))
    }

    /// A line a policy.
    fn exact(
        &self,
        name: &str,
        trace: Trace,
        block_bytes: Option<u64>,
        observer: &dyn Observer,
    ) -> Result<Vec<Line>, SimError> {
        let args = || self.policies.iter().map(|policy| (policy, policy.args(block_bytes)));
        let options = Options {
            keep_requests: args().any(|(policy, args)| grid::wants_requests(policy.entry(), &args)),
            keep_times: args().any(|(_, args)| args.uses_clock()),
            ..self.options.clone()
        };
        let (mut prepared, reader) = {
            let reading = observer.reading(name, &trace.progress);
            prepare(trace.reader, &options, reading.as_ref())?
        };
        if let Some(reader) = &reader {
            observer.read(name, reader.as_ref());
        }
        let mut lines = Vec::with_capacity(self.policies.len());
        for policy in &self.policies {
            let references = match &prepared {
                Prepared::Held(references) => references,
                Prepared::Stream(stream) => {
                    let sample = SettingName("sample_size").of(10_000);
                    return Err(stream.refuse("an exact curve", format!("or estimate it with {sample}")));
                }
            };
            let line = match one_pass(policy, references, block_bytes)? {
                Some(line) => line,
                None => self.replayed(policy, &mut prepared, block_bytes, observer)?,
            };
            lines.push(line);
        }
        Ok(lines)
    }

    /// A policy that one pass does not give, replayed at every point.
    fn replayed(
        &self,
        policy: &PolicySpec,
        prepared: &mut Prepared,
        block_bytes: Option<u64>,
        observer: &dyn Observer,
    ) -> Result<Line, SimError> {
        let Points::Some(points) = self.points else {
            return Err(SimError::EverySize { policy: policy.to_string() });
        };
        let Prepared::Held(references) = &*prepared else { unreachable!("a stream has been refused") };
        let (references, distinct) = (references.len(), references.distinct());
        let sizes = spread(distinct.into(), points);
        let plan = |&size: &u64| Plan {
            entry: policy.entry(),
            args: policy.args(block_bytes),
            capacity: size as u32,
            bytes: None,
            seed: self.seed,
        };
        let plans: Vec<Plan> = sizes.iter().map(plan).collect();
        let replayed = {
            let replaying = observer.replaying(plans.len(), Some(references));
            grid::run(prepared, &plans, replaying.as_ref())?
        };
        let hits = sizes.iter().zip(&replayed.tallies).map(|(&size, tally)| (size, tally.total.hits));
        // A scheme that sees inodes and directories has more references than the trace has data.
        let references = replayed.tallies.first().map_or(references, |tally| tally.total.references);
        Ok(Line::simulated(policy.to_string(), references, distinct.into(), hits))
    }

    /// What the rows of a trace have in common.
    pub(super) fn facts(&self, name: &str, meta: &Meta) -> TraceFacts {
        TraceFacts {
            name: name.to_owned(),
            choice: Choice { format: meta.format, ..self.selection.choice(&self.options, meta.has_ops) },
            block_bytes: self.options.block_bytes(meta),
            distinct: None,
            has_ops: meta.has_ops,
            sample: meta.sample,
            apps: Vec::new(),
        }
    }

    fn rows(&self, lines: &[Line], facts: &TraceFacts) -> Vec<Row> {
        let sizes = |line: &Line| match self.points {
            Points::Some(points) => line.sizes(points),
            Points::All => line.steps(),
        };
        let row = |line, size| row::of_blocks(facts, line, size, self.seed);
        lines.iter().flat_map(|line| sizes(line).into_iter().map(move |size| row(line, size))).collect()
    }
}

/// The curve that one pass gives, if there is one for the policy. It counts every reference.
fn one_pass(policy: &PolicySpec, references: &References, block_bytes: Option<u64>) -> Result<Option<Line>, SimError> {
    if references.has_uncounted() {
        return Ok(None);
    }
    let name = policy.to_string();
    Ok(match policy.info().one_pass {
        Some(OnePass::LastUse) => Some(Line::exact(name, &LruCurve::of(references))),
        Some(OnePass::NextUse) => {
            let too_many = |_| SimError::TooManyReferences { policy: name.clone() };
            let curve = OptCurve::of(references).map_err(too_many)?;
            Some(Line::exact(name, &curve))
        }
        Some(OnePass::LastUseByPart) => {
            references.parts_curve(policy, block_bytes)?.map(|(_, by_total)| Line::exact(name, &by_total))
        }
        None => None,
    })
}
