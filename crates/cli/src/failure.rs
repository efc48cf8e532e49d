//! Errors as the user sees them: a sentence on standard error, and an exit status.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use hotset_core::policy::PolicySpec;
use hotset_core::spec::SpecError;
use hotset_core::words::reason;
use hotset_sim::SimError;
use hotset_trace::TraceError;

use crate::output::note;

/// A setting as an option: `--memory`, `--sample-size 10000`.
pub(crate) fn spelling(name: &str, value: Option<&str>) -> String {
    let option = format!("--{}", name.replace('_', "-"));
    match value {
        Some(value) if value.contains(' ') => format!("{option} '{value}'"),
        Some(value) => format!("{option} {value}"),
        None => option,
    }
}

/// Why the command stops.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The work could not be done: exit status 1.
    Work(String),
    /// The output cannot be written: exit status 1.
    Output(io::Error),
    /// The command line makes no sense: exit status 2.
    Usage(String),
    /// The reader of the output has gone: there is nothing to print, and it is not a failure.
    Unread,
    /// The program that the user named cannot be started: exit status 127, as a shell gives it.
    NotStarted(String),
    /// A recorded program ended with this status, which becomes ours.
    Status(u8),
}

impl Failure {
    /// A program that cannot be started.
    pub(crate) fn not_started(program: &OsStr, error: &io::Error) -> Failure {
        Failure::NotStarted(format!("cannot run {}: {}", program.display(), reason(error)))
    }

    /// Refuses what this build leaves out: `what`, which a feature of the package adds.
    pub(crate) fn unless(is_built: bool, what: &str, feature: &str) -> Result<(), Failure> {
        match is_built {
            true => Ok(()),
            false => Err(Failure::Work(format!("this build has no {what}: build hotset with the feature `{feature}`"))),
        }
    }

    /// A spec error under an option, with the place in its text.
    pub(crate) fn spec(option: &str, text: &str, error: &SpecError) -> Failure {
        Failure::Usage(format!("{option}: {}", error.render(text)))
    }

    /// An error of a sweep over sizes that stand at `place`, written so.
    pub(crate) fn swept(error: SimError, place: &str, sizes: &str) -> Failure {
        match error {
            SimError::Sizes(error) => Failure::spec(place, sizes, &error),
            error => Failure::from(error),
        }
    }

    /// The result of printing something. A reader that has gone is not a reason to stop while files remain to be
    /// written.
    pub(crate) fn shown(shown: Result<(), Failure>, has_files: bool) -> Result<(), Failure> {
        match shown {
            Err(Failure::Unread) if has_files => Ok(()),
            shown => shown,
        }
    }

    /// A command line that does not parse. An argument too many is often the trace behind a policy.
    pub(crate) fn unparsed(error: &clap::Error) -> Failure {
        let text = error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        let is_word = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(word)) => error.kind() == ErrorKind::UnknownArgument && !word.starts_with('-'),
            _ => false,
        };
        let is_policy = |word: &String| PolicySpec::parse(word).is_ok() && !Path::new(word).exists();
        let policy = std::env::args().skip(2).find(is_policy).filter(|_| is_word);
        let hint = policy.map_or_else(String::new, |word| format!("\n\n`{word}` is a policy: use --policy {word}"));
        Failure::Usage(format!("{text}{hint}"))
    }

    /// Says it.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Failure::Work(message) => {
                note(message);
                ExitCode::from(1)
            }
            Failure::Output(error) => {
                note(format_args!("cannot write the output: {}", reason(error)));
                ExitCode::from(1)
            }
            Failure::Usage(message) => {
                note(message);
                ExitCode::from(2)
            }
            Failure::NotStarted(message) => {
                note(message);
                ExitCode::from(127)
            }
            Failure::Unread => ExitCode::SUCCESS,
            Failure::Status(status) => ExitCode::from(*status),
        }
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Failure {
        let is_absent = error.source.as_ref().is_some_and(|source| source.kind() == io::ErrorKind::NotFound);
        let name = error.path.to_string_lossy();
        if is_absent && PolicySpec::parse(&name).is_ok() {
            return Failure::Usage(format!("{error}; `{name}` is a policy: use --policy {name}"));
        }
        if is_absent && !name.contains('/') && is_program(&name) {
            return Failure::Usage(format!("{error}; `{name}` is a program: put `--` in front of a command"));
        }
        Failure::Work(error.to_string())
    }
}

/// True if a shell would find a program of this name.
fn is_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

impl From<SimError> for Failure {
    fn from(error: SimError) -> Failure {
        match error {
            SimError::Trace(error) => Failure::from(error),
            error @ (SimError::Scheme { .. }
            | SimError::NotOfMemory { .. }
            | SimError::CutPages { .. }
            | SimError::NoMemoryTrace { .. }
            | SimError::EverySize { .. }
            | SimError::SampleRate(_)
            | SimError::NotSampled { .. }
            | SimError::SampleCountsAll
            | SimError::IsSample) => Failure::Usage(error.to_string()),
            error => Failure::Work(error.to_string()),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Unread,
            _ => Failure::Output(error),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure::from(io::Error::from(error))
    }
}

impl From<csv::Error> for Failure {
    fn from(error: csv::Error) -> Failure {
        match error.into_kind() {
            csv::ErrorKind::Io(error) => Failure::from(error),
            other => Failure::Work(format!("cannot write csv: {other:?}")),
        }
    }
}
