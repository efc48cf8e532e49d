//! Reading ahead as Linux does it for files that are read in sequence.
//!
//! Each application has, for each file, a window of blocks that were read ahead. A read of the file's first block opens
//! one, and so does one that goes on where the last one ended and misses. When a reader reaches the mark in its window,
//! so that the window will last just long enough, the next one is read while it goes on: two to four times as long, up
//! to 128 KB. Any other read is taken for a random one, and nothing is read ahead for it.
//!
//! Source: on-demand read-ahead of Linux since 2.6.23, as its authors describe it (Wu, Xi, Li and Zou, Linux readahead:
//! less tricks for more, 2007), with the kernel's window of 128 KB. The paper of soft quality of service simulates with
//! Linux's read-ahead without saying more. Left out: windows found by looking for cached blocks before the missing one,
//! which need a descriptor's history or that of several readers of one file.

use hotset_core::policy::Slot;

use std::collections::HashMap;
use std::ops::Range;

/// The most that is read ahead.
const MOST_BYTES: u64 = 128 << 10;

/// All readers.
#[derive(Debug)]
pub(super) struct ReadAhead {
    /// The longest window in blocks.
    most: u32,
    streams: HashMap<(u32, u32), Stream>,
}

/// One application reading one file.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// The window that was read last: its first block and its length, 0 if there was none.
    start: u32,
    length: u32,
    /// So many blocks of the window, from its mark on, are left when the next one is read.
    left: u32,
    /// The last block of the last read.
    last: Option<u32>,
}

/// A block about to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub app: u32,
    pub file: u32,
    pub block: u32,
    /// Blocks of the same read from this one on.
    pub wanted: u32,
    pub is_present: bool,
}

impl ReadAhead {
    /// For blocks of so many bytes (4 KB if they have no size), in a cache of so many blocks, at most a quarter of
    /// which is read ahead at a time.
    pub fn new(block_bytes: Option<u64>, capacity: u32) -> ReadAhead {
        let blocks = (MOST_BYTES / block_bytes.unwrap_or(4096).max(1)).min(u64::from(capacity / 4));
        ReadAhead { most: blocks as u32, streams: HashMap::new() }
    }

    /// The window to be read now, empty if none is. It may go beyond the end of the file, and hold blocks that are
    /// present.
    pub fn look(&mut self, reading: Reading) -> Range<u32> {
        if self.most == 0 {
            return 0..0;
        }
        let stream = self.streams.entry((reading.app, reading.file)).or_default();
        let is_moved = if reading.is_present {
            stream.is_at_mark(reading.block) && stream.advance(self.most)
        } else {
            stream.miss(reading.block, reading.wanted, self.most)
        };
        if !is_moved {
            return 0..0;
        }
        stream.start..stream.start.saturating_add(stream.length)
    }

    /// A read that ended with this block is over.
    pub fn finish(&mut self, app: u32, file: u32, last: u32) {
        if self.most > 0 {
            self.streams.entry((app, file)).or_default().last = Some(last);
        }
    }
}

impl Stream {
    /// True if there is a window whose mark is at this block.
    fn is_at_mark(&self, block: u32) -> bool {
        self.length > 0 && block == self.start.saturating_add(self.length - self.left)
    }

    /// A read misses this block; true if there is a new window.
    fn miss(&mut self, block: u32, wanted: u32, most: u32) -> bool {
        let goes_on = self.length > 0 && block == self.start.saturating_add(self.length);
        if block != 0 && (goes_on || self.is_at_mark(block)) {
            self.advance(most);
        } else if block == 0 || wanted > most || self.last.is_some_and(|last| block.wrapping_sub(last) <= 1) {
            *self = Stream { start: block, length: first_length(wanted, most), ..*self };
            self.left = if self.length > wanted { self.length - wanted } else { self.length };
        } else {
            return false;
        }
        // A window that would be used up at once has the next one joined to it.
        if block == self.start && self.length == self.left {
            let more = next_length(self.length, most);
            let joined = self.length.saturating_add(more);
            (self.length, self.left) = if joined <= most { (joined, more) } else { (most, (most / 2).max(1)) };
        }
        true
    }

    /// Goes on to the next window.
    fn advance(&mut self, most: u32) -> bool {
        self.start = self.start.saturating_add(self.length);
        self.length = next_length(self.length, most);
        self.left = self.length;
        true
    }
}

