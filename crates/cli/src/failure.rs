//! Errors as the user sees them: a sentence on standard error, and an exit status.

use std::io;
use std::process::ExitCode;

use hotset_core::spec::SpecError;
use hotset_sim::SimError;
use hotset_trace::TraceError;

/// Why the command stops.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The work could not be done: exit status 1.
    Work(String),
    /// The command line makes no sense: exit status 2.
    Usage(String),
    /// Nobody reads the output any more: nothing to say, and no failure of ours.
    Unread,
    /// A recorded program ended with this status, which becomes ours.
    Status(u8),
}

impl Failure {
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

    /// What came of showing something. Nobody reading it is no reason to stop where files are still to be written.
    pub(crate) fn shown(shown: Result<(), Failure>, has_files: bool) -> Result<(), Failure> {
        match shown {
            Err(Failure::Unread) if has_files => Ok(()),
            shown => shown,
        }
    }

    /// Says it.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Failure::Work(message) => {
                eprintln!("hotset: {message}");
                ExitCode::from(1)
            }
            Failure::Usage(message) => {
                eprintln!("hotset: {message}");
                ExitCode::from(2)
            }
            Failure::Unread => ExitCode::SUCCESS,
            Failure::Status(status) => ExitCode::from(*status),
        }
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Failure {
        Failure::Work(error.to_string())
    }
}

impl From<SimError> for Failure {
    fn from(error: SimError) -> Failure {
        match error {
            error @ (SimError::Scheme { .. }
            | SimError::NotOfMemory { .. }
            | SimError::CutPages { .. }
            | SimError::NoMemoryTrace { .. }
            | SimError::EverySize { .. }
            | SimError::SampleRate(_)
            | SimError::NotSampled { .. }
            | SimError::SampleCountsAll) => Failure::Usage(error.to_string()),
            error => Failure::Work(error.to_string()),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Unread,
            _ => Failure::Work(format!("cannot write the output: {error}")),
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
