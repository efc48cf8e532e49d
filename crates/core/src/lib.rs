//! The cache decisions of hotset: what a request is, which policies exist, how they are named and configured.
//!
//! No files, no clock, no threads: state in, decision out. The simulator and the live cache host the same code.

pub mod allocate;
pub mod classify;
pub mod counters;
pub mod families;
pub mod fuzzing;
pub mod parts;
pub mod policies;
pub mod policy;
pub mod registry;
pub mod request;
pub mod schemes;
pub mod spec;
pub mod view;
