//! Recording: a program runs under strace, and its log becomes a `.hst` trace while it runs.
//!
//! The log goes through a FIFO and is never stored. The program keeps its standard streams, its working directory and
//! its exit status; signals that are sent to the recorder are passed on to it.

pub(crate) mod channel;
mod error;
mod group;
mod inherited;
mod kernel;
pub(crate) mod signals;
pub(crate) mod tracer;

use std::{
    ffi::OsString,
    fs::File,
    os::unix::ffi::OsStringExt,
    path::Path,
    process::{Child, ExitStatus},
    thread,
    time::{Duration, Instant},
};

use hotset_trace::{
    Batch, TraceError, TraceReader,
    input::Input,
    native::{Header, Stats, Writer},
};

pub use error::RecordError;
pub use group::of_service;
pub use kernel::{KernelRecorder, Subject};
pub use tracer::FLAGS;

use crate::strace::{Apps, StraceOptions, StraceReader};
use channel::{Channel, Unhurried};
use signals::{Forwarder, Target};

/// After so long at the latest, what has been recorded is in the file.
const FLUSH_INTERVAL: Duration = Duration::from_secs(5);

/// Between two calls of the progress callback.
pub(crate) const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Records the I/O of a program and of all processes that it starts.
#[derive(Clone, Debug)]
pub struct Recorder {
    command: Vec<OsString>,
    apps: Apps,
}

/// How far a recording has come.
#[derive(Clone, Copy, Debug)]
pub struct RecordingProgress {
    /// Requests recorded.
    pub requests: u64,
    /// Files met.
    pub files: usize,
    /// Time since the program was started.
    pub elapsed: Duration,
}

/// The result of a recording.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The totals of the trace: requests, files, applications, bytes.
    pub stats: Stats,
    /// How the program ended; the program's own status.
    pub status: ExitStatus,
    /// What could not be recorded, and what else should be known: one sentence each.
    pub remarks: Vec<String>,
    /// Lines of the log that could not be understood.
    pub skipped: u64,
    /// Events that found no room and are not in the trace (BPF).
    pub lost: u64,
    /// Time from the start of the program to the end of its last process, in seconds.
    pub seconds: f64,
}

impl Recorder {
    /// A recorder of `command`: a program, by name or path, and its arguments.
    pub fn new(command: impl IntoIterator<Item = impl Into<OsString>>) -> Recorder {
        Recorder { command: command.into_iter().map(Into::into).collect(), apps: Apps::default() }
    }

    /// Chooses what counts as an application; by default a program.
    pub fn apps(mut self, apps: Apps) -> Recorder {
        self.apps = apps;
        self
    }

    /// Runs the program and writes its trace to `output`; `progress` is called now and then. Returns when the last
    /// process has ended.
    pub fn run(self, output: &Path, progress: impl FnMut(RecordingProgress)) -> Result<Summary, RecordError> {
        tracer::find_program(&self.command)?;
        tracer::check()?;
        let channel = Channel::open()?;
        let signals = Forwarder::install()?;
        let started = Instant::now();
        let child = tracer::command(&channel.path(), &self.command).spawn();
        let child = child.map_err(|source| RecordError::System { doing: "cannot start strace", source })?;
        signals.forward_to(Target::ChildOf(child.id()));
        let Channel { log, hold, directory } = channel;
        let ended = thread::spawn(move || wait(child, hold));
        let recorded = self.convert(log, output, started, progress);
        let status = ended.join().unwrap_or_else(|_| Err(std::io::Error::other("the waiting thread has failed")));
        drop((signals, directory));
        let mut summary = recorded?;
        summary.seconds = started.elapsed().as_secs_f64();
        summary.status = status.map_err(|source| RecordError::System { doing: "cannot wait for strace", source })?;
        if summary.stats.requests == 0 && !summary.status.success() {
            return Err(RecordError::Nothing { status: summary.status });
        }
        Ok(summary)
    }

    /// Reads the log to its end and writes the trace. If the trace cannot be written the program runs on to its end all
    /// the same.
    fn convert(
        &self,
        log: File,
        output: &Path,
        started: Instant,
        mut progress: impl FnMut(RecordingProgress),
    ) -> Result<Summary, RecordError> {
        let options = StraceOptions {
            skip_bad: true,
            prompt: true,
            apps: self.apps,
            directory: std::env::current_dir().ok().map(|path| path.into_os_string().into_vec()),
            inherited: inherited::files(),
            file_size_of: Some(file_size),
            ..StraceOptions::default()
        };
        let drain = log.try_clone();
        let converted = Input::from_reader(Path::new("the log of strace"), Unhurried::new(log), None)
            .and_then(|input| StraceReader::new(input, options))
            .and_then(|reader| self.write(reader, output, started, &mut progress));
        if let (Err(_), Ok(mut rest)) = (&converted, drain) {
            std::io::copy(&mut rest, &mut std::io::sink()).ok();
        }
        Ok(converted?)
    }

    fn write(
        &self,
        mut reader: StraceReader,
        output: &Path,
        started: Instant,
        progress: &mut impl FnMut(RecordingProgress),
    ) -> Result<Summary, TraceError> {
        let command: Vec<String> = self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let header = Header::new(reader.meta()).with("source", "strace").with("command", &command.join(" "));
        let mut writer = Writer::create(output, &header)?;
        let mut batch = Batch::new();
        let mut requests = 0;
        let (mut told, mut flushed) = (started, Instant::now());
        loop {
            reader.read(&mut batch)?;
            if batch.is_empty() {
                break;
            }
            writer.push(&batch, reader.tables())?;
            requests += batch.len() as u64;
            if told.elapsed() > PROGRESS_INTERVAL {
                progress(RecordingProgress {
                    requests,
                    files: reader.tables().files.len(),
                    elapsed: started.elapsed(),
                });
                told = Instant::now();
            }
            if flushed.elapsed() > FLUSH_INTERVAL {
                writer.flush()?;
                flushed = Instant::now();
            }
        }
        let stats = writer.finish(reader.tables())?;
        let status = ExitStatus::default();
        Ok(Summary { stats, status, remarks: reader.remarks(), skipped: reader.skipped(), lost: 0, seconds: 0.0 })
    }
}

/// Waits for strace, and closes the other end of the channel: otherwise the log would never end if strace had not
/// opened it.
fn wait(mut child: Child, hold: File) -> std::io::Result<ExitStatus> {
    let status = child.wait();
    drop(hold);
    status
}

fn file_size(path: &str) -> Option<u64> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|about| about.len())
}
