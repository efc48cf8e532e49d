//! Recording by BPF: a program that is started, or what runs already, is recorded without being stopped.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hotset_feed::calls::{CallOptions, Calls, Watch};
use hotset_trace::batch::BATCH_REQUESTS;
use hotset_trace::native::{Header, Writer};
use hotset_trace::{Addressing, Batch, Meta};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::group::Folder;
use super::signals::{Forwarder, Target};
use super::{FLUSH_INTERVAL, PROGRESS_INTERVAL, RecordError, RecordingProgress, Summary, file_size, inherited, tracer};
use crate::kernel::Follower;
use crate::options::{Apps, StraceOptions};

/// So long nothing is taken while nothing comes, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(16)];

/// The recorded processes.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A program, by name or path, with its arguments, and all processes that it starts.
    Command(Vec<OsString>),
    /// A process that runs, its descendants, and all that these start from now on.
    Process(u32),
    /// The processes of a control group and of those below it, and those that enter: its folder.
    Group(PathBuf),
    /// Every process of the machine except this one.
    System,
}

/// Records by BPF.
#[derive(Clone, Debug)]
pub struct KernelRecorder {
    subject: Subject,
    apps: Apps,
    limit: Option<Duration>,
    page_cache: bool,
    buffer: u32,
}

/// A recording that goes on.
struct Running {
    calls: Calls,
    child: Option<Child>,
    /// A signal has asked for the end.
    stop: Arc<AtomicBool>,
    started: Instant,
}

impl KernelRecorder {
    /// A recorder of `subject`.
    pub fn new(subject: Subject) -> KernelRecorder {
        KernelRecorder {
            subject,
            apps: Apps::default(),
            limit: None,
            page_cache: false,
            buffer: CallOptions::default().buffer,
        }
    }

    /// Chooses what counts as an application; by default a program.
    pub fn apps(mut self, apps: Apps) -> KernelRecorder {
        self.apps = apps;
        self
    }

    /// Ends the recording after this time; a program that was started runs on.
    pub fn limit(mut self, limit: Option<Duration>) -> KernelRecorder {
        self.limit = limit;
        self
    }

    /// Also records of each read what the page cache had, and first touches of pages in place of mappings.
    pub fn page_cache(mut self, is_asked: bool) -> KernelRecorder {
        self.page_cache = is_asked;
        self
    }

    /// Bytes of records that may wait while the recorder is busy: a power of two of at least a page.
    pub fn buffer(mut self, bytes: u32) -> KernelRecorder {
        self.buffer = bytes;
        self
    }

    /// Records into `output`; `progress` is called now and then. Returns when the last recorded process has ended, the
    /// time is over or a signal asks for it, and a started program has ended.
    ///
    /// # Errors
    ///
    /// BPF is not allowed here, the subject is not there, or the trace cannot be written.
    pub fn run(self, output: &Path, progress: impl FnMut(RecordingProgress)) -> Result<Summary, RecordError> {
        let program = match &self.subject {
            Subject::Command(command) => Some(tracer::find_program(command)?),
            _ => None,
        };
        let folder = match &self.subject {
            Subject::Group(path) => Some(Folder::of(path)?),
            _ => None,
        };
        let choice = CallOptions {
            everybody: matches!(self.subject, Subject::System),
            group: folder.as_ref().map(|folder| folder.group.clone()),
            page_cache: self.page_cache,
            buffer: self.buffer,
        };
        let calls = Calls::open(&choice).map_err(RecordError::NoBpf)?;
        let stop = Arc::new(AtomicBool::new(false));
        let mut running = Running { calls, child: None, stop, started: Instant::now() };
        let forwarder = match (&self.subject, &program) {
            (Subject::Command(command), Some(program)) => Some(running.start(program, command)?),
            _ => None,
        };
        if forwarder.is_none() {
            running.end_by_signals()?;
        }
        match (&self.subject, &folder) {
            (Subject::Process(process), _) => running.attach(*process)?,
            (_, Some(folder)) => folder.processes()?.into_iter().try_for_each(|process| running.watch(process))?,
            _ => {}
        }
        let recorded = self.record(&mut running, output, progress);
        drop(running.calls);
        let status = running.child.as_mut().map(Child::wait).transpose();
        drop(forwarder);
        let mut summary = recorded?;
        summary.status = status
            .map_err(|source| RecordError::System { doing: "cannot wait for the program", source })?
            .unwrap_or_default();
        Ok(summary)
    }

