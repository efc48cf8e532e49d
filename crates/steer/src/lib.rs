//! The kernel's page cache under any policy of the registry, from user space and without a patched kernel.
//!
//! Idea: the kernel tells what is read and what its page cache holds (`hotset-feed`); an unchanged policy follows it;
//! what the policy lets go is dropped by advice to the kernel. No byte passes through this process, so that it may be
//! killed at any time: what stays behind is a plain kernel. Reads that hit cost what they cost in the page cache.
//!
//! [`Steering`] decides, with no clock and no file of its own; [`Actuator`] is what it acts on. [`Session`] runs both
//! on a feed, divides a control group's memory ([`Governor`]) and finds out whether it pays, by a model of the kernel
//! ([`Judge`]) or by measuring phases with and without ([`Proven`]).

mod actuate;
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
pub use cgroup::{Group, Hierarchy, Made};
pub use error::SteerError;
pub use fetcher::serve_fetches;
pub use files::MOST as MOST_FILES;
pub use governor::{Division, Governor, Reading};
pub use ground::{Changes, Directories, Found, Ground};
pub use judge::{BEGIN, Judge, Misses, State, WAITING};
pub use marks::{Naming, tells_applications};
pub use proof::{Gain, Phase, Proven, SHORTEST, TURNS, Verdict, paired};
pub use session::{Over, Report, Residency, Session, Settings, When, check, pages_per_stamp};
pub use steering::{ATTEMPTS, AppCounts, Counts, PAGE, PROTECTED, Steering, Telling};
