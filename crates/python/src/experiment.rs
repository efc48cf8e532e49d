//! Experiments: the rows of what a file says.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hotset_cache::machine;
use hotset_experiment::{Error, File, Runner};
use hotset_trace::OpenOptions;
use pyo3::prelude::*;

use crate::failure::refused;
use crate::opener::{Opener, Source};
use crate::rows::json;
use crate::run::run;
use crate::trace::Trace;

/// An experiment file.
#[pyclass(frozen, module = "hotset")]
pub struct Experiment {
    file: Arc<File>,
}

#[pymethods]
impl Experiment {
    /// Reads the text of the file at a path.
    #[new]
    fn new(path: PathBuf, text: &str) -> PyResult<Experiment> {
        Ok(Experiment { file: Arc::new(File::parse(&path, text).map_err(failed)?) })
    }

    /// The names of its traces in rows.
    fn names(&self) -> Vec<String> {
        self.file.trace_names().map(str::to_owned).collect()
    }

    /// The paths of the traces that it reads, below a directory, or else beside the file.
    fn places(&self, traces: Option<PathBuf>) -> Vec<PathBuf> {
        self.file.places(traces.as_deref())
    }

    /// The arguments of the sweep that gives its rows, as JSON.
    fn request(&self, traces: Option<PathBuf>) -> PyResult<String> {
        json(&[self.file.request(traces.as_deref()).map_err(failed)?])
    }

    /// Its rows, and remarks on the traces, of which some have been opened.
    fn run(
        &self,
        py: Python<'_>,
        traces: Option<PathBuf>,
        opened: HashMap<PathBuf, PyRef<'_, Trace>>,
    ) -> PyResult<(String, Vec<String>)> {
        let opened: HashMap<PathBuf, Opener> =
            opened.iter().map(|(path, trace)| (path.clone(), trace.opener().clone())).collect();
        let open = move |path: &Path| match opened.get(path) {
            Some(opener) => opener.open(),
            None => {
                let (name, source) = (path.display().to_string(), Source::File(path.to_owned()));
                Opener { name, source, options: OpenOptions::default() }.open()
            }
        };
        let runner = Runner { traces, open: Arc::new(open), memory_bytes: machine::budget() };
        let file = self.file.clone();
        let (replayed, remarks) = run(py, None, None, move |watch| (runner.run(&file, watch), watch.remarks()))?;
        let rows: Vec<_> = replayed.map_err(failed)?.into_iter().flat_map(|replayed| replayed.rows).collect();
        Ok((json(&rows)?, remarks))
    }
}

fn failed(error: Error) -> PyErr {
    refused(error.to_string())
}
