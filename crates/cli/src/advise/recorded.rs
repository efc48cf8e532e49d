//! The recording of a command for advice. It is removed with its directory.

use std::ffi::OsString;
use std::io::{Write, stderr};
use std::path::PathBuf;

use hotset_capture::record::{KernelRecorder, RecordError, Recorder, Subject};
use tempfile::TempDir;

use super::RECORDED;
use crate::failure::Failure;
use crate::record::status;

/// A recording.
pub(super) struct Recorded {
    pub trace: PathBuf,
    /// Removes the trace when dropped.
    _folder: TempDir,
}

/// Records a command by BPF with its mapped pages, else by strace. If the command fails, so does the advice, with
/// its status.
pub(super) fn record(command: &[OsString]) -> Result<Recorded, Failure> {
    let folder = tempfile::Builder::new().prefix("hotset-advise-").tempdir();
    let folder = folder.map_err(|error| Failure::Work(format!("cannot make a directory for the trace: {error}")))?;
    let trace = folder.path().join(RECORDED);
    let kernel = KernelRecorder::new(Subject::Command(command.to_vec())).page_cache(true);
    let mut err = stderr().lock();
    let summary = match kernel.run(&trace, |_| ()) {
        Err(RecordError::NoBpf(why)) => {
            writeln!(err, "hotset: recording by strace, which sees mappings but not which pages are touched ({why})")?;
            Recorder::new(command.to_vec()).run(&trace, |_| ())?
        }
        recorded => recorded?,
    };
    for remark in &summary.remarks {
        writeln!(err, "hotset: {remark}")?;
    }
    if summary.lost > 0 {
        writeln!(err, "hotset: {} events were lost, so the figures are approximate", summary.lost)?;
    }
    match status(summary.status) {
        0 => Ok(Recorded { trace, _folder: folder }),
        status => {
            writeln!(err, "hotset: the command failed with exit status {status}; no advice on a failed run")?;
            Err(Failure::Status(status))
        }
    }
}
