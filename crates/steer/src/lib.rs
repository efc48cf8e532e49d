//! The kernel's page cache under any policy of the registry, from user space and without a patched kernel.
//!
//! The kernel reports reads and the content of its page cache (`hotset-feed`); an unchanged policy follows them; pages
//! that the policy evicts are dropped by advice to the kernel. The data does not pass through this process, so it may
//! be killed at any time: the kernel then continues without steering. Hits cost the same as without it.
//!
//! [`Steering`] decides, without a clock and without files; [`Actuator`] performs its decisions. [`Session`] runs both
//! on a feed, divides a control group's memory ([`Governor`]) and determines whether steering pays, by a model of the
//! kernel ([`Judge`]) or by measuring phases with and without ([`Proven`]).

mod actuate;
mod cached;
mod cgroup;
mod error;
mod fetcher;
mod files;
mod follower;
mod governor;
mod ground;
mod judge;
mod mapped;
mod marks;
mod mirror;
mod pending;
mod pressure;
mod proof;
mod session;
mod steering;

pub use actuate::{Actuator, Advice, resident_bytes};
pub use cached::{CachedFile, CachedFiles, CachedPages, cached_files};
pub use cgroup::{Cgroup, Hierarchy, Made};
pub use error::SteerError;
pub use fetcher::serve_fetches;
pub use files::MOST as MOST_FILES;
pub use governor::{Division, Governor, Reading};
pub use ground::{Changes, Directories, Found, Ground};
pub use judge::{BEGIN, Judge, Misses, State, WAITING};
pub use marks::{Naming, tells_applications};
pub use pressure::Pressure;
pub use proof::{Gain, Phase, Proven, SHORTEST, TURNS, Verdict, paired};
pub use session::{Over, Report, Residency, Session, Settings, When, check, pages_per_stamp};
pub use steering::{ATTEMPTS, AppCounts, PAGE, PROTECTED, SteerCounts, Steering, Telling};
