//! One simulation host, and the driver that runs windows of references over it. The other driver is the clock.

mod capacity;
mod cell;
mod clocked;
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
pub use clocked::{AppTimes, BANDS, ClockOptions, Every, Heat, IntervalSample, Point, Times};
pub(crate) use count::Count;
pub(crate) use depths::{DepthsCell, WORTHWHILE as WORTH_DEPTHS};
pub(crate) use directory::{Dense, Directory, Hashed};
pub(crate) use host::{Counting, Host, Watch};
pub(crate) use one_pass::OnePassCell;
pub use plan::Plan;
pub(crate) use plan::{cells_of, check, check_in_bytes};
pub(crate) use tally::Transfers;
pub use tally::{ByteTally, ClassTally, Ended, ExtraTally, Tally};
pub(crate) use timed::Timed;