/// The length of the first window of a reader that wants so many blocks.
fn first_length(wanted: u32, most: u32) -> u32 {
    let length = wanted.checked_next_power_of_two().unwrap_or(most);
    if length <= most / 32 {
        length * 4
    } else if length <= most / 4 {
        length * 2
    } else {
        most
    }
}

/// The length of the window behind one of this length.
fn next_length(length: u32, most: u32) -> u32 {
    if length < most / 16 {
        length * 4
    } else if length <= most / 2 {
        length * 2
    } else {
        most
    }
}

/// Blocks of a trace by their addresses, a file in the high half and a block's number in the low one.
pub(super) struct Files {
    slots: HashMap<u64, Slot>,
    /// By file: its length in blocks, as far as the trace shows it.
    lengths: HashMap<u32, u32>,
}

impl Files {
    /// `addresses` by slot.
    pub fn of(addresses: &[u64]) -> Files {
        let mut lengths = HashMap::new();
        for &address in addresses {
            let length = lengths.entry((address >> 32) as u32).or_insert(0);
            *length = (address as u32).saturating_add(1).max(*length);
        }
        Files { slots: addresses.iter().copied().zip(0..).collect(), lengths }
    }

    /// The length of a file in blocks: it ends with the last block that the trace refers to.
    pub fn length(&self, file: u32) -> u32 {
        self.lengths.get(&file).copied().unwrap_or(0)
    }

    /// The slot of a block that the trace refers to.
    pub fn slot(&self, address: u64) -> Option<Slot> {
        self.slots.get(&address).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads of so many blocks each; the windows that are read for them, in a cache that keeps everything that lies
    /// below `end`.
    fn windows(reads: &[(u32, u32)], end: u32) -> Vec<Range<u32>> {
        let mut ahead = ReadAhead::new(Some(4096), 1000);
        let mut present = vec![false; end as usize];
        let mut windows = Vec::new();
        for &(first, count) in reads {
            for block in first..first + count {
                let is_present = present[block as usize];
                let wanted = first + count - block;
                let window = ahead.look(Reading { app: 0, file: 0, block, wanted, is_present });
                present[block as usize] = true;
                if !window.is_empty() {
                    present[window.start.min(end) as usize..window.end.min(end) as usize].fill(true);
                    windows.push(window);
                }
            }
            ahead.finish(0, 0, first + count - 1);
        }
        windows
    }

    /// With reads of 4 KB Linux reads 4 blocks first, then 8, 16, 32, 32, each when the reader meets the mark of the
    /// window before.
    #[test]
    fn windows_grow_up_to_the_most() {
        let ones: Vec<(u32, u32)> = (0..100).map(|block| (block, 1)).collect();
        assert_eq!(windows(&ones, 200), [0..4, 4..12, 12..28, 28..60, 60..92, 92..124, 124..156]);
        let fours: Vec<(u32, u32)> = (0..10).map(|read| (read * 4, 4)).collect();
        assert_eq!(windows(&fours, 200), [0..8, 8..24, 24..56, 56..88]);
    }

    #[test]
    fn long_reads_are_read_in_windows() {
        assert_eq!(windows(&[(0, 100)], 300), [0..32, 32..64, 64..96, 96..128, 128..160]);
    }

    #[test]
    fn random_reads_read_nothing_ahead() {
        assert!(windows(&[(50, 1), (7, 1), (90, 2), (30, 1), (28, 1)], 100).is_empty());
    }

    #[test]
    fn a_reader_that_starts_in_the_middle_is_found_out_by_its_second_read() {
        assert_eq!(windows(&[(50, 1), (51, 1), (52, 1), (53, 1)], 100), [51..55, 55..63]);
    }

    #[test]
    fn small_caches_read_less_ahead_or_nothing() {
        let look = |capacity: u32| {
            let mut ahead = ReadAhead::new(Some(4096), capacity);
            ahead.look(Reading { app: 0, file: 0, block: 0, wanted: 1, is_present: false })
        };
        assert_eq!([look(3), look(8), look(32), look(128)], [0..0, 0..2, 0..2, 0..4]);
        let far = Reading { app: 0, file: 0, block: u32::MAX, wanted: u32::MAX, is_present: false };
        assert!(ReadAhead::new(None, u32::MAX).look(far).is_empty(), "there is no block behind the last");
    }
}
