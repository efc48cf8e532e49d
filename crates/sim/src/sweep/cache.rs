//! A sweep over requests.

use hotset_core::policy::{Args, Explained, Names, PolicySpec};
use hotset_core::request::Kind;
use hotset_core::spec::ObjectSize;
use hotset_results::{Choice, Row};
use hotset_trace::{Meta, Tables, Trace, TraceReader};

use super::{Sweep, Swept};
use crate::curve::{BytePoint, bounds};
use crate::error::SimError;
use crate::expand::options::Options;
use crate::facts::TraceFacts;
use crate::grid::{self, Plan, Replayed};
use crate::progress::Observer;
use crate::references::References;
use crate::references::prepare::{Prepared, prepare};

impl Sweep {
    /// Rows of an open trace of requests.
    pub(super) fn over_requests(&self, name: &str, trace: Trace, observer: &dyn Observer) -> Result<Swept, SimError> {
        let meta = trace.meta().clone();
        let block_bytes = self.options.block_bytes(&meta);
        if self.is_all && self.is_in_bytes(block_bytes) {
            let able = self.able_in_bytes(name, observer);
            return able.over_requests(name, trace, observer);
        }
        let options = self.keeping(block_bytes);
        let (mut prepared, reader) = {
            let reading = observer.reading(name, &trace.progress);
            prepare(trace.reader, &options, reading.as_ref())?
        };
        if let Some(reader) = &reader {
            observer.read(name, reader.as_ref());
        }
        if let Some(share) = meta.sample {
            let note = format!("sizes are of a cache for the whole trace; the sample is replayed in {share} of each");
            observer.note(name, &note);
        }
        let (plans, references) = self.plans(name, &prepared, block_bytes, meta.sample)?;
        let cells = {
            let replaying = observer.replaying(plans.len(), references);
            let clock = self.clock.clone().unwrap_or_default();
            grid::run_timed(&mut prepared, &plans, &clock, replaying.as_ref())?
        };
        let bounds = self.bounds_of(&prepared, &plans);
        let reader = reader.unwrap_or_else(|| streamed(name, prepared, observer));
        if cells.tallies.iter().all(|tally| tally.total.references == 0) {
            return Err(SimError::nothing(name, &self.selection));
        }
        let mut swept =
            self.told(self.facts(name, &meta, reader.as_ref(), block_bytes, cells.distinct), &plans, &cells);
        for (row, plan) in swept.rows.iter_mut().zip(&plans) {
            let bound = bounds.iter().find(|bound| plan.bytes == Some(bound.size));
            let references = row.counts.references.max(1);
            row.bound_hit_ratio = bound.map(|bound| bound.hits as f64 / references as f64);
            let bytes = row.object_bytes.unwrap_or(0).max(1);
            row.bound_byte_hit_ratio = bound.map(|bound| bound.bytes_hit as f64 / bytes as f64);
        }
        if self.explain {
            let names = TraceNames(reader.tables());
            for (row, told) in swept.rows.iter_mut().zip(cells.explanations) {
                row.explained = Explained::all(told, &names);
            }
        }
        Ok(swept)
    }

    /// The same without the policies that cannot be measured in bytes of objects. Reports their names to `observer`.
    fn able_in_bytes(&self, name: &str, observer: &dyn Observer) -> Sweep {
        let is_able = |policy: &&PolicySpec| grid::refused_in_bytes(policy.entry(), &self.args(policy, None)).is_none();
        let (able, left_out): (Vec<&PolicySpec>, Vec<&PolicySpec>) = self.policies.iter().partition(is_able);
        if !left_out.is_empty() {
            let names: Vec<String> = left_out.iter().map(|policy| policy.to_string()).collect();
            let names = names.join(", ");
            observer.note(name, &format!("left out, since they cannot be measured in bytes of objects: {names}"));
        }
        Sweep { policies: able.into_iter().cloned().collect(), is_all: false, ..self.clone() }
    }

    /// What no policy exceeds at the size of each plan, if that was asked for and is known.
    fn bounds_of(&self, prepared: &Prepared, plans: &[Plan]) -> Vec<BytePoint> {
        let sizes: Vec<u64> = plans.iter().filter_map(|plan| plan.bytes).collect();
        match prepared {
            Prepared::Held(references) if self.bounds && !sizes.is_empty() => {
                let mut distinct = sizes;
                distinct.sort_unstable();
                distinct.dedup();
                bounds(references, &distinct)
            }
            _ => Vec::new(),
        }
    }

    /// The options with the facts that the policies need kept.
    fn keeping(&self, block_bytes: Option<u64>) -> Options {
        let all = || self.policies.iter().map(|policy| (policy, self.args(policy, block_bytes)));
        Options {
            keep_requests: all().any(|(policy, args)| grid::wants_requests(policy.entry(), &args)),
            keep_sizes: self.is_in_bytes(block_bytes),
            keep_times: self.clock.as_ref().is_some_and(|clock| clock.is_asked())
                || all().any(|(_, args)| args.uses_clock()),
            ..self.options.clone()
        }
    }

