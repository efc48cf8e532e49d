//! Errors of building, changing and filling a cache, as sentences.

use hotset_core::host::Refusal;
use hotset_core::setting::SettingName;
use hotset_core::spec::SpecError;

/// An error of building or changing a cache.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The policy cannot run on requests as they arrive.
    #[error(transparent)]
    Policy(#[from] Refusal),
    /// The policy distinguishes kinds of files.
    #[error("{policy} treats kinds of files apart, which values do not have; choose another policy")]
    Kinds {
        /// The spec.
        policy: String,
    },
    /// A cache of this many values is not possible.
    #[error("a cache of {0} values is not possible; expected 1 to 2147483648, and at least one a shard")]
    Capacity(u64),
    /// The policy would track too many keys.
    #[error("{policy} would track up to {keys} keys at once, of {most} at most; expected a smaller capacity")]
    Keys {
        /// The spec.
        policy: String,
        /// Its keys, ghosts included.
        keys: u64,
        /// The maximum.
        most: u64,
    },
    /// A policy that weighs values cannot express this capacity.
    #[error("{0} is not possible after the capacity that the cache was built with; build another cache")]
    Weight(u64),
    /// The number of shards is not possible.
    #[error("{}: {shards} is not possible; expected a power of two up to 1024", SettingName("shards"))]
    Shards {
        /// The number.
        shards: usize,
    },
    /// Pinned values leave too little for the policy.
    #[error("the pinned values would leave no space for others; unpin a value, or give the cache more capacity")]
    Pinned,
    /// A closure called the cache that was calling it.
    #[error("a closure called the cache that ran it under a lock, and these calls did nothing; call it afterwards")]
    Reentrant,
    /// The cache keeps no sample of its references.
    #[error("the cache keeps no sample of its references; set {} when building it", SettingName("sampled"))]
    NotSampled,
    /// The sample is too small.
    #[error("the sample has {found} references; ask again when it has {expected}")]
    FewSamples {
        /// Its references.
        found: usize,
        /// References that an estimate needs.
        expected: usize,
    },
    /// The recording cannot be written.
    #[cfg(feature = "record")]
    #[error(transparent)]
    Recording(#[from] hotset_trace::TraceError),
}

impl From<SpecError> for SetupError {
    fn from(error: SpecError) -> SetupError {
        SetupError::Policy(Refusal::Spec(error))
    }
}

/// An error of loading a value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError<E> {
    /// The loader has failed.
    #[error("{0}")]
    Failed(E),
    /// The loader waits, perhaps through other loaders, for the value that it is loading.
    #[error("the loader of a key waits for the value of the same key; load another key there")]
    Reentrant,
}
