//! Errors of building or changing a live cache.

use hotset_core::host::Refusal;
use hotset_core::spec::{SpecError, Value};
use hotset_trace::TraceError;

use crate::os::machine::Memory;

/// An error of the live cache, as a sentence. Errors of single reads and writes are those of the operating system.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The policy cannot run on requests as they come.
    #[error(transparent)]
    Policy(#[from] Refusal),
    /// Blocks of this size cannot be kept in frames.
    #[error("a block of {} is not possible here: expected a power of two from 512B to 16M", Value::Size(*.0))]
    Block(u64),
    /// The memory is smaller than one block.
    #[error("{} of memory do not hold one block of {}: give more memory", Value::Size(*.memory), Value::Size(*.block))]
    TooSmall {
        /// Bytes of memory.
        memory: u64,
        /// Bytes of a block.
        block: u64,
    },
    /// More blocks than 32 bits can number.
    #[error("{} of memory are more than 2 billion blocks of {}: choose larger blocks", Value::Size(*.memory), Value::Size(*.block))]
    TooLarge {
        /// Bytes of memory.
        memory: u64,
        /// Bytes of a block.
        block: u64,
    },
    /// More than the machine, or its control group, has.
    #[error(
        "{} of memory, with tables of {}, are more than there is: {there}; give less memory, or with smaller tables: larger blocks",
        Value::Size(*.memory), Value::Size(*.tables)
    )]
    NoMemory {
        /// Bytes that were asked for.
        memory: u64,
        /// Bytes of the tables that go with them, about.
        tables: u64,
        /// What there is.
        there: Memory,
    },
    /// The operating system does not give the memory.
    #[error("cannot get {} of memory for the frames: {source}", Value::Size(*.bytes))]
    Memory {
        /// Bytes that were asked for.
        bytes: u64,
        /// Its error.
        source: std::io::Error,
    },
    /// A mistake of ours.
    #[error(
        "the cache is out of use since a thread has panicked, which is a mistake in hotset: the source is served without it; mount again to have one"
    )]
    Broken,
    /// There is a second level below memory, and blocks of this scheme cannot go there.
    #[error(
        "{0} cuts or classifies blocks in its own way, and an SSD tier keeps blocks of one size: choose another scheme, or mount without the tier"
    )]
    Tier(String),
    /// An order of files was announced, and this scheme cannot follow it.
    #[error(
        "{0} cuts or classifies blocks in its own way, and an announced order needs blocks of one size: choose another scheme"
    )]
    Order(String),
    /// An order of files cannot be announced to a cache that records.
    #[error(
        "the cache records its requests, and a replay would not know the announced order: mount without the recording"
    )]
    OrderRecorded,
    /// The recording cannot be written.
    #[error(transparent)]
    Recording(#[from] TraceError),
}

impl From<SpecError> for CacheError {
    fn from(error: SpecError) -> CacheError {
        CacheError::Policy(Refusal::Spec(error))
    }
}
