//! One simulation host, and the driver that runs windows of references over it. The other driver is the clock.

mod cell;
mod count;
mod directory;
mod host;
mod plan;
mod tally;

pub(crate) use cell::{Cell, PolicyCell};
pub(crate) use count::Count;
pub(crate) use directory::{Dense, Directory, Hashed};
pub(crate) use host::{Counting, Host, Watch};
pub use plan::Plan;
pub(crate) use plan::{Trace, check};
pub(crate) use tally::ClassFacts;
pub use tally::{ClassTally, ExtraTally, Repeats, Tally};
