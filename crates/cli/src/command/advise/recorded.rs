//! The recording of a command for advice. It is removed with its directory.

use std::ffi::OsString;
use std::io::{self, Write, stderr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use hotset_capture::record::{KernelRecorder, RecordError, Recorder, Subject};
use hotset_steer::Pressure;
use tempfile::TempDir;

use super::RECORDED;
use crate::command::record::status;
use crate::failure::Failure;

/// A recording.
pub(super) struct Recorded {
    pub trace: PathBuf,
    /// Share of its time in which a process of the machine waited for storage; `None` if unknown.
    pub waited: Option<f64>,
    /// Removes the trace when dropped.
    _folder: TempDir,
}

/// Sends standard output to standard error while it lives.
struct Diverted(OwnedFd);

impl Diverted {
    fn new() -> io::Result<Diverted> {
        let output = rustix::io::dup(rustix::stdio::stdout())?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        Ok(Diverted(output))
    }
}

impl Drop for Diverted {
    fn drop(&mut self) {
        // Both descriptors are open.
        let _ = rustix::stdio::dup2_stdout(&self.0);
    }
}

/// Records a command by BPF with its mapped pages, else by strace. If the command fails, so does the advice, with
/// its status. With `diverts`, the command prints to standard error, so that standard output has the advice alone.
pub(super) fn record(command: &[OsString], diverts: bool) -> Result<Recorded, Failure> {
    let diverted = diverts.then(Diverted::new).transpose();
    let _diverted = diverted.map_err(|error| Failure::Work(format!("cannot divert standard output: {error}")))?;
    let folder = tempfile::Builder::new().prefix("hotset-advise-").tempdir();
    let folder = folder.map_err(|error| Failure::Work(format!("cannot make a directory for the trace: {error}")))?;
    let trace = folder.path().join(RECORDED);
    let kernel = KernelRecorder::new(Subject::Command(command.to_vec())).page_cache(true);
    let mut err = stderr().lock();
    let pressure = Pressure::of(None);
    let waited = || pressure.as_ref().and_then(Pressure::waited);
    let before = waited();
    let (summary, is_slowed) = match kernel.run(&trace, |_| ()) {
        Err(RecordError::NoBpf(why)) => {
            writeln!(err, "hotset: recording by strace, which sees mappings but not which pages are touched ({why})")?;
            (Recorder::new(command.to_vec()).run(&trace, |_| ())?, true)
        }
        recorded => (recorded?, false),
    };
    let share = |(before, after): (u64, u64)| after.saturating_sub(before) as f64 / 1e9 / summary.seconds;
    let waited = before.zip(waited()).map(share).filter(|share| !is_slowed && share.is_finite());
    if summary.lost > 0 {
        writeln!(err, "hotset: {} events were lost, so the figures are approximate", summary.lost)?;
    }
    match status(summary.status) {
        0 => Ok(Recorded { trace, waited: waited.map(|share| share.min(1.0)), _folder: folder }),
        status => {
            writeln!(err, "hotset: the command failed with exit status {status}; no advice on a failed run")?;
            Err(Failure::Status(status))
        }
    }
}
