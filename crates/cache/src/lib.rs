//! The policies that the simulator runs, in a program of your own: for its values, or for files that it reads and
//! writes.
//!
//! [`Cache`] keeps values by keys, under any policy that `hotset policies` lists and that needs to know nothing of
//! files or the future:
//!
//! ```
//! let mut cache = hotset_cache::Cache::new("lirs", 1000)?;
//! cache.insert("key", "value");
//! assert_eq!(cache.get("key"), Some(&"value"));
//! assert_eq!(cache.remove("key"), Some("value"));
//! cache.resize(500)?;
//! # Ok::<(), hotset_cache::CacheError>(())
//! ```
//!
//! [`FileCache`] keeps blocks of files in frames of a fixed arena. What stays and what leaves is decided by a policy
//! of the registry, one reference after the other under one lock, so that a recording of the references, replayed by
//! the simulator, gives the same hits and misses. Reading and writing storage happens outside of that lock. It knows no
//! file system: `hotset-mount` serves a directory through it, and any other program may read and write
//! [sources](source::Source) through it.

mod applications;
mod arena;
mod background;
mod block_index;
mod buffer;
mod busy;
mod cache;
mod counts;
mod decider;
mod division;
mod error;
mod files;
mod frames;
mod in_flight;
mod key_index;
mod latency;
mod leaving;
pub mod machine;
mod metadata;
mod objects;
mod pace;
mod read;
mod read_ahead;
mod recording;
mod runs;
mod shared;
pub mod source;
mod state;
mod status;
mod stream;
mod stride;
mod sync;
mod system;
mod tier;
mod transfers;
mod unwritten;
pub mod workers;
mod write;
mod write_back;

pub use cache::{FileCache, Learnt, Settings};
pub use counts::{Counts, Traffic};
pub use error::CacheError;
pub use files::FileNumber;
pub use in_flight::Share;
pub use latency::{Latencies, Times, Timing};
pub use metadata::{About, Answers, Gauge, Kept, Metadata, MetadataCounts};
pub use objects::Cache;
pub use read::{Missing, Read};
pub use read_ahead::BUDGET;
pub use recording::Recording;
pub use state::Access;
pub use status::{Named, Part, Status};
pub use stream::Stream;
pub use tier::{Admit, Levels, Tier, TierError, TierSettings, TierStatus};
pub use write_back::{AtRisk, Unsaved};
