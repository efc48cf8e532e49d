//! The requests of a trace that are used, and those of them that are counted.
//!
//! A [`Selection`] has three parts that work one after the other. `only` takes requests out of the trace: the cache
//! never sees them. `warmup` is the beginning of the rest: it goes through the cache and is not counted. `count_only`
//! restricts counting alone: other requests go through the cache as well. [`Selected`] applies it to any trace as it is
//! read, so that every reader of a trace can be given a selection of it.

mod filter;
pub(crate) mod last_sizes;
mod ops;
mod reader;

use std::borrow::Cow;
use std::fmt;

use hotset_core::spec::Value;
use hotset_results::Choice;
use hotset_trace::{Trace, TraceError, TraceReader};

use crate::error::SimError;
use crate::expand::expire::Expiring;
use crate::expand::options::Options;
use crate::expand::scan::{Scanned, scan};
use crate::select::last_sizes::Completed;

pub use filter::{Filter, Names, Place};
pub use ops::Ops;
pub use reader::Selected;

/// A choice of requests of a trace. The default is all of them, all counted.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Requests that the cache sees.
    pub only: Filter,
    /// How much of the beginning of what is left fills the cache and is not counted.
    pub warmup: Option<Warmup>,
    /// Requests that are counted, of those behind the warm-up.
    pub count_only: Filter,
}

/// The beginning of a trace that fills the cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warmup {
    /// This share of the references, 0 to 1. It must be [resolved](Selection::resolve) before the trace is read.
    Share(f64),
    /// So many nanoseconds from the first request on.
    Time(u64),
    /// Requests until there are so many references.
    References(u64),
}

impl Warmup {
    /// Reads `20%`, `10s` or a number of references.
    pub fn parse(text: &str) -> Result<Warmup, String> {
        match Value::parse(text) {
            Ok(Value::Percent(percent)) if percent < 100.0 => Ok(Warmup::Share(percent / 100.0)),
            Ok(Value::Percent(_)) => Err(format!("{text} leaves nothing to be counted: expected less than 100%")),
            Ok(Value::Time(time)) => Ok(Warmup::Time(time)),
            Ok(Value::Number(count)) if count.fract() == 0.0 && count < 2f64.powi(63) => {
                Ok(Warmup::References(count as u64))
            }
            _ => Err(format!(
                "{text:?} is not a warm-up: expected a share (20%), a time (10s, 5min, 2h, 1d) or a number of \
                 references"
            )),
        }
    }
}

impl fmt::Display for Warmup {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            Warmup::Share(share) => Value::Percent((share * 1e8).round() / 1e6).fmt(f),
            Warmup::Time(time) => Value::Time(time).fmt(f),
            Warmup::References(count) => count.fmt(f),
        }
    }
}

impl Selection {
    /// True if it is the whole trace, counted from the first request on.
    pub fn is_everything(&self) -> bool {
        self.only.is_everything() && self.warmup.is_none() && self.count_only.is_everything()
    }

    /// True if all that the cache sees counts.
    pub fn counts_all(&self) -> bool {
        self.warmup.is_none() && self.count_only.is_everything()
    }

    /// True if it depends on the number of references, so that [`Selection::resolve`] must read the trace before.
    pub fn needs_length(&self) -> bool {
        matches!(self.warmup, Some(Warmup::Share(_)))
    }

    /// This selection of a trace, which has operations or not, as rows tell it.
    pub fn choice(&self, options: &Options, has_ops: bool) -> Choice {
        let told = |filter: &Filter| (!filter.is_everything()).then(|| filter.to_string());
        Choice {
            format: "",
            filter: told(&self.only),
            warmup: self.warmup.map(|warmup| warmup.to_string()),
            count_only: told(&self.count_only),
            maps: has_ops.then_some(Cow::Borrowed(options.maps.name())),
            deletes: has_ops.then_some(Cow::Borrowed(if options.deletes.apply() { "apply" } else { "ignore" })),
            ttl: (!options.ttl.apply()).then_some(Cow::Borrowed("ignore")),
        }
    }

    /// Opens the selected requests of the trace `name` by `open`, twice if [its length is
    /// needed](Selection::needs_length). Requests without a size get the one of their object if `options` need it, and
    /// objects expire as `options` say. A trace of memory has no requests to choose from.
    pub fn open(
        &self,
        name: &str,
        open: impl Fn() -> Result<Trace, TraceError>,
        options: &Options,
    ) -> Result<Trace, SimError> {
        let completed = || -> Result<Trace, TraceError> {
            let trace = open()?;
            Ok(Trace { reader: Box::new(Completed::new(trace.reader, options)), ..trace })
        };
        let mut trace = completed()?;
        if trace.reader.memory().is_some() {
            let what = "the options for choosing requests";
            return match self.is_everything() {
                true => Ok(trace),
                false => Err(SimError::NotOfMemory { trace: name.to_owned(), what: what.to_owned() }),
            };
        }
        let chosen = || {
            let resolved = match self.needs_length() {
                true => self.resolve(completed()?.reader.as_mut(), options)?,
                false => self.clone(),
            };
            Selected::new(trace.reader, &resolved, options)
        };
        let refused = |error| SimError::Selection { trace: name.to_owned(), error: Box::new(error) };
        let reader = chosen().map_err(|error| match error {
            error @ SimError::Trace(_) => error,
            error => refused(error),
        })?;
        Ok(Trace { reader: Box::new(Expiring::new(reader, options.ttl)), ..trace })
    }

    /// The same with a warm-up in references instead of a share of them. Reads `reader`, the trace once more, to its
    /// end to count them, as `options` cut it.
    pub fn resolve(&self, reader: &mut dyn TraceReader, options: &Options) -> Result<Selection, SimError> {
        let Some(Warmup::Share(share)) = self.warmup else { return Ok(self.clone()) };
        let only = Selection { only: self.only.clone(), ..Selection::default() };
        let mut references = 0;
        let mut left = Selected::new(reader, &only, options)?;
        scan(&mut left, options, &crate::Silent, |scanned| {
            if let Scanned::Blocks(keys) = scanned {
                references += keys.len() as u64;
            }
        })?;
        let warm = Warmup::References((references as f64 * share).round() as u64);
        Ok(Selection { warmup: Some(warm), ..self.clone() })
    }
}

/// `only file=*.db, warm-up 20%, counted ops=reads`: the selection in words; empty for everything.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let only = (!self.only.is_everything()).then(|| format!("only {}", self.only));
        let warmup = self.warmup.map(|warmup| format!("warm-up {warmup}"));
        let counted = (!self.count_only.is_everything()).then(|| format!("counted {}", self.count_only));
        f.write_str(&only.into_iter().chain(warmup).chain(counted).collect::<Vec<_>>().join(", "))
    }
}

impl SimError {
    /// The error of a sweep that counted nothing.
    pub(crate) fn nothing(trace: &str, selection: &Selection) -> SimError {
        match selection.counts_all() {
            true => SimError::nothing_referenced(trace, selection),
            false => SimError::NothingCounted { trace: trace.to_owned(), chosen: selection.to_string() },
        }
    }

    /// [`SimError::NothingReferenced`] of what `selection` chose.
    pub(crate) fn nothing_referenced(trace: &str, selection: &Selection) -> SimError {
        SimError::NothingReferenced { trace: trace.to_owned(), chosen: selection.to_string() }
    }
}

#[cfg(test)]
mod tests;
