//! Traces: reading every known format, the native `.hst` format, and what is shared between them.
//!
//! ```
//! use hotset_trace::formats::{BUILTIN, OpenOptions};
//! use hotset_trace::{Batch, open};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("app.csv");
//! std::fs::write(&path, "time_s,file,offset,bytes,op\n0.0,/a,0,4096,R\n0.5,/b,8192,100,W\n")?;
//!
//! let mut trace = open(&path, &BUILTIN, &OpenOptions::default())?;
//! let mut batch = Batch::new();
//! trace.reader.read(&mut batch)?;
//! assert_eq!(trace.format, "csv");
//! assert_eq!((batch.requests[1].offset, batch.requests[1].length), (8192, 100));
//! assert_eq!(trace.reader.tables().files[1].path, "/b");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod batch;
pub mod error;
pub mod formats;
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
pub use meta::{Addressing, BLOCK_BYTES, Meta};
pub use reader::TraceReader;
pub use tables::{FileInfo, Tables};
