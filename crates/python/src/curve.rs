//! Curves: hit ratios at every size.

use hotset_core::policy::PolicySpec;
use hotset_sim::SimError;
use hotset_sim::curve::{Curves, Points, Sample};
use pyo3::prelude::*;

use crate::failure::{of_option, of_sim, of_spec};
use crate::rows::json;
use crate::run::run;
use crate::selection::{Counted, Cut};
use crate::trace::Trace;

/// How curves are drawn, in words.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Drawing {
    points: String,
    /// Over bytes of objects, in place of blocks.
    bytes: bool,
    sample: Option<String>,
    sample_size: Option<u32>,
    seed: u64,
    threads: Option<usize>,
}

/// The rows of the curves of a trace, and remarks on it.
#[pyfunction]
pub fn curve(
    py: Python<'_>,
    trace: &Trace,
    policies: &str,
    cut: Cut,
    counted: Counted,
    drawing: Drawing,
    told: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, Vec<String>)> {
    let rate = of_option("sample", drawing.sample.as_deref().map(Sample::parse_rate).transpose())?;
    let curves = Curves {
        policies: of_spec("policies", policies, PolicySpec::parse_list(policies))?,
        options: cut.options()?,
        selection: counted.of(trace.chosen().filter()?)?,
        points: of_option("points", Points::parse(&drawing.points))?,
        sample: rate.map(Sample::Rate).or(drawing.sample_size.map(Sample::Blocks)),
        seed: drawing.seed,
    };
    let opener = trace.opener().clone();
    let drawn = run(py, drawing.threads, told, move |watch| {
        let rows = match drawing.bytes {
            true => curves.run_bytes(opener.name(), || opener.open(), watch)?.1,
            false => curves.run(opener.name(), || opener.open(), watch)?.rows,
        };
        Ok::<_, SimError>((rows, watch.remarks()))
    })?;
    let (rows, remarks) = drawn.map_err(|error| of_sim(&error, ""))?;
    Ok((json(&rows)?, remarks))
}
