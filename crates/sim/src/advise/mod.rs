//! Advice: how much memory, and which policy, by rules that a sweep can check.
//!
//! All ratios are of reads, repeats left out ([`Row::fresh`]). The rules:
//!
//! * **What runs today** is the page cache of Linux, as a policy ([`TODAY`]), or another one of the caller's.
//! * **A cache is worth having** if with memory for everything it hits at least [`WORTHWHILE`] of the reads.
//! * **The memory to have** is the least of [`SIZES`] at which today's policy reaches [`ENOUGH`] of the hits that it
//!   reaches when everything fits: more memory gives little more, whatever it costs.
//! * **The policy to have** is the first of the candidates, ordered from the cheapest to the most expensive, whose mean
//!   ratio over [`COMPARED`] is within [`NEAR`] of the best one's.
//! * **With a storage model** the policy to have is instead the one with the least seconds in that memory.
//! * **A change of policy pays** if it is among the measures that gain ([`Measure`]): it saves seconds where these are
//!   known, else reads.
//! * **No figures** are given where the recording does not carry them ([`Evidence`], [`Finding`]).
//! * **What a database does** with the same memory is estimated with the policy of its buffers, if the caller names
//!   one.
//! * **The certainty** follows from the gains in [`WINDOWS`] consecutive intervals of the trace.

mod evidence;
mod measures;
mod told;

use hotset_core::policy::PolicySpec;
use hotset_core::spec::{SizeSpec, SpecError};
use hotset_core::storage::StorageModel;
use hotset_results::{Metric, Row, SCHEMA_VERSION, Share};
use hotset_trace::{Trace, TraceError};

use crate::clock::{self, Every};
use crate::error::SimError;
use crate::expand::options::Options;
use crate::progress::Observer;
use crate::select::{Filter, Names, Ops, Selection};
use crate::sweep::{Sweep, Swept};

pub use evidence::{Database, Evidence, Finding, REPEATED, SERVED, UNSEEN, WAITED, buffers, database_of};
pub use measures::{Action, MOUNT_HIT, Measure, SAVED, SAVED_BY_MOUNT, SAVED_BY_STEERING};
pub use told::{Advice, AtSize, Beside, Change, Memory, NextStep, Standing};

/// What most programs run on today.
pub const TODAY: &str = "linux";
/// Policies that are compared, the cheapest first.
pub const CANDIDATES: &str = "sieve,clock,lru,s3-fifo,slru,2q,arc,clock-pro,lirs,w-tinylfu,eelru,auto";
/// The policy that shows what cannot be passed.
const BOUND: &str = "opt";
/// Sizes at which the candidates are compared, as shares of the footprint.
pub const COMPARED: &str = "5%,10%,20%,40%,80%";
/// Sizes among which the memory to have is looked for, as shares of the footprint.
pub const SIZES: &str = "1%,1.4%,2%,2.8%,4%,5.6%,8%,11%,16%,22%,32%,45%,64%,80%,100%";
/// The share of the hits that memory can give which is enough.
pub const ENOUGH: f64 = 0.9;
/// The share of the reads that must hit when everything fits for any memory to be worth it.
pub const WORTHWHILE: f64 = 0.01;
/// Shares of hits that are as good as equal: one point.
pub const NEAR: f64 = 0.01;
/// Intervals of the trace whose gains are reported separately.
pub const WINDOWS: u64 = 5;

/// The subject and the options of the advice.
#[derive(Clone, Debug)]
pub struct Advisor {
    /// Policies that are compared, the cheapest first.
    pub candidates: Vec<PolicySpec>,
    /// What runs today.
    pub today: PolicySpec,
    /// Another cache of today's set-up, above that one or at its side, such as the buffers of a database.
    pub beside: Vec<PolicySpec>,
    /// The evidence of the recording in addition to its references.
    pub evidence: Evidence,
    /// The available memory; `None` to have it recommended.
    pub memory: Option<SizeSpec>,
    /// How traces are cut into blocks.
    pub options: Options,
    /// Which requests are replayed, and which of them count.
    pub selection: Selection,
    /// The store behind the cache, to tell seconds.
    pub store: Option<StorageModel>,
}

