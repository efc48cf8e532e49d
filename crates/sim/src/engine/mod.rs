//! One simulation host, and the driver that runs windows of references over it. The other driver is the clock.

mod capacity;
mod cell;
mod count;
mod depths;
mod directory;
mod host;
mod lru_sizes;
mod one_pass;
mod plan;
mod tally;
mod timed;

pub(crate) use capacity::Bytes;
pub(crate) use cell::{Cell, PolicyCell};
pub(crate) use count::Count;
pub(crate) use depths::{DepthsCell, WORTHWHILE as WORTH_DEPTHS};
pub(crate) use directory::{Dense, Directory, Hashed};
pub(crate) use host::{Counting, Host, Watch};
pub(crate) use one_pass::OnePassCell;
pub use plan::Plan;
pub(crate) use plan::{Trace, cells_of, check, check_in_bytes};
pub use tally::{ByteTally, ClassTally, Ended, ExtraTally, Repeats, Tally};
pub(crate) use tally::{ClassFacts, Transfers};
pub(crate) use timed::Timed;
