//! The live cache: the policies that the simulator runs, on real I/O. It knows no file system: `hotset-mount` serves a
//! directory through it, and any other program may read and write [sources](source::Source) through it.
//!
//! [`Cache`] keeps blocks of files in frames of a fixed arena. What stays and what leaves is decided by a policy of the
//! registry, one reference after the other under one lock, so that a recording of the references, replayed by the
//! simulator, gives the same hits and misses. Reading and writing storage happens outside of that lock.

mod applications;
mod arena;
mod block_index;
mod buffer;
mod cache;
mod counts;
mod decider;
mod division;
mod error;
mod files;
mod in_flight;
pub mod machine;
mod read;
mod read_ahead;
mod recording;
mod runs;
mod shared;
pub mod source;
mod state;
mod status;
mod stream;
mod sync;
mod transfers;
pub mod workers;
mod write;

pub use cache::{Cache, Settings};
pub use counts::{Counts, Traffic};
pub use error::CacheError;
pub use files::FileNumber;
pub use in_flight::Share;
pub use read::{Missing, Read};
pub use read_ahead::BUDGET;
pub use recording::Recording;
pub use state::Access;
pub use status::{Named, Part, Status};
pub use stream::Stream;