/// The policy that runs today, the candidates from the cheapest on, and the bound: the default comparison.
pub fn compared() -> Vec<PolicySpec> {
    [TODAY, CANDIDATES, BOUND].into_iter().flat_map(known).collect()
}

fn known(text: &str) -> Vec<PolicySpec> {
    PolicySpec::parse_list(text).expect("the lists above name policies of the registry")
}

impl Default for Advisor {
    fn default() -> Advisor {
        Advisor {
            candidates: known(CANDIDATES),
            today: known(TODAY).remove(0),
            beside: Vec::new(),
            evidence: Evidence::default(),
            memory: None,
            options: Options::default(),
            selection: Selection::default(),
            store: None,
        }
    }
}

impl Advisor {
    /// Advice on the trace that `open` opens, several times over. Rows and errors call it `name`.
    pub fn run(
        &self,
        name: &str,
        open: impl Fn() -> Result<Trace, TraceError>,
        observer: &dyn Observer,
    ) -> Result<Advice, SimError> {
        let replay = Replay { advisor: self, name, open: &open, observer, counted: None, without: None };
        let bound = known(BOUND).remove(0);
        let mut all = self.candidates.clone();
        all.extend([self.today.clone(), bound.clone()]);
        let standings = told::standings(&replay.rows(&all, shares(COMPARED)?, None)?);
        let best = standings.iter().filter(|standing| !standing.is_bound).map(|standing| standing.mean_ratio);
        let best = best.fold(0.0, f64::max);
        let is_near = |policy: &&PolicySpec| {
            let name = policy.to_string();
            standings.iter().any(|standing| standing.policy == name && standing.mean_ratio >= best - NEAR)
        };
        let rows = replay.rows(&distinct([self.today.clone(), bound.clone()]), shares(SIZES)?, None)?;
        let today = self.today.to_string();
        let first = &rows[0];
        let mut advice = Advice {
            version: SCHEMA_VERSION,
            trace: name.to_owned(),
            choice: first.choice.clone(),
            evidence: self.evidence.clone(),
            finding: Finding::NothingHelps,
            reads: share(first).of,
            attainable_hits: 0,
            distinct_blocks: first.distinct_blocks.unwrap_or(0),
            block_bytes: first.block_bytes,
            today: today.clone(),
            policy: today.clone(),
            bound: BOUND.to_owned(),
            standings: standings.clone(),
            memory: None,
            change: None,
            measures: Vec::new(),
            beside: Vec::new(),
            sizes: told::sizes(&rows, &today, &today, BOUND),
        };
        advice.attainable_hits = advice.sizes.last().map_or(0, |size| size.today_hits);
        if let Some(finding) = self.evidence.finding(self.memory.is_some()).or_else(|| told::too_little(&advice)) {
            advice.finding = finding;
            return Ok(advice);
        }
        let memory = told::memory(&advice.sizes, advice.attainable_hits);
        let at = match &self.memory {
            Some(size) => replay.blocks_of(size, &advice)?,
            None => memory.size_blocks,
        };
        let quickest = self.store.map(|_| self.quickest(at, &replay)).transpose()?.flatten();
        let pick = match quickest {
            Some(pick) => pick,
            None => [&self.today].into_iter().chain(&self.candidates).find(is_near).unwrap_or(&self.today).clone(),
        };
        let rows = replay.rows(&distinct([self.today.clone(), pick.clone(), bound]), shares(SIZES)?, None)?;
        advice.policy = pick.to_string();
        advice.sizes = told::sizes(&rows, &today, &advice.policy, BOUND);
        self.finish(&mut advice, memory, at, &pick, &replay)?;
        Ok(advice)
    }

