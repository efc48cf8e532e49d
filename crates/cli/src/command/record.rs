//! `hotset record`: the I/O of a program, or what it does to its memory, as a trace.

use std::ffi::OsString;
use std::io::{Write, stderr};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use hotset_capture::memory::{self, MemoryProgress};
use hotset_capture::record::{KernelRecorder, RecordError, Recorder, RecordingProgress, Subject, Summary, of_service};
use hotset_capture::strace::Apps;

use crate::command::import::describe;
use crate::command::mount::parse_time;
use crate::failure::Failure;
use crate::options::destination::Destination;
use crate::options::progress::Recording;
use crate::output::human;

const AFTER: &str = "\
Examples:
  hotset record -o build.hst -- make -j4
  hotset record -o sh.hst -- sh -c 'grep -r main src | wc -l'
  hotset record --service postgresql --for 30s -o pg.hst
  hotset record --memory --progress -o sort.hst -- sort words.txt

The program keeps its standard streams and its working directory; hotset returns its exit status. Under strace it takes two to six times as long. Touched pages of mapped files are not visible to strace; a mapping counts as one read of its range.

With bpf, nothing is stopped and running processes can be recorded, until they end, --for is over or Ctrl-C is pressed. It needs root, or CAP_BPF and CAP_PERFMON (docs/guide/record-what-runs.md).

With --memory, the program runs under valgrind and the trace contains references to pages (docs/guide/fit-a-program.md).

`hotset import` converts a strace log that was made elsewhere (docs/reference/strace.md).";

/// Record the I/O of an unmodified program and its child processes, or its memory references
#[derive(Args)]
#[command(after_help = AFTER, group = ArgGroup::new("running").args(["pid", "cgroup", "service", "system"]))]
pub(crate) struct Record {
    /// Trace file to write
    #[arg(short, long, value_name = "OUT.hst")]
    output: PathBuf,
    /// Replace OUT.hst if it exists
    #[arg(short, long)]
    force: bool,
    /// Recorder: strace needs no privileges; bpf does not slow the program down and can attach to running processes
    /// [default: strace for a command, bpf for what strace cannot record]
    #[arg(long, value_enum, conflicts_with = "memory")]
    via: Option<Via>,
    /// Record this running process and its children (by bpf)
    #[arg(long, value_name = "PID", help_heading = "What to record")]
    pid: Option<u32>,
    /// Record all processes of a control group: its directory, or its name in /proc/PID/cgroup (by bpf)
    #[arg(long, value_name = "GROUP", help_heading = "What to record")]
    cgroup: Option<PathBuf>,
    /// Record a systemd service by name (by bpf)
    #[arg(long, value_name = "NAME", help_heading = "What to record")]
    service: Option<String>,
    /// Record every process of the machine (by bpf)
    #[arg(long, help_heading = "What to record")]
    system: bool,
    /// Stop recording after this time, e.g. 30s, 5m; the program continues (by bpf)
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time, help_heading = "What to record")]
    limit: Option<Duration>,
    /// Record whether each read hit the page cache, and record touched pages instead of whole mappings (by bpf)
    #[arg(long, help_heading = "Content of the trace")]
    page_cache: bool,
    /// What identifies an application
    #[arg(long, value_enum, default_value_t = By::Program, conflicts_with = "memory", help_heading = "Content of the trace")]
    app_by: By,
    /// Record references to memory pages and allocations instead of I/O, without child processes (needs valgrind;
    /// thousands of times slower)
    #[arg(long, help_heading = "Content of the trace")]
    memory: bool,
    /// Show progress; for programs that do not print to the terminal
    #[arg(long)]
    progress: bool,
    /// Program to run, and its arguments
    #[arg(
        required_unless_present = "running",
        conflicts_with = "running",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// The program
    #[value(alias = "exe")]
    Program,
    /// The process, with all its threads
    #[value(alias = "pid")]
    Process,
    /// The control group (by bpf)
    Cgroup,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Via {
    /// Run the program under strace
    Strace,
    /// Record in the kernel; needs root, or CAP_BPF and CAP_PERFMON
    Bpf,
}

