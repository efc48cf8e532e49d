//! The simulator: traces become references, references are replayed against policies at many sizes, and everything is
//! counted.

mod bits;
mod cell;
pub mod curve;
mod directory;
mod error;
mod expand;
pub mod future;
pub mod grid;
pub mod inspect;
mod intern;
pub mod machine;
mod maps;
pub mod paging;
mod prepare;
mod profile;
mod progress;
mod references;
pub mod results;
mod scan;
pub mod select;
mod view;
mod window;

pub use cell::{ClassTally, ExtraTally, Repeats, Tally};
pub use error::SimError;
pub use expand::BlockSize;
pub use hotset_core::counters::Counters;
pub use intern::{Interner, TooManyBlocks};
pub use maps::Maps;
pub use prepare::{Options, Prepared, Stream, prepare};
pub use progress::{Progress, Silent};
pub use references::References;
pub use scan::scan;