    /// The candidate with the least seconds in `at` blocks; today's policy unless another saves [`SAVED`] of them.
    /// `None` where seconds are unknown.
    fn quickest(&self, at: u32, replay: &Replay) -> Result<Option<PolicySpec>, SimError> {
        let all: Vec<PolicySpec> = std::iter::once(&self.today).chain(&self.candidates).cloned().collect();
        let rows = replay.rows(&all, SizeSpec::of_blocks(&[at]), Some(self.clock()))?;
        let seconds = |policy: &PolicySpec| {
            let row = rows.iter().find(|row| row.policy == policy.to_string());
            row.and_then(|row| row.finish_seconds).unwrap_or(f64::INFINITY)
        };
        let best = all.iter().min_by(|one, other| seconds(one).total_cmp(&seconds(other))).unwrap_or(&self.today);
        if seconds(&self.today).is_infinite() {
            return Ok(None);
        }
        let is_quicker = seconds(best) < (1.0 - SAVED) * seconds(&self.today);
        Ok(Some(if is_quicker { best } else { &self.today }.clone()))
    }

    fn clock(&self) -> clock::ClockOptions {
        clock::ClockOptions { store: self.store, ..clock::ClockOptions::default() }
    }

    /// Adds what depends on the memory to have.
    fn finish(
        &self,
        advice: &mut Advice,
        mut memory: Memory,
        at: u32,
        pick: &PolicySpec,
        replay: &Replay,
    ) -> Result<(), SimError> {
        let two = distinct([self.today.clone(), pick.clone()]);
        let all = [&two[..], &self.beside].concat();
        let rows = replay.rows(&all, SizeSpec::of_blocks(&[at]), None)?;
        let hits = |policy: &PolicySpec| {
            let row = rows.iter().find(|row| row.policy == policy.to_string());
            row.map_or(0, |row| share(row).hits)
        };
        let beside = |policy: &PolicySpec| Beside { policy: policy.to_string(), hits: hits(policy) };
        advice.beside = self.beside.iter().map(beside).collect();
        let mut change = told::change(advice, at, hits(&self.today), hits(pick));
        change.gains = self.gains(&two, at, advice, replay)?;
        let mut timed = Vec::new();
        if self.store.is_some() {
            let next = memory.next.as_ref().map(|next| next.size_blocks);
            let mut sizes = vec![at, memory.size_blocks];
            sizes.extend(next);
            timed = replay.rows(&all, SizeSpec::of_blocks(&sizes), Some(self.clock()))?;
        }
        let seconds = |policy: &str, size| {
            let row = timed.iter().find(|row| row.policy == policy && row.size_blocks == u64::from(size))?;
            row.finish_seconds
        };
        change.seconds = seconds(&advice.policy, at);
        change.today_seconds = seconds(&advice.today, at);
        if let Some(next) = &mut memory.next {
            let [less, more] = [memory.size_blocks, next.size_blocks].map(|size| seconds(&advice.today, size));
            next.fewer_seconds = less.zip(more).map(|(less, more)| less - more);
        }
        let mut measures = told::measures(advice, &memory, &change, seconds);
        for file in &self.evidence.read_once {
            measures.extend(self.behind(file, &change, replay)?);
        }
        advice.measures = measures::ranked(measures, advice, &change);
        change.pays = advice.measures.iter().any(|measure| measure.action == Action::Steer);
        advice.finding = if advice.measures.is_empty() { Finding::NothingHelps } else { Finding::Gains };
        advice.memory = Some(memory);
        advice.change = Some(change);
        Ok(())
    }

    /// The gain if `file`, which is read once, never enters the cache.
    fn behind(&self, file: &str, change: &Change, replay: &Replay) -> Result<Option<Measure>, SimError> {
        if !self.selection.only.exclude.is_empty() {
            return Ok(None);
        }
        let replay = Replay { without: Some(file), counted: None, ..*replay };
        let rows = replay.rows(std::slice::from_ref(&self.today), SizeSpec::of_blocks(&[change.size_blocks]), None)?;
        Ok(rows.first().map(|row| Measure {
            action: Action::DropBehind { file: file.to_owned() },
            policy: None,
            size_blocks: change.size_blocks,
            size_bytes: change.size_bytes,
            fewer_reads: share(row).hits as i64 - change.today_hits as i64,
            fewer_seconds: None,
        }))
    }

