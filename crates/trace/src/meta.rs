//! Facts of a trace that are known before it is read.

use hotset_core::view::BlockSize;

/// Bytes of a block where neither the trace nor the user says otherwise.
pub const BLOCK_BYTES: u32 = 4096;

/// What `Request::offset` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressing {
    /// A byte offset in a file or on a device; `length` is bytes. Blocks are cut from the range.
    Bytes {
        /// The trace's own block size, when it has one (`arc`: 512); the default of the setting `block`.
        unit: Option<u32>,
    },
    /// An object's id; `length` is the object's size, 0 if unknown. An object is one block unless the setting
    /// `block` gives a size.
    Objects,
}

/// Facts of a trace that are known before it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    /// Format name as in `hotset formats`.
    pub format: &'static str,
    /// What offsets mean.
    pub addressing: Addressing,
    /// True if requests carry times.
    pub has_time: bool,
    /// True if reads and writes are distinguished; otherwise everything counts as a read.
    pub has_ops: bool,
    /// The share of the objects or blocks of a larger trace that this one has, if it is a sample (the setting
    /// `sample` of `hotset import`). Above 0 and below 1.
    pub sample: Option<f64>,
}

impl Meta {
    /// The default size of blocks: the trace's unit, 4096 bytes without one, whole objects for ids.
    pub fn block_size(&self) -> BlockSize {
        match self.addressing {
            Addressing::Objects => BlockSize::Object,
            Addressing::Bytes { unit } => BlockSize::Bytes(u64::from(unit.unwrap_or(BLOCK_BYTES))),
        }
    }
}
