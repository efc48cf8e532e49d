//! Capturing the I/O of real programs: recording, and what records leave behind.

pub mod record;
pub mod strace;

pub use record::{RecordError, Recorder};
