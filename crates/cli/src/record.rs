//! `hotset record`: the I/O of a program, or what it does to its memory, as a trace.

mod memory;

use std::ffi::OsString;
use std::io::{Write, stderr};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use clap::{Args, ValueEnum};
use hotset_capture::record::{FLAGS, Progress, RecordError, Recorder, Summary};
use hotset_capture::strace::Apps;

use crate::destination::Destination;
use crate::failure::Failure;
use crate::import::describe;
use crate::output::human;
use crate::progress::Recording;

/// Record the I/O of an unmodified program and of all processes it starts, or its references to memory
#[derive(Args)]
#[command(after_help = after_help())]
pub(crate) struct Record {
    /// The native trace to write
    #[arg(short, long, value_name = "OUT.hst")]
    output: PathBuf,
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
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// A program, whichever processes run it
    Program,
    /// A process with its threads
    Process,
}

fn after_help() -> String {
    format!(
        "The program runs under strace: it keeps its standard streams, its working directory and its exit status, which becomes that of \
         hotset, and takes two to six times as long. What goes on inside of mapped files is not seen; a mapping counts as a read of its \
         range.\n\n\
         With --memory it runs under valgrind, and the trace is one of references to pages (docs/guide/fit-a-program.md).\n\n\
         Examples:\n  hotset record -o build.hst -- make -j4\n  hotset record -o sh.hst -- sh -c 'grep -r main src | wc -l'\n  \
         hotset record --memory --progress -o sort.hst -- sort words.txt -o sorted.txt\n\n\
         A log made elsewhere becomes a trace with `hotset import LOG -o OUT.hst`. Make it with:\n  strace {} -o LOG COMMAND",
        FLAGS.map(|flag| if flag.contains('?') { format!("'{flag}'") } else { flag.to_owned() }).join(" ")
    )
}

impl Record {
    pub(crate) fn run(self) -> Result<(), Failure> {
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
        };
        let bar = Recording::new(self.progress);
        let shown =
            |at: Progress| bar.show(&[human::counted(at.requests, "request"), human::counted(at.files as u64, "file")]);
        let summary = Recorder::new(self.command).apps(apps).run(output.path(), shown)?;
        drop(bar);
        say(&self.output, &summary)?;
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
fn status(ended: ExitStatus) -> u8 {
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
