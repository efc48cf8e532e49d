//! Sweeps: a trace, policies and sizes give rows.

use std::path::PathBuf;

use hotset_core::policy::PolicySpec;
use hotset_core::spec::{SizeSpec, SpecError};
use hotset_core::storage::StorageModel;
use hotset_sim::clock::{ClockOptions, Every};
use hotset_sim::paging::Frees;
use hotset_sim::sweep::{self, SIZES, Sweep};
use hotset_sim::{SimError, advise};
use pyo3::prelude::*;

use crate::failure::{of_option, of_sim, of_spec};
use crate::rows::json;
use crate::run::run;
use crate::selection::{Counted, Cut, classes};
use crate::trace::Trace;

/// How policies are replayed, in words.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Replay {
    classes: Option<PathBuf>,
    store: Option<String>,
    every: Option<String>,
    explain: bool,
    seed: u64,
    keep_freed: bool,
    threads: Option<usize>,
    /// From which of the policies up to which, of traces of requests.
    part: Option<(usize, usize)>,
}

/// The results of a sweep: the rows, those of series, and remarks on the trace.
type Told = (String, String, Vec<String>);

/// Replays a trace under policies at sizes.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "as Python hands them over, in groups")]
pub fn simulate(
    py: Python<'_>,
    trace: &Trace,
    policies: Option<String>,
    sizes: Option<String>,
    cut: Cut,
    counted: Counted,
    replay: Replay,
    told: Option<&Bound<'_, PyAny>>,
) -> PyResult<Told> {
    let opener = trace.opener().clone();
    let is_of_memory = trace.is_of_memory()?;
    let planned = Sweep {
        of_memory: is_of_memory,
        options: cut.options()?,
        selection: counted.of(trace.chosen().filter()?)?,
        rules: classes(replay.classes.as_ref())?,
        seed: replay.seed,
        clock: replay.clock()?,
        explain: replay.explain,
        is_all: policies.as_deref() == Some("all"),
        bounds: true,
        part: replay.part.map(|(from, to)| from..to),
        frees: if replay.keep_freed { Frees::Keep } else { Frees::Drop },
        ..Sweep::new(policies_of(policies.as_deref(), is_of_memory)?, sizes_of(sizes.as_deref())?)
    };
    let swept = run(py, replay.threads, told, move |watch| {
        Ok::<_, SimError>((planned.run(opener.name(), || opener.open(), watch)?, watch.remarks()))
    })?;
    let (swept, remarks) = swept.map_err(|error| of_sim(&error, sizes.as_deref().unwrap_or(SIZES)))?;
    Ok((json(&swept.rows)?, json(&swept.series)?, remarks))
}

/// The policies that would be replayed, as rows name them, once these texts make sense.
#[pyfunction]
pub fn planned(policies: Option<&str>, sizes: Option<&str>, is_of_memory: bool) -> PyResult<Vec<String>> {
    sizes_of(sizes)?;
    Ok(policies_of(policies, is_of_memory)?.iter().map(PolicySpec::to_string).collect())
}

impl Replay {
    /// The traces that are replayed on a clock, if any.
    fn clock(&self) -> PyResult<Option<ClockOptions>> {
        let store = self.store.as_deref().map(|text| of_spec("store", text, StorageModel::parse(text))).transpose()?;
        let every = of_option("every", self.every.as_deref().map(Every::parse).transpose())?;
        Ok((store.is_some() || every.is_some()).then_some(ClockOptions { store, every, ..ClockOptions::default() }))
    }
}

/// The policies of a list, or the default ones if the list is empty.
fn policies_of(text: Option<&str>, is_of_memory: bool) -> PyResult<Vec<PolicySpec>> {
    let parse: fn(&str) -> Result<Vec<PolicySpec>, SpecError> =
        if is_of_memory { PolicySpec::parse_paging_list } else { PolicySpec::parse_list };
    match text {
        None if !is_of_memory => Ok(advise::compared()),
        text => {
            let text = text.unwrap_or("all");
            of_spec("policies", text, parse(text))
        }
    }
}

pub fn sizes_of(text: Option<&str>) -> PyResult<SizeSpec> {
    of_spec("sizes", text.unwrap_or(SIZES), sweep::sizes(text))
}