    /// Takes what the kernel tells until the end, and writes the trace.
    fn record(
        &self,
        running: &mut Running,
        output: &Path,
        mut progress: impl FnMut(RecordingProgress),
    ) -> Result<Summary, RecordError> {
        let mut follower = Follower::new(self.options(running.calls.sees_rings()));
        let meta = Meta {
            format: "bpf",
            addressing: Addressing::Bytes { unit: None },
            has_time: true,
            has_ops: true,
            sample: None,
        };
        let header = Header::new(&meta).with("source", "bpf").with("command", &self.subject.to_string());
        let mut writer = Writer::create(output, &header)?;
        let mut batch = Batch::new();
        let mut requests = 0;
        let (mut told, mut flushed, mut pause) = (running.started, Instant::now(), PAUSES[0]);
        loop {
            // Checked first: the events up to this moment are read below.
            let is_over = running.is_over(self);
            let taken = running.calls.drain(BATCH_REQUESTS, |record| follower.follow(record, &mut batch));
            if !batch.is_empty() {
                writer.push(&batch, follower.tables())?;
                requests += batch.len() as u64;
                batch.clear();
            }
            if taken == 0 && is_over {
                break;
            }
            if told.elapsed() > PROGRESS_INTERVAL {
                let files = follower.tables().files.len();
                progress(RecordingProgress { requests, files, elapsed: running.started.elapsed() });
                told = Instant::now();
            }
            if flushed.elapsed() > FLUSH_INTERVAL {
                writer.flush()?;
                flushed = Instant::now();
            }
            pause = if taken > 0 { PAUSES[0] } else { (pause * 2).min(PAUSES[1]) };
            if taken < BATCH_REQUESTS {
                thread::sleep(pause);
            }
        }
        let stats = writer.finish(follower.tables())?;
        let lost = running.calls.lost() + follower.torn();
        let mut remarks = follower.remarks();
        remarks.extend(foreign(running.calls.foreign()));
        remarks.extend(unseen(running.calls.unseen()));
        let seconds = running.started.elapsed().as_secs_f64();
        Ok(Summary { stats, status: ExitStatus::default(), remarks, skipped: 0, lost, seconds })
    }

    fn options(&self, sees_rings: bool) -> StraceOptions {
        let is_command = matches!(self.subject, Subject::Command(_));
        let directory = std::env::current_dir().ok().filter(|_| is_command);
        StraceOptions {
            apps: self.apps,
            directory: directory.map(|path| path.into_os_string().into_vec()),
            inherited: if is_command { inherited::files() } else { Vec::new() },
            positions_told: true,
            sees_rings,
            touches_told: self.page_cache,
            group_of: Some(super::group::of_process),
            file_size_of: Some(file_size),
            ..StraceOptions::default()
        }
    }
}

impl Running {
    /// Starts a program by its path, so that no search for it is recorded; the recording starts with its first call.
    fn start(&mut self, program: &Path, command: &[OsString]) -> Result<Forwarder, RecordError> {
        let signals = Forwarder::install()?;
        let own = std::process::id();
        self.calls.watch(own, Watch::ItsChildren).map_err(RecordError::NoBpf)?;
        self.started = Instant::now();
        let child = Command::new(program).arg0(&command[0]).args(&command[1..]).spawn();
        self.calls.unwatch(own);
        let child = child.map_err(|source| RecordError::System { doing: "cannot start the program", source })?;
        signals.forward_to(Target::Itself(child.id()));
        self.child = Some(child);
        Ok(signals)
    }

    /// Signals that would end this process end the recording.
    fn end_by_signals(&self) -> Result<(), RecordError> {
        [SIGINT, SIGTERM, SIGHUP].into_iter().try_for_each(|signal| {
            let registered = signal_hook::flag::register(signal, self.stop.clone());
            registered.map(drop).map_err(|source| RecordError::System { doing: "cannot handle signals", source })
        })
    }

    /// Records a process from now on, unless it is this one.
    fn watch(&mut self, process: u32) -> Result<(), RecordError> {
        match process == std::process::id() {
            true => Ok(()),
            false => self.calls.watch(process, Watch::Fully).map_err(RecordError::NoBpf),
        }
    }

    /// Records a process that runs already, and its descendants.
    fn attach(&mut self, process: u32) -> Result<(), RecordError> {
        if !Path::new("/proc").join(process.to_string()).join("task").join(process.to_string()).exists() {
            return Err(RecordError::NoProcess { process });
        }
        // A process is watched before its children are listed: the kernel adds those that it starts meanwhile.
        let mut found = vec![process];
        while let Some(process) = found.pop() {
            self.watch(process)?;
            found.extend(children_of(process));
        }
        Ok(())
    }

    /// True if nothing more is to be recorded.
    fn is_over(&mut self, recorder: &KernelRecorder) -> bool {
        let is_late = recorder.limit.is_some_and(|limit| self.started.elapsed() >= limit);
        let has_ended = match recorder.subject {
            Subject::Command(_) | Subject::Process(_) => !self.calls.has_watched(),
            Subject::Group(_) | Subject::System => false,
        };
        is_late || has_ended || self.stop.load(Ordering::Relaxed)
    }
}

/// The processes that the threads of a process have started and that still run.
fn children_of(process: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Subject::Command(command) => {
                let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
                f.write_str(&words.join(" "))
            }
            Subject::Process(process) => write!(f, "process {process}"),
            Subject::Group(path) => write!(f, "control group {}", path.display()),
            Subject::System => f.write_str("the whole machine"),
        }
    }
}

fn unseen(requests: u64) -> Option<String> {
    (requests > 0).then(|| format!("{requests} submitted requests could not be looked at and are not in the trace"))
}

fn foreign(calls: u64) -> Option<String> {
    (calls > 0).then(|| format!("{calls} calls were made by programs for 32 bits, whose calls are not recorded"))
}
