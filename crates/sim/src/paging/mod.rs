//! Replaying memory traces against policies that are called on faults.
//!
//! A trace is held in blocks ([`held`]): the pages that a block references, each once, and packed behind them its
//! references in order. A cell ([`cell`]) whose memory holds all pages of a block only sets their bits, since nothing
//! can fault; the references are unpacked and processed one by one only where a page is missing. So replaying costs
//! about as much as there are faults, whatever the number of references.

mod body;
mod build;
mod cell;
mod grid;
mod held;
mod objects;
mod rows;
mod table;
#[cfg(test)]
mod tests;
mod uses;

pub use build::hold;
pub use cell::{Frees, PagingTally};
pub use grid::{PagingPlan, run};
pub use held::HeldMemory;
pub use rows::BASELINE;
pub(crate) use rows::{relate_to_clock, row};
