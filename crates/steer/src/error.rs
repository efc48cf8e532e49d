//! What may go wrong, as sentences.

use hotset_core::setting::SettingName;
use std::io;
use std::path::PathBuf;

use hotset_core::host::Refusal;
use hotset_core::spec::Value;

/// Why steering cannot begin, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SteerError {
    /// The policy cannot run on requests as they come.
    #[error(transparent)]
    Policy(#[from] Refusal),
    /// The policy has parts with blocks of their own, or keeps inodes.
    #[error(
        "{policy} cuts files into blocks of another size for each part and keeps inodes, which the page cache does not hold: choose another policy, such as render or auto"
    )]
    Parts {
        /// The spec.
        policy: String,
    },
    /// The policy distinguishes applications, and the feed does not name them.
    #[error("{policy} treats applications apart, which a feed by stamps does not tell: listen to every read instead")]
    Applications {
        /// The spec.
        policy: String,
    },
    /// The policy treats writes apart.
    #[error("{policy} treats writes apart, which the kernel's events do not tell: choose another policy")]
    Writes {
        /// The spec.
        policy: String,
    },
    /// The policy reads what was measured before.
    #[error("{policy} goes by a profile, which is read by mounts and simulations only: give profile=none")]
    Profile {
        /// The spec.
        policy: String,
    },
    /// Blocks of this size cannot be steered.
    #[error("a block of {} is not possible here: expected a power of two from 4K to 2M", Value::Size(*.0))]
    Block(u64),
    /// No block is left for the policy.
    #[error(
        "{} of memory hold no {least} blocks of {}: give more memory, or smaller blocks with {}",
        Value::Size(*.memory), Value::Size(*.block), SettingName("block")
    )]
    TooSmall {
        /// Bytes for the policy.
        memory: u64,
        /// Bytes of a block.
        block: u64,
        /// Blocks that there must be.
        least: u32,
    },
    /// Nothing bounds the memory.
    #[error("{cgroup} has no limit of memory: say with {memory} how much its files may take", memory = SettingName("memory"))]
    Unlimited {
        /// The control group.
        cgroup: PathBuf,
    },
    /// The path is not a control group with a memory controller.
    #[error("{cgroup} is not a control group with a controller of memory: expected the path of one, as in {example}")]
    NoCgroup {
        /// The given path.
        cgroup: PathBuf,
        /// What would be one.
        example: String,
    },
    /// Too many files.
    #[error("{directory} and what else was given hold more than {most} files: name directories with fewer")]
    TooMany {
        /// Where the walk has stopped.
        directory: PathBuf,
        /// The bound.
        most: usize,
    },
    /// The kernel's events do not name the files of this file system as they are found.
    #[error("nothing can be steered in {directory}: {why}")]
    Unheard {
        /// The given directory.
        directory: PathBuf,
        /// The kind of its file system, and what to do.
        why: &'static str,
    },
    /// The feed has failed.
    #[error(transparent)]
    Feed(#[from] hotset_feed::Error),
    /// A call of the system failed.
    #[error("cannot {what}: {error}")]
    Io {
        /// The operation and its object.
        what: String,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
}

/// Gives an error of the system its place.
pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> SteerError {
    let what = what.into();
    move |error| SteerError::Io { what, error }
}
