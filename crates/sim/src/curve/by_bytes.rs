//! Curves over bytes, for objects of many sizes.

use hotset_core::policy::PolicySpec;
use hotset_core::setting::SettingName;
use hotset_results::{Row, Sampling};
use hotset_trace::{Trace, TraceError, TraceReader};

use super::bytes::{ByteCurves, ByteLine, BytePoint, Weights, bounds, expected_error, is_lru, is_of_one_pass, lru};
use super::sampled::{self, Sampled};
use super::shards::RESOLVED;
use super::{Curves, Points, Sample, log_spread, row};
use crate::error::SimError;
use crate::expand::options::Options;
use crate::facts::TraceFacts;
use crate::grid::{self, Plan};
use crate::progress::Observer;
use crate::references::References;
use crate::references::prepare::{Prepared, prepare};

impl Curves {
    /// Draws curves over bytes of the trace that `open` opens, whose objects are a block each and have sizes. Rows and
    /// errors call it `name`.
    pub fn run_bytes(
        &self,
        name: &str,
        open: impl Fn() -> Result<Trace, TraceError>,
        observer: &dyn Observer,
    ) -> Result<(ByteCurves, Vec<Row>), SimError> {
        let keep_times = self.policies.iter().any(|policy| policy.args(None).uses_clock());
        let options = Options { keep_sizes: true, keep_times, ..self.options.clone() };
        let trace = self.selection.open(name, open, &options)?;
        sampled::check(trace.meta())?;
        let facts = self.facts(name, trace.meta());
        if facts.block_bytes.is_some() {
            return Err(SimError::NoObjectSizes { trace: name.to_owned(), why: "its blocks all have one size" });
        }
        let reading = observer.reading(name, &trace.progress);
        let (sampled, reader): (_, Box<dyn TraceReader>) = match self.sample {
            None => (None, trace.reader),
            Some(Sample::Blocks(_)) => return Err(SimError::SampleOfBytes),
            Some(Sample::Rate(rate)) => {
                let sampled = Sampled::new(trace.reader, &options, rate, self.seed)?;
                (Some((rate, sampled.whole())), Box::new(sampled))
            }
        };
        let (mut prepared, reader) = prepare(reader, &options, reading.as_ref())?;
        drop(reading);
        if let Some(reader) = &reader {
            observer.read(name, reader.as_ref());
        }
        let references = match &prepared {
            Prepared::Held(references) => references,
            Prepared::Stream(stream) => {
                return Err(stream
                    .refuse("a curve over bytes", format!("or estimate it with {}", SettingName("sample").of(0.01))));
            }
        };
        if references.mean_bytes().is_none() {
            return Err(SimError::NoObjectSizes { trace: name.to_owned(), why: "it tells no sizes of objects" });
        }
        let weights = Weights::of(references);
        let sizes = self.byte_sizes(&weights)?;
        let bounds = bounds(references, &sizes);
        let mut curves = ByteCurves {
            lines: Vec::with_capacity(self.policies.len()),
            bounds,
            references: 0,
            bytes: 0,
            distinct: references.distinct().into(),
            footprint: weights.footprint,
            sampling: None,
        };
        let sampling = sampled.as_ref().map(|&(rate, _)| sampling(rate, references, &weights, &sizes));
        for policy in &self.policies {
            let line = self.byte_line(policy, &mut prepared, &weights, &sizes, &mut curves, observer)?;
            curves.lines.push(line);
        }
        if curves.references == 0 {
            return Err(SimError::nothing(name, &self.selection));
        }
        if let (Some(sampling), Some((_, whole))) = (sampling, sampled) {
            curves.scale(sampling, &whole);
        }
        let rows = self.byte_rows(&curves, &facts);
        Ok((curves, rows))
    }

    /// Sizes on a logarithmic scale from a thousandth of all objects to all.
    fn byte_sizes(&self, weights: &Weights) -> Result<Vec<u64>, SimError> {
        match self.points {
            Points::Some(points) => Ok(log_spread((weights.footprint / 1000).max(1), weights.footprint, points)),
            Points::All => Err(SimError::EverySize { policy: "a curve over bytes".to_owned() }),
        }
    }

