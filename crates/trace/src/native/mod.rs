//! The native `.hst` format: compact, checked, seekable, readable from a pipe and after an interruption.
//!
//! `docs/reference/format-hst.md` describes every byte. A file is a prelude and sections ([`section`]); requests are in
//! blocks ([`block`]) of columns ([`column`]), names in table sections ([`names`]), a trace of memory in separate
//! sections ([`memory`]). [`Writer`] never goes back, [`Reader`] reads any `Read` and seeks where it can.

mod block;
pub(crate) mod bytes;
mod column;
mod damage;
mod header;
mod index;
mod memory;
mod memory_reader;
mod memory_writer;
mod names;
mod prelude;
mod reader;
mod section;
mod stats;
#[cfg(test)]
mod tests;
mod writer;

pub use header::Header;
pub use memory_writer::MemoryWriter;
pub(crate) use prelude::MAGIC;
pub use reader::Reader;
pub use stats::Stats;
pub use writer::Writer;

/// The name of the format.
pub(crate) const NAME: &str = "hst";

/// Requests in a block, at most. A block is what an interruption loses, what a seek lands on and what is compressed at
/// once.
pub const BLOCK_REQUESTS: usize = 64 * 1024;

/// The problem of some bytes, as a sentence without its place.
type Fault = String;

/// Gives a file that was damaged on purpose the checksums that fit it, so that tests and fuzzers reach what lies behind
/// them.
#[doc(hidden)]
pub fn reseal(file: &mut [u8]) {
    prelude::reseal(file);
    section::reseal(file, prelude::BYTES);
}
