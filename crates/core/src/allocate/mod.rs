//! The sizes of the parts of a cache: pure functions from the known facts of the parts to their sizes, one file an
//! allocator.
//!
//! They know nothing of policies, slots or clocks, so that a simulated cache and a live one decide by the same code.

pub mod curve;
pub mod equal;
pub mod exact;
pub mod fragments;
pub mod lookahead;
pub mod moves;
pub mod shares;
pub mod targets;
