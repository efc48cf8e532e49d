//! Where a block lies, as one number of 64 bits: what holds it in the high half, its number there in the low one.
//!
//! Policies that look at addresses take blocks with neighbouring numbers under one high half for neighbours.

use hashbrown::HashMap;

use super::Space;

/// Addresses in the plain view: the file's number and the block's number in the file. Exact, no two blocks share one.
#[derive(Debug, Default)]
pub struct Segments {
    /// Numbers for address ranges whose block numbers need more than 32 bits, counted down from the top so that they
    /// do not meet file numbers.
    far: HashMap<(u32, u64), u32>,
}

/// More ranges of 2^32 blocks than there are numbers for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManySegments;

impl Segments {
    /// The address of `block` of `file`.
    #[inline(always)]
    pub fn address(&mut self, file: u32, block: u64) -> Result<u64, TooManySegments> {
        let high = block >> 32;
        let segment = if high == 0 { file } else { self.number(file, high)? };
        Ok(u64::from(segment) << 32 | (block & 0xffff_ffff))
    }

    /// The high halves of the addresses of a file, each with its first block.
    pub fn of_file(&self, file: u32) -> impl Iterator<Item = (u32, u64)> {
        let far = self.far.iter().filter(move |((of, _), _)| *of == file);
        std::iter::once((file, 0)).chain(far.map(|(&(_, high), &number)| (number, high << 32)))
    }

    /// A number for whatever `high` tells apart in `file`.
    pub fn number(&mut self, file: u32, high: u64) -> Result<u32, TooManySegments> {
        let next = u32::MAX - self.far.len() as u32;
        if next < 1 << 30 {
            return Err(TooManySegments);
        }
        Ok(*self.far.entry((file, high)).or_insert(next))
    }
}

/// Addresses in views that classify: a number for each space, and for each 2^32 blocks of it, in the order of first
/// appearance.
#[derive(Debug, Default)]
pub struct Spaces(HashMap<(Space, u32), u32>);

impl Spaces {
    /// The address of `block` of `space`.
    pub fn address(&mut self, space: Space, block: u64) -> u64 {
        u64::from(self.high(space, block)) << 32 | block & 0xffff_ffff
    }

    /// The high half of the addresses of `block` of `space` and its neighbours, up to a multiple of 2^32.
    pub fn high(&mut self, space: Space, block: u64) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry((space, (block >> 32) as u32)).or_insert(next)
    }
}
