//! Traces that are made: recorded, and mixed of several.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use hotset_capture::record::Recorder;
use hotset_capture::strace::Apps;
use hotset_core::spec::Value;
use hotset_sim::select::Selection;
use hotset_sim::{Options, SimError};
use hotset_trace::error::Place;
use hotset_trace::mix::{Mix, Order, Part};
use hotset_trace::native::{Header, Writer};
use hotset_trace::{Batch, TraceError, TraceReader};
use pyo3::prelude::*;

use crate::failure::{of_sim, of_trace, refused};
use crate::run::run;
use crate::selection::one_of;
use crate::trace::Trace;

/// An application of a mix, in words: its name, its trace, passes over that, when it begins, how long a pass takes.
type Told<'py> = (String, PyRef<'py, Trace>, u32, Option<String>, Option<String>);

/// Writes a native trace of the traces of several applications, as if they had run side by side.
#[pyfunction]
pub fn mix(py: Python<'_>, parts: Vec<Told<'_>>, by: &str, output: PathBuf) -> PyResult<Vec<String>> {
    let order = one_of("--by", by, &[("lockstep", Order::Lockstep), ("time", Order::Time)])?;
    let named = |(name, trace, ..): &Told| format!("{name}={}", trace.opener().name());
    let named: Vec<String> = parts.iter().map(named).collect();
    let parts: Vec<Part> = parts.into_iter().map(part).collect::<PyResult<_>>()?;
    let mixed = run(py, Some(1), None, move |watch| {
        let mut mix = Mix::new(parts, order)?;
        let header = Header::new(mix.meta()).with("source", "mix").with("parts", &named.join(" "));
        let mut writer = Writer::new(created(&output)?, &output, &header)?;
        let mut batch = Batch::new();
        loop {
            mix.read(&mut batch)?;
            watch.check();
            if batch.is_empty() {
                break;
            }
            writer.push(&batch, mix.tables())?;
        }
        writer.finish(mix.tables())?;
        Ok::<_, TraceError>(mix.notes())
    })?;
    mixed.map_err(|error| of_trace(&error))
}

fn part((name, trace, loops, start, span): Told) -> PyResult<Part> {
    if loops == 0 {
        return Err(refused(format!("{name} would not occur with 0 passes: expected 1 or more")));
    }
    let time = |text: String| match Value::parse(&text) {
        Ok(Value::Time(time)) => Ok(time),
        _ => Err(refused(format!("{text:?} is no time: expected one such as 10s or 500ms"))),
    };
    let (start, span) = (start.map(time).transpose()?.unwrap_or(0), span.map(time).transpose()?);
    let (opener, selection) =
        (trace.opener().clone(), Selection { only: trace.chosen().filter()?, ..Selection::default() });
    let open = move || -> Result<Box<dyn TraceReader>, TraceError> {
        let refused = |error: SimError| TraceError::new(Path::new(opener.name()), Place::File, error.to_string());
        Ok(selection.open(opener.name(), || opener.open(), &Options::default()).map_err(refused)?.reader)
    };
    Ok(Part { name, open: Box::new(open), loops, start, span })
}

/// Writes what is chosen of a trace as a native one; gives remarks.
#[pyfunction]
pub fn write(py: Python<'_>, trace: &Trace, output: PathBuf) -> PyResult<Vec<String>> {
    let selection = Selection { only: trace.chosen().filter()?, ..Selection::default() };
    if trace.is_of_memory()? {
        let name = trace.opener().name();
        return Err(refused(format!("{name} is a trace of memory, which is no trace of requests: expected another")));
    }
    let opener = trace.opener().clone();
    let wrote = run(py, Some(1), None, move |watch| {
        let mut trace = selection.open(opener.name(), || opener.open(), &Options::default())?;
        let header = Header::new(trace.meta()).with("source", trace.format);
        let mut writer = Writer::new(created(&output)?, &output, &header)?;
        let mut batch = Batch::new();
        loop {
            trace.reader.read(&mut batch)?;
            watch.check();
            if batch.is_empty() {
                break;
            }
            writer.push(&batch, trace.reader.tables())?;
        }
        writer.finish(trace.reader.tables())?;
        Ok::<_, SimError>(trace.reader.notes())
    })?;
    wrote.map_err(|error| of_sim(&error, ""))
}

fn created(output: &Path) -> Result<File, TraceError> {
    File::create(output).map_err(|error| TraceError::new(output, Place::File, error.to_string()))
}

/// Records the I/O of a program as a native trace; gives its exit status, as a shell has it, and remarks. The process
/// handles signals for the program from then on: it should be there for this alone.
#[pyfunction]
pub fn record(py: Python<'_>, command: Vec<OsString>, output: PathBuf, app_by: &str) -> PyResult<(i32, Vec<String>)> {
    let apps = one_of("--app-by", app_by, &[("program", Apps::Program), ("process", Apps::Process)])?;
    let recorded = py.detach(|| Recorder::new(command).apps(apps).run(&output, |_| ()));
    let summary = recorded.map_err(|error| refused(error.to_string()))?;
    let status = summary.status.code().or(summary.status.signal().map(|signal| 128 + signal));
    let skipped = (summary.skipped > 0).then(|| format!("{} lines of strace were skipped", summary.skipped));
    Ok((status.unwrap_or(1), summary.remarks.into_iter().chain(skipped).collect()))
}
