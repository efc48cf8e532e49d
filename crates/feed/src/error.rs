//! What may go wrong, as sentences.

use crate::Kind;

/// Why a feed cannot be had, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This machine does not offer a feed of this kind.
    #[error("no feed by {kind} here: {why}")]
    Unavailable {
        /// The kind that was asked for.
        kind: Kind,
        /// The missing requirement, and how to meet it.
        why: String,
    },
    /// This machine does not offer a look at system calls.
    #[error("system calls cannot be recorded by BPF here: {why}")]
    NoCalls {
        /// The missing requirement, and how to meet it.
        why: String,
    },
    /// A call of the system failed.
    #[error("cannot {what}: {error}")]
    Io {
        /// The attempted operation, and its place.
        what: String,
        /// The system's error.
        #[source]
        error: std::io::Error,
    },
}

/// What may fail.
pub type Result<T> = std::result::Result<T, Error>;