    /// The additional hits of the second policy over the first, as a share of the reads of each interval of the trace.
    fn gains(&self, two: &[PolicySpec], at: u32, advice: &Advice, replay: &Replay) -> Result<Vec<f64>, SimError> {
        let [today, pick] = two else { return Ok(Vec::new()) };
        let references = advice.sizes.first().map_or(0, |size| size.references);
        let reads = Filter { ops: Some(Ops::READS), ..Filter::default() };
        let replay = Replay { counted: Some(reads), ..*replay };
        let every = Every::References(references.div_ceil(WINDOWS).max(1));
        let options = clock::ClockOptions { every: Some(every), ..clock::ClockOptions::default() };
        let series = replay.swept(two, SizeSpec::of_blocks(&[at]), Some(options))?.series;
        let of = |policy: &PolicySpec| told::stretches(&series, &policy.to_string());
        let gain = |(&(references, today), &(_, pick)): (&(u64, u64), &(u64, u64))| {
            (pick as f64 - today as f64) / references.max(1) as f64
        };
        Ok(of(today).iter().zip(&of(pick)).map(gain).collect())
    }
}

/// One trace, replayed as often as is needed.
struct Replay<'a> {
    advisor: &'a Advisor,
    name: &'a str,
    open: &'a dyn Fn() -> Result<Trace, TraceError>,
    observer: &'a dyn Observer,
    /// What counts, where that is not all.
    counted: Option<Filter>,
    /// A file whose requests are left out.
    without: Option<&'a str>,
}

impl Replay<'_> {
    fn swept(
        &self,
        policies: &[PolicySpec],
        sizes: SizeSpec,
        clock: Option<clock::ClockOptions>,
    ) -> Result<Swept, SimError> {
        let sweep = Sweep {
            options: self.advisor.options.clone(),
            selection: self.selection(),
            clock,
            ..Sweep::new(policies.to_vec(), sizes)
        };
        sweep.run(self.name, self.open, self.observer)
    }

    fn selection(&self) -> Selection {
        let mut selection = self.advisor.selection.clone();
        if let Some(Ok(names)) = self.without.map(|file| Names::new(vec![file.to_owned()])) {
            selection.only.exclude = names;
        }
        match &self.counted {
            Some(counted) => Selection { count_only: counted.clone(), ..selection },
            None => selection,
        }
    }

    fn rows(
        &self,
        policies: &[PolicySpec],
        sizes: SizeSpec,
        clock: Option<clock::ClockOptions>,
    ) -> Result<Vec<Row>, SimError> {
        Ok(self.swept(policies, sizes, clock)?.rows)
    }

    /// The one size that the user has, in blocks.
    fn blocks_of(&self, size: &SizeSpec, advice: &Advice) -> Result<u32, SimError> {
        let sizes = size.resolve(advice.distinct_blocks, advice.block_bytes).map_err(SimError::Sizes)?;
        match sizes[..] {
            [size] => Ok(size),
            _ => Err(SimError::Sizes(SpecError::new("advice is given on one size: expected one"))),
        }
    }
}

/// What counts.
fn share(row: &Row) -> Share {
    row.fresh(Metric::Reads)
}

/// Shares of the footprint, each at least one block.
fn shares(text: &str) -> Result<SizeSpec, SimError> {
    Ok(SizeSpec::parse(text).map_err(SimError::Sizes)?.at_least_one_block())
}

fn distinct<const N: usize>(policies: [PolicySpec; N]) -> Vec<PolicySpec> {
    let mut seen: Vec<PolicySpec> = Vec::with_capacity(N);
    for policy in policies {
        if !seen.iter().any(|other| other.to_string() == policy.to_string()) {
            seen.push(policy);
        }
    }
    seen
}
