//! `hotset record`: the I/O of a program, or what it does to its memory, as a trace.

mod memory;

use std::ffi::OsString;
use std::io::{Write, stderr};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use hotset_capture::record::{FLAGS, KernelRecorder, Progress, RecordError, Recorder, Subject, Summary, of_service};
use hotset_capture::strace::Apps;

use crate::destination::Destination;
use crate::failure::Failure;
use crate::import::describe;
use crate::mount::parse_time;
use crate::output::human;
use crate::progress::Recording;

/// Record the I/O of an unmodified program and of all processes it starts, or its references to memory
#[derive(Args)]
#[command(after_help = after_help(), group = ArgGroup::new("running").args(["pid", "cgroup", "service", "system"]))]
pub(crate) struct Record {
    /// The native trace to write
    #[arg(short, long, value_name = "OUT.hst")]
    output: PathBuf,
    /// Who tells what is done: strace, which needs no rights, or the kernel itself (BPF), which does not slow the
    /// program down, and records what runs already
    #[arg(long, value_enum, default_value_t = Via::Strace, conflicts_with = "memory")]
    via: Via,
    /// With --via bpf: a process that runs, and all that it starts
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// With --via bpf: a control group, as that of a container, and who enters it: its folder, or what /proc/PID/cgroup
    /// calls it
    #[arg(long, value_name = "GROUP")]
    cgroup: Option<PathBuf>,
    /// With --via bpf: a service of systemd, by its name
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// With --via bpf: every process of the machine
    #[arg(long)]
    system: bool,
    /// With --via bpf: end the recording after this time, e.g. 30s, 5m; a program that was started runs on
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    limit: Option<Duration>,
    /// With --via bpf: also tell of each read what the kernel's page cache had, and record pages of mapped files as
    /// they are touched, in place of mappings as a whole
    #[arg(long)]
    page_cache: bool,
    /// What counts as an application
    #[arg(long, value_enum, default_value_t = By::Program, conflicts_with = "memory")]
    app_by: By,
    /// Record references to pages of memory and allocations in place of I/O, of the program alone (thousands of times
    /// slower; needs valgrind)
    #[arg(long)]
    memory: bool,
    /// Show how far the recording is; for programs that do not write to the terminal themselves
    #[arg(long)]
    progress: bool,
    /// The program and its arguments
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
    /// A program, whichever processes run it
    #[value(alias = "exe")]
    Program,
    /// A process with its threads
    #[value(alias = "pid")]
    Process,
    /// The control group (with --via bpf)
    Cgroup,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Via {
    /// The program runs under strace
    Strace,
    /// The kernel tells; needs root, or CAP_BPF and CAP_PERFMON
    Bpf,
}

fn after_help() -> String {
    format!(
        "The program runs under strace: it keeps its standard streams, its working directory and its exit status, which becomes that of \
         hotset, and takes two to six times as long. What goes on inside of mapped files is not seen; a mapping counts as a read of its \
         range.\n\n\
         With --via bpf the kernel tells what is done: nothing is stopped, positions are exact, and what runs already is recorded as well, \
         without being touched, until it ends, --for is over or Ctrl-C is typed. It needs root, or CAP_BPF and CAP_PERFMON \
         (docs/guide/record-what-runs.md).\n\n\
         With --memory it runs under valgrind, and the trace is one of references to pages (docs/guide/fit-a-program.md).\n\n\
         Examples:\n  hotset record -o build.hst -- make -j4\n  hotset record -o sh.hst -- sh -c 'grep -r main src | wc -l'\n  \
         hotset record --memory --progress -o sort.hst -- sort words.txt -o sorted.txt\n  \
         hotset record --via bpf --service postgresql --for 30s -o pg.hst\n\n\
         A log made elsewhere becomes a trace with `hotset import LOG -o OUT.hst`. Make it with:\n  strace {} -o LOG COMMAND",
        FLAGS.map(|flag| if flag.contains('?') { format!("'{flag}'") } else { flag.to_owned() }).join(" ")
    )
}

impl Record {
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.check()?;
        // The trace is written while the program runs, so that an interruption leaves what there is.
        let output = Destination::new(&self.output, &[])?;
        if self.output.is_file() {
            writeln!(stderr(), "hotset: what is in {} now is replaced", self.output.display())?;
        }
        if self.memory {
            return self.record_memory(&output);
        }
        let apps = match self.app_by {
            By::Program => Apps::Program,
            By::Process => Apps::Process,
            By::Cgroup => Apps::Group,
        };
        let bar = Recording::new(self.progress);
        let shown =
            |at: Progress| bar.show(&[human::counted(at.requests, "request"), human::counted(at.files as u64, "file")]);
        let (path, limit) = (self.output.clone(), self.limit);
        let summary = match self.via {
            Via::Strace => Recorder::new(self.command).apps(apps).run(output.path(), shown)?,
            Via::Bpf => {
                let page_cache = self.page_cache;
                let recorder = KernelRecorder::new(self.subject()?).apps(apps).limit(limit).page_cache(page_cache);
                recorder.run(output.path(), shown)?
            }
        };
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

    /// Refuses what strace cannot do.
    fn check(&self) -> Result<(), Failure> {
        let asked = [
            (self.pid.is_some(), "--pid"),
            (self.cgroup.is_some(), "--cgroup"),
            (self.service.is_some(), "--service"),
            (self.system, "--system"),
            (self.limit.is_some(), "--for"),
            (self.page_cache, "--page-cache"),
            (matches!(self.app_by, By::Cgroup), "--app-by cgroup"),
        ];
        match asked.iter().find(|(is_given, _)| *is_given && self.via == Via::Strace) {
            Some((_, option)) => Err(Failure::Usage(format!("{option} needs --via bpf"))),
            None => Ok(()),
        }
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
        Failure::Work(error.to_string())
    }
}
