//! `hotset record`: the I/O of a program, as a trace.

use std::ffi::OsString;
use std::io::{Write, stderr};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use clap::{Args, ValueEnum};
use hotset_capture::record::{FLAGS, RecordError, Recorder, Summary};
use hotset_capture::strace::Apps;

use crate::destination::Destination;
use crate::failure::Failure;
use crate::import::describe;
use crate::output::human;
use crate::progress::Recording;

/// Record the I/O of an unmodified program and of all processes it starts
#[derive(Args)]
#[command(after_help = after_help())]
pub(crate) struct Record {
    /// The native trace to write
    #[arg(short, long, value_name = "OUT.hst")]
    output: PathBuf,
    /// What counts as an application
    #[arg(long, value_enum, default_value_t = By::Program)]
    app_by: By,
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
         Examples:\n  hotset record -o build.hst -- make -j4\n  hotset record -o sh.hst -- sh -c 'grep -r main src | wc -l'\n\n\
         A log made elsewhere becomes a trace with `hotset import LOG -o OUT.hst`. Make it with:\n  strace {} -o LOG COMMAND",
        FLAGS.map(|flag| if flag.contains('?') { format!("'{flag}'") } else { flag.to_owned() }).join(" ")
    )
}

impl Record {
    pub(crate) fn run(self) -> Result<(), Failure> {
        // The trace is written while the program runs, so that an interruption leaves what there is.
        let output = Destination::new(&self.output, &[])?;
        let apps = match self.app_by {
            By::Program => Apps::Program,
            By::Process => Apps::Process,
        };
        let bar = Recording::new(self.progress);
        let summary =
            Recorder::new(self.command).apps(apps).run(output.path(), |at| bar.show(at.requests, at.files as u64))?;
        drop(bar);
        say(&self.output, &summary)?;
        match status(summary.status) {
            0 => Ok(()),
            status => Err(Failure::Status(status)),
        }
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
