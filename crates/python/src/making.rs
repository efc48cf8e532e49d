//! Traces that are made of others.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use hotset_core::spec::Value;
use hotset_sim::SimError;
use hotset_trace::error::Place;
use hotset_trace::mix::{Mix, MixPart, Order};
use hotset_trace::native::{Header, MemoryWriter, Writer};
use hotset_trace::{TraceError, TraceReader};
use pyo3::prelude::*;

use crate::failure::{of_sim, of_trace, refused};
use crate::run::{each, each_of_memory, run};
use crate::selection::one_of;
use crate::trace::Trace;

/// An application of a mix, in words: its name, its trace, passes over that, when it begins, how long a pass takes.
type Told<'py> = (String, PyRef<'py, Trace>, u32, Option<String>, Option<String>);

/// Writes a native trace of the traces of several applications, as if they had run side by side.
#[pyfunction]
pub fn mix(py: Python<'_>, parts: Vec<Told<'_>>, by: &str, output: PathBuf) -> PyResult<Vec<String>> {
    let order = one_of("by", by, &[("request", Order::Request), ("page", Order::Page), ("time", Order::Time)])?;
    let named = |(name, trace, ..): &Told| format!("{name}={}", trace.opener().name());
    let named: Vec<String> = parts.iter().map(named).collect();
    let parts: Vec<MixPart> = parts.into_iter().map(part).collect::<PyResult<_>>()?;
    let mixed = run(py, Some(1), None, move |watch| {
        let mut mix = Mix::new(parts, order)?;
        let header = Header::new(mix.meta()).with("source", "mix").with("parts", &named.join(" "));
        let mut writer = Writer::new(created(&output)?, &output, &header)?;
        each(watch, &mut mix, |batch, tables| writer.push(batch, tables))?;
        writer.finish(mix.tables())?;
        Ok::<_, TraceError>(mix.notes())
    })?;
    mixed.map_err(|error| of_trace(&error))
}

fn part((name, trace, loops, start, span): Told) -> PyResult<MixPart> {
    if loops == 0 {
        return Err(refused(format!("{name} would not occur with 0 passes: expected 1 or more")));
    }
    let time = |text: String| match Value::parse(&text) {
        Ok(Value::Time(time)) => Ok(time),
        _ => Err(refused(format!("{text:?} is not a valid time; expected one such as 10s or 500ms"))),
    };
    let (start, span) = (start.map(time).transpose()?.unwrap_or(0), span.map(time).transpose()?);
    let choice = trace.choice()?;
    Ok(MixPart { name, open: Box::new(move || Ok(choice.open_below()?.reader)), loops, start, span })
}

/// Writes what is chosen of a trace as a native one; gives remarks.
#[pyfunction]
pub fn write(py: Python<'_>, trace: &Trace, output: PathBuf) -> PyResult<Vec<String>> {
    let choice = trace.choice()?;
    let wrote = run(py, Some(1), None, move |watch| {
        let mut trace = choice.open()?;
        let format = trace.format;
        match trace.reader.memory() {
            Some(memory) => {
                let header = Header::of_memory(&memory.memory_meta()).with("source", format);
                let mut writer = MemoryWriter::new(BufWriter::new(created(&output)?), &output, &header)?;
                each_of_memory(watch, memory, |batch| writer.push(batch))?;
                writer.finish()?;
            }
            None => {
                let header = Header::new(trace.meta()).with("source", format);
                let mut writer = Writer::new(created(&output)?, &output, &header)?;
                each(watch, trace.reader.as_mut(), |batch, tables| writer.push(batch, tables))?;
                writer.finish(trace.reader.tables())?;
            }
        }
        Ok::<_, SimError>(trace.reader.notes())
    })?;
    wrote.map_err(|error| of_sim(&error, ""))
}

fn created(output: &Path) -> Result<File, TraceError> {
    File::create(output).map_err(|error| TraceError::new(output, Place::File, error.to_string()))
}