    /// The line of a policy; notes how many references and bytes are counted.
    fn byte_line(
        &self,
        policy: &PolicySpec,
        prepared: &mut Prepared,
        weights: &Weights,
        sizes: &[u64],
        curves: &mut ByteCurves,
        observer: &dyn Observer,
    ) -> Result<ByteLine, SimError> {
        let Prepared::Held(references) = &*prepared else { unreachable!("a stream has been refused") };
        let is_exact = is_lru(policy) && is_of_one_pass(references, weights);
        let exact_from = if is_exact { weights.largest } else { u64::MAX };
        let (below, above) = sizes.split_at(sizes.partition_point(|&size| size < exact_from));
        let exact = if above.is_empty() { Vec::new() } else { lru(references, above) };
        if is_exact {
            curves.references = references.len();
            curves.bytes = references.sizes().iter().map(|&size| u64::from(size)).sum();
        }
        let mut points = self.replayed_bytes(policy, prepared, below, curves, observer)?;
        points.extend(exact);
        Ok(ByteLine { policy: policy.to_string(), exact_from, points })
    }

    /// Points of a policy that is replayed at each size.
    fn replayed_bytes(
        &self,
        policy: &PolicySpec,
        prepared: &mut Prepared,
        sizes: &[u64],
        curves: &mut ByteCurves,
        observer: &dyn Observer,
    ) -> Result<Vec<BytePoint>, SimError> {
        if sizes.is_empty() {
            return Ok(Vec::new());
        }
        let Prepared::Held(references) = &*prepared else { unreachable!("a stream has been refused") };
        let (length, mean) = (references.len(), mean(references));
        let plan = |&size: &u64| Plan {
            entry: policy.entry(),
            args: policy.args(None),
            capacity: (size as f64 / mean.max(1.0)).clamp(1.0, f64::from(u32::MAX)) as u32,
            bytes: Some(size),
            seed: self.seed,
        };
        let plans: Vec<Plan> = sizes.iter().map(plan).collect();
        let replayed = {
            let replaying = observer.replaying(plans.len(), Some(length));
            grid::run(prepared, &plans, replaying.as_ref())?
        };
        let points = sizes.iter().zip(&replayed.tallies).map(|(&size, tally)| {
            (curves.references, curves.bytes) = (tally.total.references, tally.bytes.all);
            BytePoint { size, hits: tally.total.hits, bytes_hit: tally.bytes.hit }
        });
        Ok(points.collect())
    }

    fn byte_rows(&self, curves: &ByteCurves, facts: &TraceFacts) -> Vec<Row> {
        let row = |line: &ByteLine, point: &BytePoint, bound: &BytePoint| {
            row::of_bytes(facts, &line.policy, curves, (point, bound), self.seed)
        };
        let of_line = |line: &ByteLine| -> Vec<Row> {
            line.points.iter().zip(&curves.bounds).map(|(point, bound)| row(line, point, bound)).collect()
        };
        curves.lines.iter().flat_map(of_line).collect()
    }
}

/// A sample of a trace at `rate`, and how far off its curves at `sizes` are expected to be.
fn sampling(rate: f64, sample: &References, weights: &Weights, sizes: &[u64]) -> Sampling {
    let objects = u64::from(sample.distinct());
    let mean = weights.footprint as f64 / objects.max(1) as f64;
    let resolved = sizes.partition_point(|&size| (size as f64) < RESOLVED * mean);
    let is_enough = rate < 1.0 && objects as f64 >= RESOLVED;
    Sampling {
        sampling_rate: rate,
        sampled_blocks: objects,
        resolution_blocks: if rate < 1.0 { (RESOLVED / rate).ceil() as u64 } else { 1 },
        expected_error: if is_enough { expected_error(sample, &sizes[resolved..]) } else { None },
    }
}

fn mean(references: &References) -> f64 {
    references.mean_bytes().unwrap_or(1.0)
}
