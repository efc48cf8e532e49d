//! The system calls, by what they work on.

mod data;
mod descriptors;
mod names;
pub(super) mod processes;
