//! Traces that are made: recorded, and mixed of several.

use std::ffi::OsString;
use std::fs::File;
use std::io::BufWriter;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use hotset_capture::memory;
use hotset_capture::record::{RecordError, Recorder};
use hotset_capture::strace::Apps;
use hotset_core::spec::Value;
use hotset_trace::error::Place;
use hotset_trace::memory::{MemoryBatch, MemoryReader};
use hotset_trace::native::{Header, MemoryWriter, Writer};
use hotset_trace::{Batch, TraceError, TraceReader};
use pyo3::prelude::*;

use crate::failure::{of_trace, refused};
use crate::opener::App;
use crate::run::{Watch, run};
use crate::selection::one_of;
use crate::trace::Trace;

/// An application of a mix, in words: its name, its trace, passes over that, when it begins, how long a pass takes.
pub type Told<'py> = (String, PyRef<'py, Trace>, u32, Option<String>, Option<String>);

/// The application that these words mean.
pub fn app((name, trace, loops, start, span): Told) -> PyResult<App> {
    if loops == 0 {
        return Err(refused(format!("{name} would not occur with 0 passes: expected 1 or more")));
    }
    let time = |text: String| match Value::parse(&text) {
        Ok(Value::Time(time)) => Ok(time),
        _ => Err(refused(format!("{text:?} is no time: expected one such as 10s or 500ms"))),
    };
    let (start, span) = (start.map(time).transpose()?.unwrap_or(0), span.map(time).transpose()?);
    Ok(App { name, trace: trace.choice()?, loops, start, span })
}

/// Writes what is chosen of a trace as a native one, with these notes in its header; gives remarks.
#[pyfunction]
pub fn write(py: Python<'_>, trace: &Trace, output: PathBuf, notes: Vec<(String, String)>) -> PyResult<Vec<String>> {
    let choice = trace.choice()?;
    let wrote = run(py, Some(1), None, move |watch| {
        let mut trace = choice.open()?;
        let noted = |header: Header| notes.iter().fold(header, |header, (key, value)| header.with(key, value));
        let format = trace.format;
        match trace.reader.memory() {
            Some(memory) => {
                let header = noted(Header::of_memory(&memory.memory_meta()).with("source", format));
                copy_memory(memory, MemoryWriter::new(BufWriter::new(created(&output)?), &output, &header)?, watch)?;
            }
            None => {
                let header = noted(Header::new(trace.meta()).with("source", format));
                copy(trace.reader.as_mut(), Writer::new(created(&output)?, &output, &header)?, watch)?;
            }
        }
        Ok::<_, TraceError>(trace.reader.notes())
    })?;
    wrote.map_err(|error| of_trace(&error))
}

fn copy(reader: &mut dyn TraceReader, mut writer: Writer<File>, watch: &Watch) -> Result<(), TraceError> {
    let mut batch = Batch::new();
    loop {
        reader.read(&mut batch)?;
        watch.check();
        if batch.is_empty() {
            break;
        }
        writer.push(&batch, reader.tables())?;
    }
    writer.finish(reader.tables()).map(drop)
}

fn copy_memory(
    memory: &mut dyn MemoryReader,
    mut writer: MemoryWriter<BufWriter<File>>,
    watch: &Watch,
) -> Result<(), TraceError> {
    let mut batch = MemoryBatch::default();
    loop {
        memory.read_memory(&mut batch)?;
        watch.check();
        if batch.is_empty() {
            return writer.finish().map(drop);
        }
        writer.push(&batch)?;
    }
}

fn created(output: &Path) -> Result<File, TraceError> {
    File::create(output).map_err(|error| TraceError::new(output, Place::File, error.to_string()))
}

/// Records the I/O of a program as a native trace, or what it does to its memory; gives its exit status, as a shell has
/// it, and remarks. The process handles signals for the program from then on: it should be there for this alone.
#[pyfunction]
pub fn record(
    py: Python<'_>,
    command: Vec<OsString>,
    output: PathBuf,
    app_by: &str,
    memory: bool,
) -> PyResult<(i32, Vec<String>)> {
    let apps = one_of("--app-by", app_by, &[("program", Apps::Program), ("process", Apps::Process)])?;
    let recorded = py.detach(|| match memory {
        true => {
            let summary = memory::record(&command, &output, |_| ())?;
            Ok((summary.status, summary.remarks))
        }
        false => {
            let summary = Recorder::new(command).apps(apps).run(&output, |_| ())?;
            let skipped = (summary.skipped > 0).then(|| format!("{} lines of strace were skipped", summary.skipped));
            Ok((summary.status, summary.remarks.into_iter().chain(skipped).collect()))
        }
    });
    let (status, remarks) = recorded.map_err(|error: RecordError| refused(error.to_string()))?;
    let status = status.code().or(status.signal().map(|signal| 128 + signal));
    Ok((status.unwrap_or(1), remarks))
}
