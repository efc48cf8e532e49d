//! Traces: reading every known format, the native `.hst` format, and what is shared between them.

pub mod batch;
pub mod error;
pub mod formats;
pub mod fuzzing;
pub mod generate;
pub mod held;
pub mod input;
pub mod memory;
pub mod meta;
pub mod mix;
pub mod native;
pub mod profile;
pub mod reader;
pub mod runner;
pub mod tables;

pub use batch::{Batch, UNKNOWN_SIZE};
pub use error::TraceError;
pub use formats::{Format, OpenOptions, Trace, open};
pub use held::Held;
pub use meta::{Addressing, Meta};
pub use reader::TraceReader;
pub use tables::{FileInfo, Tables};
