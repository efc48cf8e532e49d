//! Capturing what real programs do: recording their I/O or their memory, and what records leave behind.

pub mod memory;
pub mod record;
pub mod strace;

pub use record::{RecordError, Recorder};
