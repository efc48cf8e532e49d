//! Traces: files, files in memory, arrays, parts of them, and mixes.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use bytemuck::cast_slice;
use hotset_sim::Watch;
use hotset_trace::formats::by_name;
use hotset_trace::{Addressing, OpenOptions, TraceError, TraceReader};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Columns;
use crate::failure::{of_option, of_sim, of_trace, refused};
use crate::opener::{Choice, Opener, Source};
use crate::run::{each, each_of_memory, run};
use crate::selection::Chosen;

/// A trace: references in order. ``hotset.open`` opens one; it is read when something is asked of it.
#[pyclass(frozen, module = "hotset")]
pub struct Trace {
    opener: Opener,
    chosen: Chosen,
    about: OnceLock<About>,
}

/// Facts gathered by one pass over a trace.
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
    memory: Option<OfMemory>,
    remarks: Vec<String>,
}

/// Facts of a trace of memory only.
#[derive(Clone, Default)]
struct OfMemory {
    has_writes: bool,
    references: u64,
    writes: u64,
    instructions: u64,
    object_events: u64,
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

    /// The selected part of it.
    pub fn choice(&self) -> PyResult<Choice> {
        Ok(Choice { opener: self.opener.clone(), only: self.chosen.filter()? })
    }

    /// Gives every batch of what is chosen to `visit`, four words of 64 bits a request or three a run of references to
    /// a page; then what there was to know.
    fn scan(&self, py: Python<'_>, mut visit: impl FnMut(&[u64]) + Send + 'static) -> PyResult<About> {
        let choice = self.choice()?;
        let read = move |watch: &Watch| {
            let mut trace = choice.open()?;
            let mut about = About::new(&trace);
            match trace.reader.memory().is_some() {
                true => about.read_memory(trace.reader.as_mut(), watch, &mut visit)?,
                false => about.read(trace.reader.as_mut(), watch, &mut visit)?,
            }
            hotset_sim::Observer::read(watch, choice.opener.name(), trace.reader.as_ref());
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
        Ok(self.about.get().expect("it has just been set"))
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
            memory: None,
            remarks: Vec::new(),
        }
    }

    fn read(
        &mut self,
        reader: &mut dyn TraceReader,
        watch: &Watch,
        visit: &mut impl FnMut(&[u64]),
    ) -> Result<(), TraceError> {
        each(watch, reader, |batch, _| {
            self.requests += batch.len() as u64;
            visit(cast_slice(&batch.requests));
            Ok(())
        })?;
        self.files = reader.tables().files.len();
        self.applications.clone_from(&reader.tables().apps);
        Ok(())
    }

    fn read_memory(
        &mut self,
        reader: &mut dyn TraceReader,
        watch: &Watch,
        visit: &mut impl FnMut(&[u64]),
    ) -> Result<(), TraceError> {
        let Some(memory) = reader.memory() else { return Ok(()) };
        let mut told = OfMemory { has_writes: memory.memory_meta().has_writes, ..OfMemory::default() };
        let mut words = Vec::new();
        each_of_memory(watch, memory, |batch| {
            words.clear();
            words.extend(batch.runs.iter().flat_map(|run| [run.page, run.references, run.writes]));
            visit(&words);
            self.requests += batch.runs.len() as u64;
            told.references += batch.runs.iter().map(|run| run.references).sum::<u64>();
            told.writes += batch.runs.iter().map(|run| run.writes).sum::<u64>();
            told.instructions = told.instructions.max(batch.instructions);
            told.object_events += batch.events.len() as u64;
            Ok(())
        })?;
        self.memory = Some(told);
        Ok(())
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

    /// The requests of what is chosen from this number up to that one: a view, as nothing is copied.
    fn part(&self, from_: u64, to: u64) -> PyResult<Trace> {
        let name = self.opener.name().to_owned();
        if self.is_of_memory()? {
            return Err(refused(format!("{name} is a trace of memory, of which no part is taken: expected all of it")));
        }
        let source = Source::Part(Arc::new((self.choice()?, from_, to)));
        Ok(Trace::of(name, source, OpenOptions::default()))
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

    /// The files that it is read from.
    #[getter]
    fn files(&self) -> Vec<PathBuf> {
        self.opener.files()
    }

    /// What makes it another trace than its files are, in words.
    #[getter]
    fn made_of(&self) -> PyResult<String> {
        Ok(self.choice()?.made_of())
    }

    /// True if it is one of references to memory.
    #[getter]
    pub fn is_of_memory(&self) -> PyResult<bool> {
        if let Some(about) = self.about.get() {
            return Ok(about.memory.is_some());
        }
        Ok(self.opener.open().map_err(|error| of_trace(&error))?.reader.memory().is_some())
    }

    /// Requests that are chosen; the first time the trace is read to its end.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        if let (Source::Columns(columns), true) = (&self.opener.source, self.chosen.filter()?.is_everything()) {
            return Ok(columns.keys.len());
        }
        Ok(self.about(py)?.requests as usize)
    }

    /// A description of the trace: format, meaning of its offsets, requests, files, applications, remarks of its
    /// reader.
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
        if let Some(memory) = &about.memory {
            told.set_item("has_ops", memory.has_writes)?;
            told.set_item("references", memory.references)?;
            told.set_item("writes", memory.writes)?;
            told.set_item("instructions", memory.instructions)?;
            told.set_item("object_events", memory.object_events)?;
        }
        told.set_item("remarks", &about.remarks)?;
        Ok(told)
    }

    /// The requests, four words of 64 bits each; of a trace of memory the runs of references to a page, three words.
    fn words<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let words = Arc::new(std::sync::Mutex::new(Vec::<u64>::new()));
        let gathered = Arc::clone(&words);
        let about = self.scan(py, move |batch| {
            let mut words = gathered.lock().expect("no other writer");
            words.extend_from_slice(batch);
        })?;
        // Another thread may have told meanwhile: the same.
        let _ = self.about.set(about);
        let words = std::mem::take(&mut *words.lock().expect("the writers have ended"));
        Ok(words.into_pyarray(py))
    }

    fn __repr__(&self) -> PyResult<String> {
        let filter = self.chosen.filter()?;
        let only = if filter.is_everything() { String::new() } else { format!(", only {filter}") };
        let part = match &self.opener.source {
            Source::Part(part) if part.2 == u64::MAX => format!(", requests from {} on", part.1),
            Source::Part(part) => format!(", requests {} to {}", part.1, part.2),
            _ => String::new(),
        };
        Ok(format!("<hotset.Trace {:?}{part}{only}>", self.opener.name))
    }
}

fn open_options(format: Option<String>, columns: Option<String>, skip_bad: bool) -> PyResult<OpenOptions> {
    if let Some(name) = &format {
        of_option("format", by_name(name, &hotset_capture::all_formats()).map(|_| ()))?;
    }
    Ok(OpenOptions { format, skip_bad, columns, ..OpenOptions::default() })
}
