//! Which requests refer to data, which blocks they touch, and what a deleted or truncated file loses. All views use
//! it, including the plain one.

use serde::{Deserialize, Serialize};

use crate::request::{FLAG_TOUCHED, Op, Request};
use crate::spec::Value;

/// How a trace is cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSize {
    /// Blocks of this many bytes.
    Bytes(u64),
    /// Every object is one block, whatever its size.
    Object,
}

impl BlockSize {
    /// Reads bytes (`4096`, `4K`) or `object`.
    pub fn parse(text: &str) -> Result<BlockSize, String> {
        if text == "object" {
            return Ok(BlockSize::Object);
        }
        let bytes = Value::bytes(text)
            .map_err(|_| format!("{text:?} is not a block size: expected bytes (4096, 4K, 1M) or `object`"))?;
        BlockSize::of_bytes(bytes)
    }

    /// Returns a block size of this many bytes. Fails outside the supported range.
    pub fn of_bytes(bytes: u64) -> Result<BlockSize, String> {
        match bytes {
            1..=0x100_0000_0000 => Ok(BlockSize::Bytes(bytes)),
            _ => Err(format!("blocks of {bytes} bytes are not supported: expected 1 byte to 1T")),
        }
    }

    /// Returns the bytes of a block, if it has a size.
    pub fn bytes(self) -> Option<u64> {
        match self {
            BlockSize::Bytes(bytes) => Some(bytes),
            BlockSize::Object => None,
        }
    }
}

/// Which mapped file ranges count as reads of all their bytes. System calls do not reveal which parts of a mapped
/// range are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Maps {
    /// The ranges that the recording marks as touched ([`FLAG_TOUCHED`]).
    #[default]
    Auto,
    /// All.
    All,
    /// None.
    None,
}

impl Maps {
    /// True if a mapped range counts.
    #[inline(always)]
    pub fn count(self, request: &Request) -> bool {
        match self {
            Maps::Auto => request.flags & FLAG_TOUCHED != 0,
            Maps::All => true,
            Maps::None => false,
        }
    }

    /// Returns the name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Maps::Auto => "touched",
            Maps::All => "all",
            Maps::None => "none",
        }
    }
}

/// How requests are cut if the view does not specify it.
#[derive(Clone, Copy, Debug)]
pub struct Cutting {
    block: BlockSize,
    /// The logarithm of the block size, if that is a power of two.
    shift: Option<u32>,
    /// True if offsets are ids of objects, not positions in a file.
    pub objects: bool,
    /// Which mapped ranges count as reads.
    pub maps: Maps,
    /// True if deleted or truncated files lose their blocks even in views without metadata.
    pub deletes: bool,
}

/// Consecutive blocks of one file or object, by their numbers in it. The last one may have the greatest possible
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The first number.
    pub first: u64,
    /// The number of blocks.
    pub count: u64,
}

impl Blocks {
    const NONE: Blocks = Blocks { first: 0, count: 0 };

    /// Returns the blocks of `size` bytes that contain `length` bytes from `offset` on.
    pub fn of(size: u64, offset: u64, length: u64) -> Blocks {
        Blocks::between(offset, length, |byte| byte / size)
    }

    #[inline(always)]
    fn between(offset: u64, length: u64, block_of: impl Fn(u64) -> u64) -> Blocks {
        if length == 0 {
            return Blocks::NONE;
        }
        let first = block_of(offset);
        Blocks { first, count: block_of(offset.saturating_add(length - 1)) - first + 1 }
    }

    /// Returns the numbers of the blocks.
    pub fn numbers(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |ahead| self.first + ahead)
    }
}

impl Cutting {
    /// Cuts files or objects into blocks of this size, including mapped ranges and deletions.
    pub fn new(block: BlockSize, objects: bool) -> Cutting {
        let shift = block.bytes().filter(|bytes| bytes.is_power_of_two()).map(u64::trailing_zeros);
        Cutting { block, shift, objects, maps: Maps::All, deletes: true }
    }

    /// Returns the size of blocks.
    pub fn block(&self) -> BlockSize {
        self.block
    }

    /// True if the request refers to data.
    #[inline(always)]
    pub fn is_data(&self, request: &Request) -> bool {
        let is_data = match request.op() {
            Op::Read | Op::Write => true,
            Op::Map => self.maps.count(request),
            _ => false,
        };
        is_data && !request.failed()
    }

    /// Returns the number of references that the request makes.
    #[inline(always)]
    pub fn references(&self, request: &Request) -> u64 {
        if self.is_data(request) { self.blocks(request).count } else { 0 }
    }

    /// Returns the blocks of its file or object that a data request touches. The number of a whole object is its id.
    #[inline(always)]
    pub fn blocks(&self, request: &Request) -> Blocks {
        let length = u64::from(request.length);
        match (self.block, self.objects) {
            (BlockSize::Object, _) => Blocks { first: request.offset, count: 1 },
            (BlockSize::Bytes(_), true) => Blocks::between(0, length.max(1), |byte| self.block_of(byte)),
            (BlockSize::Bytes(_), false) => Blocks::between(request.offset, length, |byte| self.block_of(byte)),
        }
    }

    /// Returns the byte from which on the data of the file or object is invalid after the request: 0 if it is
    /// deleted, `None` if nothing is lost.
    pub fn lost(&self, request: &Request) -> Option<u64> {
        match request.op() {
            _ if request.failed() => None,
            Op::Unlink => Some(0),
            Op::Truncate if !self.objects => Some(request.offset),
            _ => None,
        }
    }

    #[inline(always)]
    fn block_of(&self, byte: u64) -> u64 {
        match (self.shift, self.block) {
            (Some(shift), _) => byte >> shift,
            (None, BlockSize::Bytes(block)) => byte / block,
            (None, BlockSize::Object) => byte,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{FLAG_AROUND, FLAG_FAILED};

    #[test]
    fn mapped_ranges_count_where_the_recording_tells_that_they_were_touched() {
        let flags = [0, FLAG_TOUCHED, FLAG_TOUCHED | FLAG_AROUND, FLAG_AROUND, FLAG_TOUCHED | FLAG_FAILED];
        for (maps, counted) in
            [(Maps::Auto, [0, 2, 2, 0, 0]), (Maps::All, [2, 2, 2, 2, 0]), (Maps::None, [0, 0, 0, 0, 0])]
        {
            let cutting = Cutting { maps, ..Cutting::new(BlockSize::Bytes(4096), false) };
            let request =
                |flags| Request { op: Op::Map as u8, offset: 4096, length: 8192, flags, ..Request::default() };
            assert_eq!(flags.map(|flags| cutting.references(&request(flags))), counted, "{maps:?}");
        }
    }
}
