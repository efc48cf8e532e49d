//! How much room each part of a cache gets: pure functions from what is known of the parts to their sizes, one file an
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
