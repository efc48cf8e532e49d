//! Reads of the source that are under way, and the threads that wait for them.

pub(crate) mod buffer;
pub(crate) mod busy;
pub(crate) mod in_flight;
pub(crate) mod transfers;
pub mod workers;
