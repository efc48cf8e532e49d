//! Traces: files, files in memory, and arrays.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bytemuck::cast_slice;
use hotset_capture::strace;
use hotset_sim::Options;
use hotset_sim::select::Selection;
use hotset_trace::formats::{BUILTIN, by_name, open_input, split_prefix};
use hotset_trace::input::{Input, Progress as Position};
use hotset_trace::{Addressing, Batch, Format, OpenOptions, TraceError};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{Columns, ColumnsReader, FORMAT};
use crate::failure::{of_option, of_sim, of_trace};
use crate::run::{Watch, run};
use crate::selection::Chosen;

/// A trace: what was referred to, in order. ``hotset.open`` opens one; it is read when something is asked of it.
#[pyclass(frozen, module = "hotset")]
pub struct Trace {
    opener: Opener,
    chosen: Chosen,
    about: OnceLock<About>,
}

/// What opens a trace as often as it is read.
#[derive(Clone)]
pub struct Opener {
    name: String,
    source: Source,
    options: OpenOptions,
}

#[derive(Clone)]
enum Source {
    File(PathBuf),
    Memory(Arc<[u8]>),
    Columns(Arc<Columns>),
}

/// What one pass over a trace has told.
#[derive(Clone)]
struct About {
    format: &'static str,
    addressing: &'static str,
    block_bytes: Option<u64>,
    has_time: bool,
    has_ops: bool,
    requests: u64,
    files: usize,
    applications: Vec<String>,
    remarks: Vec<String>,
}

fn formats() -> Vec<Format> {
    BUILTIN.iter().copied().chain([strace::FORMAT]).collect()
}

impl Opener {
    /// What rows and errors call the trace.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens it at its first request.
    pub fn open(&self) -> Result<hotset_trace::Trace, TraceError> {
        let formats = formats();
        match &self.source {
            Source::File(path) => hotset_trace::open(path, &formats, &self.options),
            Source::Memory(bytes) => {
                let (path, total) = (Path::new(&self.name), bytes.len() as u64);
                let input = Input::from_reader(path, Cursor::new(Arc::clone(bytes)), Some(total))?;
                let named = self.options.format.as_deref().or(self.options.columns.as_ref().map(|_| "csv"));
                let named = named.and_then(|name| by_name(name, &formats).ok());
                open_input(input, named, &formats, &self.options)
            }
            Source::Columns(columns) => Ok(hotset_trace::Trace {
                format: FORMAT,
                reader: Box::new(ColumnsReader::new(Arc::clone(columns))),
                progress: Position::default(),
            }),
        }
    }
}

impl Trace {
    /// What opens it.
    pub fn opener(&self) -> &Opener {
        &self.opener
    }

    /// Which of its requests are taken.
    pub fn chosen(&self) -> &Chosen {
        &self.chosen
    }

    /// Gives every batch of what is chosen to `visit`; then what there was to know.
    fn scan(&self, py: Python<'_>, mut visit: impl FnMut(&Batch) + Send + 'static) -> PyResult<About> {
        let selection = Selection { only: self.chosen.filter()?, ..Selection::default() };
        let opener = self.opener.clone();
        let read = move |watch: &Watch| {
            let mut trace = selection.open(&opener.name, || opener.open(), &Options::default())?;
            let mut about = About::new(&trace);
            let mut batch = Batch::new();
            loop {
                trace.reader.read(&mut batch)?;
                watch.check();
                if batch.is_empty() {
                    break;
                }
                about.requests += batch.len() as u64;
                visit(&batch);
            }
            hotset_sim::Observer::read(watch, &opener.name, trace.reader.as_ref());
            about.files = trace.reader.tables().files.len();
            about.applications.clone_from(&trace.reader.tables().apps);
            about.remarks = watch.remarks();
            Ok(about)
        };
        run(py, Some(1), None, read)?.map_err(|error| of_sim(&error, ""))
    }

    fn about(&self, py: Python<'_>) -> PyResult<&About> {
        if self.about.get().is_none() {
            let about = self.scan(py, |_| ())?;
            // Another thread may have told meanwhile: the same.
            let _ = self.about.set(about);
        }
        Ok(self.about.get().expect("it has just been told"))
    }

    fn of(name: String, source: Source, options: OpenOptions) -> Trace {
        Trace { opener: Opener { name, source, options }, chosen: Chosen::default(), about: OnceLock::new() }
    }
}

impl About {
    fn new(trace: &hotset_trace::Trace) -> About {
        let meta = trace.meta();
        let addressing = match meta.addressing {
            Addressing::Bytes { .. } => "bytes",
            Addressing::Objects => "objects",
        };
        About {
            format: trace.format,
            addressing,
            block_bytes: meta.block_size().bytes(),
            has_time: meta.has_time,
            has_ops: meta.has_ops,
            requests: 0,
            files: 0,
            applications: Vec::new(),
            remarks: Vec::new(),
        }
    }
}

