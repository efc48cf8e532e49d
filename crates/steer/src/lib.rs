//! The kernel's page cache under any policy of the registry, from user space and without a patched kernel.
//!
//! The kernel reports reads and the content of its page cache (`hotset-feed`); an unchanged policy follows them; pages
//! that the policy evicts are dropped by advice to the kernel. The data does not pass through this process, so it may
//! be killed at any time: the kernel then continues without steering. Hits cost the same as without it.
//!
//! [`Steering`] decides, without a clock and without files; [`Actuator`] performs its decisions. [`Session`] runs both
//! on a feed, divides a control group's memory ([`Governor`]) and determines whether steering pays, by a model of the
//! kernel ([`Judge`]) or by measuring phases with and without ([`Proven`]).

mod control;
mod decide;
mod error;
mod file_set;
mod kernel;
mod proof;

pub use control::governor::{Division, Governor};
pub use control::session::{Over, Report, Residency, Session, Settings, When, check, pages_per_stamp};
pub use decide::marks::{Naming, tells_applications};
pub use decide::steering::{ATTEMPTS, AppCounts, PROTECTED, SteerCounts, Steering, Telling};
pub use error::SteerError;
pub use file_set::files::MOST as MOST_FILES;
pub use file_set::ground::{Changes, Directories, Found, Ground};
pub use kernel::PAGE;
pub use kernel::actuate::{Actuator, Advice, resident_bytes};
pub use kernel::cached::{CachedFile, CachedFiles, CachedPages, cached_files};
pub use kernel::cgroup::{Cgroup, Hierarchy, Made, Reading};
pub use kernel::fetcher::serve_fetches;
pub use kernel::pressure::Pressure;
pub use proof::judge::{BEGIN, Judge, Misses, State, WAITING};
pub use proof::{Gain, Phase, Proven, SHORTEST, TURNS, Verdict, paired};
