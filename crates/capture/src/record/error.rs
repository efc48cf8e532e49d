//! Errors of recordings.

use hotset_core::setting::SettingName;
use std::{io, path::PathBuf, process::ExitStatus};

use hotset_trace::TraceError;

/// The reason why nothing was recorded, as one sentence with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The command is empty.
    #[error("no command to record; expected `-- COMMAND ARGUMENTS...`")]
    NoCommand,
    /// The program does not exist or cannot be executed.
    #[error("cannot record `{}`: the program does not exist or may not be executed", name.display())]
    NoProgram {
        /// The program as it was given.
        name: PathBuf,
    },
    /// The kernel does not let itself be asked.
    #[error("{0}; {via} needs no such rights, but must start the program itself", via = SettingName("via").of("strace"))]
    NoBpf(#[source] hotset_feed::Error),
    /// The process does not exist.
    #[error("cannot record process {process}: no process has this number")]
    NoProcess {
        /// Its number.
        process: u32,
    },
    /// The control group does not exist.
    #[error("cannot record the control group {}: {why}", path.display())]
    NoGroup {
        /// Its folder as it was given.
        path: PathBuf,
        /// The problem with it.
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
    #[error("strace ended ({status}) without recording anything; its own message is above")]
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
    #[error("valgrind ended ({status}) without recording anything; its own message is above")]
    NothingOfMemory {
        /// How it ended.
        status: ExitStatus,
    },
    /// The operating system failed.
    #[error("{doing}: {source}")]
    System {
        /// The operation that failed.
        doing: &'static str,
        /// The error.
        source: io::Error,
    },
    /// The trace could not be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
}
