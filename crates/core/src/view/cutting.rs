//! Which requests refer to data, which blocks these are in, and what a file that is deleted or cut loses. Every view
//! goes by it, the plain one as well.

use crate::request::{Op, Request};
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
            .map_err(|_| format!("{text:?} is no block size: expected bytes (4096, 4K, 1M) or `object`"))?;
        BlockSize::of_bytes(bytes)
    }

    /// A block of so many bytes; fails where none can be that small or large.
    pub fn of_bytes(bytes: u64) -> Result<BlockSize, String> {
        match bytes {
            1..=0x100_0000_0000 => Ok(BlockSize::Bytes(bytes)),
            _ => Err(format!("a block of {bytes} bytes is not possible: expected 1 byte to 1T")),
        }
    }

    /// Bytes of a block, if it has a size.
    pub fn bytes(self) -> Option<u64> {
        match self {
            BlockSize::Bytes(bytes) => Some(bytes),
            BlockSize::Object => None,
        }
    }
}

/// How requests are cut where a view does not say.
#[derive(Clone, Copy, Debug)]
pub struct Cutting {
    block: BlockSize,
    /// The logarithm of the block size, where that is a power of two.
    shift: Option<u32>,
    /// Offsets are ids of objects, not places in a file.
    pub objects: bool,
    /// Mapped ranges count as reads.
    pub maps: bool,
    /// Files that are deleted or cut lose their blocks, also where naming a file touches nothing.
    pub deletes: bool,
}

/// Consecutive blocks of one file or object, by their numbers in it. They may end with the last number there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The first number.
    pub first: u64,
    /// How many.
    pub count: u64,
}

impl Blocks {
    const NONE: Blocks = Blocks { first: 0, count: 0 };

    /// The blocks of `size` bytes that `length` bytes from `offset` on are in.
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

    /// The numbers.
    pub fn numbers(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |ahead| self.first + ahead)
    }
}

impl Cutting {
    /// Files or objects in blocks of this size, mapped ranges and deletes included.
    pub fn new(block: BlockSize, objects: bool) -> Cutting {
        let shift = block.bytes().filter(|bytes| bytes.is_power_of_two()).map(u64::trailing_zeros);
        Cutting { block, shift, objects, maps: true, deletes: true }
    }

    /// The size of blocks.
    pub fn block(&self) -> BlockSize {
        self.block
    }

    /// True if the request refers to data.
    #[inline(always)]
    pub fn is_data(&self, request: &Request) -> bool {
        let is_data = match request.op() {
            Op::Read | Op::Write => true,
            Op::Map => self.maps,
            _ => false,
        };
        is_data && !request.failed()
    }

    /// References that the request makes.
    #[inline(always)]
    pub fn references(&self, request: &Request) -> u64 {
        if self.is_data(request) { self.blocks(request).count } else { 0 }
    }

    /// The blocks of its file or object that a request for data is in. A whole object has the number of its id.
    #[inline(always)]
    pub fn blocks(&self, request: &Request) -> Blocks {
        let length = u64::from(request.length);
        match (self.block, self.objects) {
            (BlockSize::Object, _) => Blocks { first: request.offset, count: 1 },
            (BlockSize::Bytes(_), true) => Blocks::between(0, length.max(1), |byte| self.block_of(byte)),
            (BlockSize::Bytes(_), false) => Blocks::between(request.offset, length, |byte| self.block_of(byte)),
        }
    }

    /// From which byte on the data of its file or object is worth nothing after the request: 0 if that is deleted,
    /// `None` if nothing is lost.
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
