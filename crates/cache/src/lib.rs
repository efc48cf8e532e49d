//! A cache of files under any policy of the registry, for programs that read and write them.
//!
//! [`FileCache`] keeps blocks of files in frames of a fixed arena. What stays and what leaves is decided by a policy
//! of the registry, one reference after the other under one lock, so that a recording of the references, replayed by
//! the simulator, gives the same hits and misses. Reading and writing storage happens outside of that lock. It knows no
//! file system: `hotset-mount` serves a directory through it, and any other program may read and write
//! [sources](source::Source) through it:
//!
//! ```
//! use std::fs::File;
//! use std::sync::Arc;
//!
//! use hotset_cache::source::Source;
//! use hotset_cache::{Access, FileCache, Settings};
//! use hotset_core::policy::PolicySpec;
//! use hotset_core::request::Kind;
//!
//! let policy = PolicySpec::parse("lirs")?;
//! let settings = Settings { policy, memory: 1 << 20, block: 4096, rules: None, seed: 1, store: None };
//! let cache = FileCache::new(&settings, None)?;
//!
//! let source: Arc<dyn Source> = Arc::new(File::open("Cargo.toml")?);
//! let file = cache.file("Cargo.toml", Kind::Unknown);
//! cache.opened(file, source.as_ref())?;
//! let access = Access { file, app: cache.app("example"), source: &source, stream: None, executes: false };
//! assert_eq!(cache.read(&access, 0, 9)?, b"[package]");
//! assert_eq!(cache.read(&access, 1, 7)?, b"package");
//! let (counts, traffic) = cache.counts();
//! assert_eq!((counts.total.hits, counts.total.references, traffic.reads), (1, 2, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