    /// True if some size is in bytes of objects, each of which is a block.
    pub(super) fn is_in_bytes(&self, block_bytes: Option<u64>) -> bool {
        block_bytes.is_none() && self.sizes.has_bytes()
    }

    fn args(&self, policy: &PolicySpec, block_bytes: Option<u64>) -> Args {
        policy.args(block_bytes).with_rules(self.rules.clone())
    }

    /// A plan for each policy and size, and the number of references if it is known.
    fn plans(
        &self,
        name: &str,
        prepared: &Prepared,
        block_bytes: Option<u64>,
        sample: Option<f64>,
    ) -> Result<(Vec<Plan>, Option<u64>), SimError> {
        let (held, footprint, references) = match prepared {
            Prepared::Held(references) if references.is_empty() => {
                return Err(SimError::nothing_referenced(name, &self.selection));
            }
            Prepared::Held(references) => (references, u64::from(references.distinct()), Some(references.len())),
            Prepared::Stream(stream) => {
                let offline = self.policies.iter().find(|policy| policy.is_offline());
                stream.check(self.sizes.needs_footprint(), offline)?;
                (&stream.begun, 0, None)
            }
        };
        let sizes = self.resolved(footprint, held, block_bytes, sample)?;
        let plan = |policy: &PolicySpec, size: ObjectSize| Plan {
            entry: policy.entry(),
            args: self.args(policy, block_bytes),
            capacity: size.objects,
            bytes: size.bytes,
            seed: self.seed,
        };
        let at_all = |policy| sizes.iter().map(move |&size| plan(policy, size));
        Ok((self.replayed().iter().flat_map(at_all).collect(), references))
    }

    /// The sizes over what is held.
    pub(super) fn resolved(
        &self,
        footprint: u64,
        held: &References,
        block_bytes: Option<u64>,
        sample: Option<f64>,
    ) -> Result<Vec<ObjectSize>, SimError> {
        let spec = self.sizes.clone().of_sample(sample.unwrap_or(1.0));
        let sizes = if self.is_in_bytes(block_bytes) {
            spec.resolve_objects(footprint, held.mean_bytes())
        } else {
            let blocks = spec.resolve(footprint, block_bytes);
            blocks.map(|blocks| blocks.into_iter().map(ObjectSize::of_objects).collect())
        };
        sizes.map_err(SimError::Sizes)
    }

    pub(super) fn facts(
        &self,
        name: &str,
        meta: &Meta,
        reader: &dyn TraceReader,
        block_bytes: Option<u64>,
        distinct: Option<u32>,
    ) -> TraceFacts {
        TraceFacts {
            name: name.to_owned(),
            choice: Choice { format: meta.format, ..self.selection.choice(&self.options, meta.has_ops) },
            block_bytes,
            distinct: distinct.map(u64::from),
            has_ops: meta.has_ops,
            sample: meta.sample,
            apps: reader.tables().apps.clone(),
        }
    }

    fn told(&self, facts: TraceFacts, plans: &[Plan], cells: &Replayed) -> Swept {
        let sizes = plans.len() / self.replayed().len().max(1);
        let specs = self.replayed().iter().flat_map(|policy| std::iter::repeat_n(policy.to_string(), sizes));
        let (mut rows, mut series) = (Vec::with_capacity(plans.len()), Vec::new());
        let counted = cells.tallies.iter().zip(&cells.samples).zip(&cells.reference_nanoseconds);
        for ((spec, plan), ((tally, samples), &reference_nanoseconds)) in specs.zip(plans).zip(counted) {
            if let Some(every) = self.clock.as_ref().and_then(|options| options.every) {
                series.extend(facts.series(&spec, plan.capacity, every, samples));
            }
            let size = ObjectSize { objects: plan.capacity, bytes: plan.bytes };
            rows.push(Row { reference_nanoseconds, ..facts.row(spec, size, self.seed, tally) });
        }
        Swept { rows, series }
    }
}

/// Names in a trace for the objects that policies name.
struct TraceNames<'a>(&'a Tables);

impl Names for TraceNames<'_> {
    fn app(&self, app: u32) -> Option<String> {
        self.0.apps.get(app as usize).cloned()
    }

    fn file(&self, file: u32) -> Option<String> {
        self.0.files.get(file as usize).map(|file| file.path.clone())
    }

    fn files(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.0.files.iter().map(|file| (file.path.as_str(), file.kind))
    }
}

/// The reader of a trace that was streamed.
fn streamed(name: &str, prepared: Prepared, observer: &dyn Observer) -> Box<dyn TraceReader> {
    let Prepared::Stream(stream) = prepared else { unreachable!("a held trace has been read") };
    let reader = stream.into_reader();
    observer.read(name, reader.as_ref());
    reader
}
