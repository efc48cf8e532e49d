//! The simulator: traces become references, references are replayed against policies at many sizes, and everything is
//! counted.
//!
//! [`sweep`] is the front door, [`curve::Curves`] draws hit ratios at every size, [`inspect`] tells what is in a trace.
//!
//! ```
//! use hotset_sim::sweep::Sweep;
//! use hotset_sim::Silent;
//! use hotset_trace::formats::{BUILTIN, OpenOptions};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("loop.csv");
//! let lines: String = (0..400).map(|at| format!("{},4096\n", at % 100 * 4096)).collect();
//! std::fs::write(&path, format!("offset,size\n{lines}"))?;
//!
//! let sweep = Sweep::parse("lru,lirs,opt", "50%,100%")?;
//! let open = || hotset_trace::open(&path, &BUILTIN, &OpenOptions::default());
//! let rows = sweep.run("loop.csv", open, &Silent)?.rows;
//!
//! assert_eq!((rows[0].policy.as_str(), rows[0].size_blocks, rows[0].counts.hits), ("lru", 50, 0));
//! assert_eq!((rows[5].policy.as_str(), rows[5].size_blocks, rows[5].counts.hits), ("opt", 100, 300));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod advise;
mod bits;
pub mod clock;
pub mod curve;
mod engine;
mod error;
mod expand;
mod facts;
pub mod grid;
pub mod inspect;
mod intern;
pub mod paging;
mod progress;
mod recency;
mod references;
pub mod select;
pub mod sweep;
mod window;

pub use curve::sampled::{Sampled, Whole};
pub use engine::{ByteTally, ClassTally, ExtraTally, Tally};
pub use error::SimError;
pub use expand::expire::{Expiring, Ttl};
pub use expand::options::{Deletes, Options};
pub use expand::scan::{Scanned, scan};
pub use hotset_core::counters::Counters;
pub use hotset_core::view::BlockSize;
pub use hotset_core::view::Maps;
pub use intern::{Interner, TooManyBlocks};
pub use progress::{Observer, Progress, Silent, Watch};
pub use references::References;
pub use references::future;
pub use references::prepare::{Prepared, Stream, prepare};
pub use select::last_sizes::Completed;
pub use window::Repeats;
