//! Memory that the kernel's side writes as well: arrays of 64-bit words.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::slice;
use std::sync::atomic::AtomicU64;

use memmap2::{MmapOptions, MmapRaw};

/// An array of BPF whose memory this process shares.
#[derive(Debug)]
pub struct Words {
    memory: MmapRaw,
    words: usize,
}

impl Words {
    /// Shares the first `words` words of the array `map`.
    ///
    /// # Errors
    ///
    /// The kernel refuses, as when the array has fewer.
    pub fn of(map: BorrowedFd, words: usize) -> io::Result<Words> {
        let memory = MmapOptions::new().len(words * size_of::<AtomicU64>()).map_raw(map.as_raw_fd())?;
        Ok(Words { memory, words })
    }

    /// The words.
    pub fn all(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds this many bytes as long as `self` lives, is aligned to a page, and all
        // writers, the kernel included, write whole words.
        unsafe { slice::from_raw_parts(self.memory.as_ptr().cast(), self.words) }
    }
}
