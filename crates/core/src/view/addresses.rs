//! The position of a block as one number of 64 bits. The high half identifies its container, the low half is its
//! number there.
//!
//! Policies that use addresses treat consecutive numbers under one high half as neighbours.

use hashbrown::HashMap;

use super::Space;

/// Addresses in the plain view: the number of the file, and of the block in the file. Exact: no two blocks share one.
#[derive(Debug, Default)]
pub struct Segments {
    /// Numbers for address ranges whose block numbers need more than 32 bits. They count down from the maximum, so
    /// that they do not collide with file numbers.
    far: HashMap<(u32, u64), u32>,
}

/// There are more ranges of 2^32 blocks than numbers for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManySegments;

impl Segments {
    /// Returns the address of `block` of `file`.
    #[inline(always)]
    pub fn address(&mut self, file: u32, block: u64) -> Result<u64, TooManySegments> {
        let high = block >> 32;
        let segment = if high == 0 { file } else { self.number(file, high)? };
        Ok(u64::from(segment) << 32 | (block & 0xffff_ffff))
    }

    /// Returns the high halves of the addresses of a file, each with its first block.
    pub fn of_file(&self, file: u32) -> impl Iterator<Item = (u32, u64)> {
        let far = self.far.iter().filter(move |((of, _), _)| *of == file);
        std::iter::once((file, 0)).chain(far.map(|(&(_, high), &number)| (number, high << 32)))
    }

    /// Returns the number for the range `high` of `file`.
    pub fn number(&mut self, file: u32, high: u64) -> Result<u32, TooManySegments> {
        let next = u32::MAX - self.far.len() as u32;
        if next < 1 << 30 {
            return Err(TooManySegments);
        }
        Ok(*self.far.entry((file, high)).or_insert(next))
    }
}

/// Addresses in views that classify: one number for each space and each 2^32 blocks of it, in the order of first
/// appearance.
#[derive(Debug, Default)]
pub struct Spaces(HashMap<(Space, u32), u32>);

impl Spaces {
    /// Returns the address of `block` of `space`.
    pub fn address(&mut self, space: Space, block: u64) -> u64 {
        u64::from(self.high(space, block)) << 32 | block & 0xffff_ffff
    }

    /// Returns the high half of the address of `block` of `space`, shared by all blocks up to a multiple of 2^32.
    pub fn high(&mut self, space: Space, block: u64) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry((space, (block >> 32) as u32)).or_insert(next)
    }
}
