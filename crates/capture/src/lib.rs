//! Capturing what real programs do: recording their I/O or their memory, and what records leave behind.
//!
//! `Recorder` runs a program and records it, on Linux alone. A log of strace that was made elsewhere is a trace like
//! any other:
//!
//! ```
//! use hotset_trace::formats::OpenOptions;
//! use hotset_trace::{Batch, open};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("log");
//! std::fs::write(&path, "7  1.000001 read(3</home/user/scene.blend>, \"\"..., 4096) = 4096\n")?;
//!
//! let mut trace = open(&path, &[hotset_capture::strace::FORMAT], &OpenOptions::default())?;
//! let mut batch = Batch::new();
//! trace.reader.read(&mut batch)?;
//! assert_eq!((trace.format, batch.requests[0].length), ("strace", 4096));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod call;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
pub mod memory;
mod model;
mod options;
#[cfg(target_os = "linux")]
pub mod record;
pub mod strace;

use hotset_trace::Format;
use hotset_trace::formats::BUILTIN;

#[cfg(target_os = "linux")]
pub use record::{RecordError, Recorder};

/// Every format of traces that hotset reads: those of `hotset_trace`, and logs of strace.
pub fn all_formats() -> Vec<Format> {
    let mut formats = BUILTIN.to_vec();
    formats.push(strace::FORMAT);
    formats
}
