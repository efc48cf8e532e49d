//! The content of a trace, in one pass.

use hotset_sim::inspect::{By, Ranking, Told, choice, inspect as inspected};
use hotset_sim::select::Selection;
use hotset_sim::{Options, SimError, Ttl};
use pyo3::prelude::*;

use crate::failure::of_sim;
use crate::rows::json;
use crate::run::run;
use crate::selection::{Cut, one_of};
use crate::trace::Trace;

const KNOWN: [(&str, By); 5] =
    [("file", By::File), ("dir", By::Dir), ("app", By::App), ("class", By::Class), ("object", By::Object)];

/// The content of a trace, as a line of JSON; at most `top` of each ranking, one of them by a chosen attribute.
#[pyfunction]
pub fn inspect(py: Python<'_>, trace: &Trace, cut: Cut, by: Option<&str>, top: usize) -> PyResult<String> {
    let (selection, options) = (
        Selection { only: trace.chosen().filter()?, ..Selection::default() },
        Options { ttl: Ttl::Ignore, ..cut.options()? },
    );
    let ranking = Ranking { top, by: by.map(|by| one_of("by", by, &KNOWN)).transpose()? };
    let opener = trace.opener().clone();
    let told = run(py, None, None, move |watch| {
        let mut trace = selection.open(opener.name(), || opener.open(), &options)?;
        let choice = choice(&selection, &options, trace.meta().has_ops);
        let inspection = inspected(trace.reader.as_mut(), &options, &ranking, None, &watch)?;
        Ok::<_, SimError>(json(&[Told::new(opener.name(), &choice, &inspection)]))
    })?;
    told.map_err(|error| of_sim(&error, ""))?
}