#[pymethods]
impl Trace {
    /// A trace in a file, in any format that hotset reads. It is opened once to see that it can be read.
    #[staticmethod]
    fn of_file(
        path: PathBuf,
        name: String,
        format: Option<String>,
        columns: Option<String>,
        skip_bad: bool,
    ) -> PyResult<Trace> {
        let options = open_options(format, columns, skip_bad)?;
        let trace = Trace::of(name, Source::File(path), options);
        trace.opener.open().map_err(|error| of_trace(&error))?;
        Ok(trace)
    }

    /// The same of what a file would hold.
    #[staticmethod]
    fn of_bytes(
        bytes: &[u8],
        name: String,
        format: Option<String>,
        columns: Option<String>,
        skip_bad: bool,
    ) -> PyResult<Trace> {
        let options = open_options(format, columns, skip_bad)?;
        let trace = Trace::of(name, Source::Memory(bytes.into()), options);
        trace.opener.open().map_err(|error| of_trace(&error))?;
        Ok(trace)
    }

    /// A trace of objects by their keys, and their sizes where these are known.
    #[staticmethod]
    #[pyo3(signature = (keys, sizes, name))]
    fn of_keys(
        keys: PyReadonlyArray1<'_, u64>,
        sizes: Option<PyReadonlyArray1<'_, u32>>,
        name: String,
    ) -> PyResult<Trace> {
        let sizes = sizes.map(|sizes| sizes.as_slice().map(<[u32]>::to_vec)).transpose()?.unwrap_or_default();
        let columns = Columns { keys: keys.as_slice()?.to_vec(), sizes };
        Ok(Trace::of(name, Source::Columns(Arc::new(columns)), OpenOptions::default()))
    }

    /// The same trace with fewer requests: a view, as nothing is copied.
    fn chosen_by(&self, chosen: Chosen) -> PyResult<Trace> {
        let chosen = self.chosen.and(chosen)?;
        chosen.filter()?;
        Ok(Trace { opener: self.opener.clone(), chosen, about: OnceLock::new() })
    }

    /// What rows and errors call the trace.
    #[getter]
    fn name(&self) -> &str {
        &self.opener.name
    }

    /// The file that it is read from, if it is.
    #[getter]
    fn file(&self) -> Option<PathBuf> {
        match &self.opener.source {
            Source::File(path) => Some(split_prefix(path, &formats()).1),
            Source::Memory(_) | Source::Columns(_) => None,
        }
    }

    /// True if it is one of references to memory.
    #[getter]
    pub fn is_of_memory(&self) -> PyResult<bool> {
        Ok(self.opener.open().map_err(|error| of_trace(&error))?.reader.memory().is_some())
    }

    /// Requests that are chosen; the first time the trace is read to its end.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        if let (Source::Columns(columns), true) = (&self.opener.source, self.chosen.filter()?.is_everything()) {
            return Ok(columns.keys.len());
        }
        Ok(self.about(py)?.requests as usize)
    }

    /// What the trace is: format, what its offsets mean, requests, files, applications, remarks of its reader.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = self.about(py)?;
        let told = PyDict::new(py);
        told.set_item("name", &self.opener.name)?;
        told.set_item("format", about.format)?;
        told.set_item("addressing", about.addressing)?;
        told.set_item("block_bytes", about.block_bytes)?;
        told.set_item("has_time", about.has_time)?;
        told.set_item("has_ops", about.has_ops)?;
        told.set_item("requests", about.requests)?;
        told.set_item("files", about.files)?;
        told.set_item("applications", &about.applications)?;
        told.set_item("remarks", &about.remarks)?;
        Ok(told)
    }

    /// The requests, four words of 64 bits each.
    fn words<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let words = Arc::new(std::sync::Mutex::new(Vec::<u64>::new()));
        let gathered = Arc::clone(&words);
        self.scan(py, move |batch| {
            let mut words = gathered.lock().expect("nobody else writes");
            words.extend_from_slice(cast_slice(&batch.requests));
        })?;
        let words = std::mem::take(&mut *words.lock().expect("nobody writes any more"));
        Ok(words.into_pyarray(py))
    }

    fn __repr__(&self) -> PyResult<String> {
        let filter = self.chosen.filter()?;
        let only = if filter.is_everything() { String::new() } else { format!(", only {filter}") };
        Ok(format!("<hotset.Trace {:?}{only}>", self.opener.name))
    }
}

fn open_options(format: Option<String>, columns: Option<String>, skip_bad: bool) -> PyResult<OpenOptions> {
    if let Some(name) = &format {
        of_option("--format", by_name(name, &formats()).map(|_| ()))?;
    }
    Ok(OpenOptions { format, skip_bad, columns })
}
