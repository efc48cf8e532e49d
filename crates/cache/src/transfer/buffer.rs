//! Memory for what a read of the source brings.

use std::io;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// Bytes that a buffer has at least to be mapped.
const LARGE: usize = (1 << 20) + 1;

/// Bytes that a read has returned. Large ones are mapped, so that the system gets the memory back as soon as they are
/// dropped; an allocator would keep it. A large buffer takes no memory before it is written.
pub(crate) enum Buffer {
    Allocated(Vec<u8>),
    /// The first so many bytes of a mapping.
    Mapped(MmapMut, usize),
}

impl Buffer {
    /// Zeroes.
    pub fn new(length: usize) -> io::Result<Buffer> {
        if length >= LARGE {
            return Ok(Buffer::Mapped(MmapMut::map_anon(length)?, length));
        }
        Ok(Buffer::Allocated(vec![0; length]))
    }

    pub fn truncate(&mut self, length: usize) {
        match self {
            Buffer::Allocated(bytes) => bytes.truncate(length),
            Buffer::Mapped(_, known) => *known = length.min(*known),
        }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Buffer::Allocated(bytes) => bytes,
            Buffer::Mapped(memory, length) => &memory[..*length],
        }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Buffer::Allocated(bytes) => bytes,
            Buffer::Mapped(memory, length) => &mut memory[..*length],
        }
    }
}
