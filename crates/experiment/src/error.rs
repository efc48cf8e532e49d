//! Why an experiment does not run.

use std::path::PathBuf;

use hotset_core::spec::SpecError;
use hotset_sim::SimError;
use thiserror::Error;

/// Why an experiment does not run.
#[derive(Debug, Error)]
pub enum Error {
    /// Its file makes no sense: a sentence that begins with the place.
    #[error("{0}")]
    File(String),
    /// Something that a cluster does not replay.
    #[error("{} has {what}, which one machine replays", file.display())]
    OneMachine {
        /// The file of the experiment.
        file: PathBuf,
        /// The part that the cluster does not replay.
        what: &'static str,
    },
    /// A trace cannot be replayed as the file says.
    #[error(transparent)]
    Replay(SimError),
}

impl Error {
    /// An error of a replay at these sizes.
    pub(crate) fn of_replay(error: SimError, sizes: &str) -> Error {
        match error {
            SimError::Sizes(error) => Error::of_sizes(&error, sizes),
            error => Error::Replay(error),
        }
    }

    fn of_sizes(error: &SpecError, sizes: &str) -> Error {
        Error::File(format!("sizes: {}", error.render(sizes)))
    }
}