impl Record {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let via = self.recorder()?;
        let output = Destination::new(&self.output, &[])?;
        if !self.force && std::fs::metadata(&self.output).is_ok_and(|about| about.is_file() && about.len() > 0) {
            let message = format!("{} exists; choose another name, or replace it with --force", self.output.display());
            return Err(Failure::Usage(message));
        }
        if self.memory {
            return self.record_memory(output);
        }
        let apps = match self.app_by {
            By::Program => Apps::Program,
            By::Process => Apps::Process,
            By::Cgroup => Apps::Group,
        };
        let bar = Recording::new(self.progress);
        let shown = |at: RecordingProgress| {
            bar.show(&[human::counted(at.requests, "request"), human::counted(at.files as u64, "file")])
        };
        let (path, limit, page_cache) = (self.output.clone(), self.limit, self.page_cache);
        let summary = match via {
            Via::Strace => output.fill(|path| Ok(Recorder::new(self.command).apps(apps).run(path, shown)?)),
            Via::Bpf => {
                let recorder = KernelRecorder::new(self.subject()?).apps(apps).limit(limit).page_cache(page_cache);
                output.fill(|path| Ok(recorder.run(path, shown)?))
            }
        }?;
        drop(bar);
        say(&path, &summary)?;
        end(summary.status)?;
        // The program did well, but the recording lacks something.
        if summary.lost > 0 { Err(Failure::Status(1)) } else { Ok(()) }
    }

    /// What `--via bpf` records.
    fn subject(self) -> Result<Subject, Failure> {
        Ok(match (self.pid, self.cgroup, self.service, self.system) {
            (Some(process), ..) => Subject::Process(process),
            (_, Some(folder), ..) => Subject::Group(folder),
            (_, _, Some(name), _) => Subject::Group(of_service(&name)?),
            (.., true) => Subject::System,
            _ => Subject::Command(self.command),
        })
    }

    /// The recorder that does what is asked: strace, unless it cannot.
    fn recorder(&self) -> Result<Via, Failure> {
        let asked = [
            (self.pid.is_some(), "--pid"),
            (self.cgroup.is_some(), "--cgroup"),
            (self.service.is_some(), "--service"),
            (self.system, "--system"),
            (self.limit.is_some(), "--for"),
            (self.page_cache, "--page-cache"),
            (matches!(self.app_by, By::Cgroup), "--app-by cgroup"),
        ];
        match (asked.iter().find(|(is_given, _)| *is_given), self.via) {
            (Some((_, option)), _) if self.memory => {
                Err(Failure::Usage(format!("{option} cannot be combined with --memory; remove one")))
            }
            (Some((_, option)), Some(Via::Strace)) => {
                Err(Failure::Usage(format!("{option} cannot be recorded by strace; remove --via strace")))
            }
            (Some(_), None) => Ok(Via::Bpf),
            (_, via) => Ok(via.unwrap_or(Via::Strace)),
        }
    }

    /// All of the command with `--memory`.
    fn record_memory(&self, output: Destination) -> Result<(), Failure> {
        let bar = Recording::new(self.progress);
        let shown = |at: MemoryProgress| {
            bar.show(&[human::counted(at.references, "reference"), human::counted(at.instructions, "instruction")]);
        };
        let summary = output.fill(|path| Ok(memory::record(&self.command, path, shown)?))?;
        drop(bar);
        let stats = &summary.stats;
        let counts = [
            human::counted(stats.references, "reference"),
            human::counted(stats.runs, "run"),
            human::counted(stats.instructions, "instruction"),
            human::counted(stats.object_events, "object event"),
        ];
        let mut err = stderr().lock();
        let took = human::duration(summary.seconds);
        writeln!(err, "hotset: {}: {} in {took}", self.output.display(), counts.join(", "))?;
        for remark in &summary.remarks {
            writeln!(err, "hotset: {remark}")?;
        }
        end(summary.status)
    }
}

/// Ends as the program did.
fn end(ended: ExitStatus) -> Result<(), Failure> {
    match status(ended) {
        0 => Ok(()),
        status => Err(Failure::Status(status)),
    }
}

/// Tells what has been recorded, beside the program's own output.
fn say(output: &Path, summary: &Summary) -> Result<(), Failure> {
    let mut err = stderr().lock();
    let shown = output.display();
    writeln!(err, "hotset: {shown}: {}", describe(&summary.stats))?;
    for remark in &summary.remarks {
        writeln!(err, "hotset: {remark}")?;
    }
    if summary.lost > 0 {
        writeln!(
            err,
            "hotset: {} came faster than they could be taken, and are not in the trace",
            human::counted(summary.lost, "event")
        )?;
    }
    if summary.skipped > 0 {
        writeln!(
            err,
            "hotset: {} of strace could not be understood and were skipped",
            human::counted(summary.skipped, "line")
        )?;
    }
    Ok(())
}

/// The status a shell would give.
pub(crate) fn status(ended: ExitStatus) -> u8 {
    match (ended.code(), ended.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => 128 + signal as u8,
        (None, None) => 1,
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Failure {
        match error {
            RecordError::NoProgram { .. } => Failure::NotStarted(error.to_string()),
            error => Failure::Work(error.to_string()),
        }
    }
}
