//! Traces that are recorded of programs, on Linux alone.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;

use hotset_capture::memory;
use hotset_capture::record::{RecordError, Recorder};
use hotset_capture::strace::Apps;
use pyo3::prelude::*;

use crate::failure::refused;
use crate::selection::one_of;

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
    let apps = one_of("app_by", app_by, &[("program", Apps::Program), ("process", Apps::Process)])?;
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
