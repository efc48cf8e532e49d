//! How much memory a cache should have, and which policy.

use hotset_core::spec::SizeSpec;
use hotset_core::storage::StorageModel;
use hotset_sim::SimError;
use hotset_sim::advise::{Advisor, Evidence, buffers};
use hotset_sim::inspect::{Ranking, inspect};
use hotset_sim::select::Selection;
use pyo3::prelude::*;

use crate::failure::{of_sim, of_spec};
use crate::rows::json;
use crate::run::run;
use crate::selection::Cut;
use crate::trace::Trace;

/// Advice on a trace, as a line of JSON, and remarks on it.
#[pyfunction]
pub fn advise(
    py: Python<'_>,
    trace: &Trace,
    size: Option<&str>,
    store: Option<&str>,
    cut: Cut,
    told: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, Vec<String>)> {
    let selection = Selection { only: trace.chosen().filter()?, ..Selection::default() };
    let advisor = Advisor {
        memory: size.map(|text| of_spec("size", text, SizeSpec::parse(text))).transpose()?,
        options: cut.options()?,
        selection,
        store: store.map(|text| of_spec("store", text, StorageModel::parse(text))).transpose()?,
        ..Advisor::default()
    };
    let opener = trace.opener().clone();
    let advised = run(py, None, told, move |watch| {
        let name = opener.name();
        let mut trace = advisor.selection.open(name, || opener.open(), &advisor.options)?;
        let inspection = inspect(trace.reader.as_mut(), &advisor.options, &Ranking::default(), None, &watch)?;
        let evidence = Evidence::of(&inspection, &advisor.options);
        let advisor = Advisor { beside: buffers(&inspection), evidence, ..advisor };
        Ok::<_, SimError>((advisor.run(name, || opener.open(), watch)?, watch.remarks()))
    })?;
    let (advice, remarks) = advised.map_err(|error| of_sim(&error, size.unwrap_or_default()))?;
    Ok((json(&[advice])?, remarks))
}
