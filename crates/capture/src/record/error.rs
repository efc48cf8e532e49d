//! What can keep a recording from being made.

use std::{io, path::PathBuf, process::ExitStatus};

use hotset_trace::TraceError;

/// Why there is no recording, as one sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The command is empty.
    #[error("there is no command to record; expected `-- COMMAND ARGUMENTS...`")]
    NoCommand,
    /// The program does not exist or cannot be executed.
    #[error("cannot record `{}`: there is no such program, or it may not be executed", name.display())]
    NoProgram {
        /// The program as it was given.
        name: PathBuf,
    },
    /// The kernel does not let itself be asked.
    #[error("{0}; --via strace needs no such rights, but must start the program itself")]
    NoBpf(#[source] hotset_feed::Error),
    /// There is no such process.
    #[error("cannot record process {process}: there is no process of this number")]
    NoProcess {
        /// Its number.
        process: u32,
    },
    /// There is no such control group.
    #[error("cannot record the control group {}: {why}", path.display())]
    NoGroup {
        /// Its folder as it was given.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// strace is not installed.
    #[error(
        "recording needs strace, which is not installed: install the package `strace` (`apt install strace`, `dnf install strace`)"
    )]
    NoStrace,
    /// The system does not let strace trace.
    #[error(
        "this system does not let strace trace programs ({said}): in a container add the capability SYS_PTRACE, \
         elsewhere set /proc/sys/kernel/yama/ptrace_scope to 0 or 1"
    )]
    NotPermitted {
        /// strace's own words.
        said: String,
    },
    /// strace does not know the flags.
    #[error("the strace that is installed cannot be used ({said}): install version 5.3 or later")]
    Unfit {
        /// strace's own words.
        said: String,
    },
    /// Nothing was recorded.
    #[error("strace ended ({status}) without having recorded anything; what it has said is above")]
    Nothing {
        /// How it ended.
        status: ExitStatus,
    },
    /// valgrind is not installed.
    #[error(
        "recording memory needs valgrind, which is not installed: install the package `valgrind` (`apt install valgrind`, `dnf install valgrind`)"
    )]
    NoValgrind,
    /// valgrind is there but does not work.
    #[error(
        "the valgrind that is installed cannot run a program under its tool lackey ({said}): expected version 3.15 or later, whole"
    )]
    UnfitValgrind {
        /// valgrind's own words.
        said: String,
    },
    /// No reference to memory was recorded.
    #[error("valgrind ended ({status}) without having recorded anything; what it has said is above")]
    NothingOfMemory {
        /// How it ended.
        status: ExitStatus,
    },
    /// The operating system failed.
    #[error("{doing}: {source}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// The error.
        source: io::Error,
    },
    /// The trace could not be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
}
