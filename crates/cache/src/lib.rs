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

mod arena;
mod counts;
mod decide;
mod error;
mod file_cache;
mod os;
mod read_ahead;
pub mod source;
mod tier;
mod transfer;
mod values;

pub use counts::latency::{Latencies, Times, Timing};
pub use counts::metadata::{About, Answers, Gauge, Kept, Metadata, MetadataCounts};
pub use counts::{Counts, Traffic};
pub use decide::schedule::{OrderProgress, Upcoming};
pub use error::CacheError;
pub use file_cache::read::{Missing, Read};
pub use file_cache::read_ahead::BUDGET;
pub use file_cache::recording::Recording;
pub use file_cache::state::Access;
pub use file_cache::status::{Named, Part, Status};
pub use file_cache::write_back::{AtRisk, Unsaved};
pub use file_cache::{FileCache, Learnt, Settings};
pub use os::machine;
pub use read_ahead::stream::Stream;
pub use source::files::FileNumber;
pub use tier::{Admit, Levels, Tier, TierError, TierSettings, TierStatus};
pub use transfer::in_flight::Share;
pub use transfer::workers;
pub use values::Cache;
