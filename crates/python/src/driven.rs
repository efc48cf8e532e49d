//! Replays that a policy in Python decides.

use hotset_sim::SimError;
use hotset_sim::sweep::{Driven as Held, Sweep};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::failure::{of_sim, refused};
use crate::rows::json;
use crate::run::run;
use crate::selection::{Counted, Cut};
use crate::simulate::sizes_of;
use crate::trace::Trace;

/// The references of a trace, to be replayed in Python.
#[pyclass(frozen, module = "hotset")]
pub struct Driven {
    held: Held,
}

/// The references of a trace as `simulate` would replay them, and remarks on the trace.
#[pyfunction]
pub fn driven(
    py: Python<'_>,
    trace: &Trace,
    sizes: Option<&str>,
    cut: Cut,
    counted: Counted,
    seed: u64,
    told: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Driven, Vec<String>)> {
    let sweep = Sweep {
        options: cut.options()?,
        selection: counted.of(trace.chosen().filter()?)?,
        seed,
        ..Sweep::new(Vec::new(), sizes_of(sizes)?)
    };
    let opener = trace.opener().clone();
    let driven = run(py, Some(1), told, move |watch| {
        Ok::<_, SimError>((sweep.driven(opener.name(), || opener.open(), watch)?, watch.remarks()))
    })?;
    let (held, remarks) = driven.map_err(|error| of_sim(&error, sizes.unwrap_or_default()))?;
    Ok((Driven { held }, remarks))
}

#[pymethods]
impl Driven {
    /// Sizes in blocks.
    #[getter]
    fn sizes(&self) -> Vec<u32> {
        self.held.sizes().to_vec()
    }

    /// References in all.
    #[getter]
    fn references(&self) -> u64 {
        self.held.references()
    }

    /// Windows of them.
    #[getter]
    fn windows(&self) -> usize {
        self.held.windows()
    }

    /// The blocks of a window, by number.
    fn blocks<'py>(&self, py: Python<'py>, window: usize) -> Bound<'py, PyArray1<u32>> {
        self.held.blocks(window).to_vec().into_pyarray(py)
    }

    /// Blocks that are deleted before a reference of the window: index and block.
    fn removals(&self, window: usize) -> Vec<(usize, u32)> {
        self.held.removals(window)
    }

    /// The row of a policy with a capacity of so many blocks under which these references hit, as JSON.
    fn row(&self, policy: String, size: u32, hits: PyReadonlyArray1<'_, bool>) -> PyResult<String> {
        let hits = hits.as_slice()?;
        if hits.len() as u64 != self.held.references() {
            let (found, expected) = (hits.len(), self.held.references());
            return Err(refused(format!("there are {found} hits and misses: expected {expected}, one a reference")));
        }
        let word = |hits: &[bool]| hits.iter().rev().fold(0, |word, &hit| word << 1 | u64::from(hit));
        let words: Vec<u64> = hits.chunks(64).map(word).collect();
        json(&[self.held.row(policy, size, &words).map_err(|error| of_sim(&error, ""))?])
    }
}
