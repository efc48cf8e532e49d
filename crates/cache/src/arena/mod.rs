//! The memory of the cache: frames in pools, one pool for each block size.
//!
//! A pool is one mapping that holds exactly as many frames as the policy may keep blocks; nothing is allocated while it
//! serves. Pages of frames that were never used cost nothing.

pub(crate) mod block_index;

use memmap2::MmapMut;

use crate::error::CacheError;
use crate::os::system;

/// A frame of a pool.
pub(crate) type Frame = u32;

/// All pools.
pub(crate) struct Arena {
    pools: Vec<Pool>,
}

struct Pool {
    block: usize,
    memory: MmapMut,
    /// Frames in `memory`.
    frames: u32,
    /// Frames from this one on were never used.
    fresh: Frame,
    /// Frames that were given back.
    free: Vec<Frame>,
}

/// Size of one pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolSize {
    /// Bytes of a frame.
    pub block: u64,
    /// Frames.
    pub frames: u32,
}

impl Arena {
    pub fn new(sizes: &[PoolSize]) -> Result<Arena, CacheError> {
        Ok(Arena { pools: sizes.iter().map(Pool::new).collect::<Result<_, _>>()? })
    }

    /// Bytes that the frames of all pools take together.
    pub fn bytes(&self) -> u64 {
        self.pools.iter().map(|pool| pool.block as u64 * u64::from(pool.frames)).sum()
    }

    /// Bytes of the largest frame.
    pub fn largest(&self) -> u64 {
        self.pools.iter().map(|pool| pool.block as u64).max().unwrap_or(0)
    }

    /// A frame for a block that has just come in; `None` if all are taken.
    pub fn take(&mut self, pool: u8) -> Option<Frame> {
        let pool = &mut self.pools[usize::from(pool)];
        pool.free.pop().or_else(|| {
            let frame = pool.fresh;
            (frame < pool.frames).then(|| {
                pool.fresh += 1;
                frame
            })
        })
    }

    pub fn release(&mut self, pool: u8, frame: Frame) {
        self.pools[usize::from(pool)].free.push(frame);
    }

    pub fn frame(&self, pool: u8, frame: Frame) -> &[u8] {
        let pool = &self.pools[usize::from(pool)];
        &pool.memory[frame as usize * pool.block..][..pool.block]
    }

    pub fn frame_mut(&mut self, pool: u8, frame: Frame) -> &mut [u8] {
        let pool = &mut self.pools[usize::from(pool)];
        &mut pool.memory[frame as usize * pool.block..][..pool.block]
    }

    /// Copies the bytes of one frame into another one of the pool.
    pub fn copy(&mut self, pool: u8, from: Frame, to: Frame) {
        let pool = &mut self.pools[usize::from(pool)];
        let (from, to) = (from as usize * pool.block, to as usize * pool.block);
        pool.memory.copy_within(from..from + pool.block, to);
    }

    /// True if the other one has as many pools, of the same sizes.
    pub fn is_like(&self, other: &Arena) -> bool {
        let sizes = |arena: &Arena| (0..arena.pools.len() as u8).map(|pool| arena.size(pool)).collect::<Vec<_>>();
        sizes(self) == sizes(other)
    }

    /// The size of a pool.
    pub fn size(&self, pool: u8) -> PoolSize {
        let pool = &self.pools[usize::from(pool)];
        PoolSize { block: pool.block as u64, frames: pool.frames }
    }

    /// Gives a pool more frames.
    pub fn extend(&mut self, pool: u8, frames: u32) -> Result<(), CacheError> {
        self.pools[usize::from(pool)].remap(frames)
    }

    /// Removes the frames from `frames` on. Those that are in use, as `used` says, are moved below; `used` is called
    /// for each move.
    pub fn cut(
        &mut self,
        number: u8,
        frames: u32,
        used: &[Frame],
        mut moved: impl FnMut(Frame, Frame),
    ) -> Result<(), CacheError> {
        let pool = &mut self.pools[usize::from(number)];
        pool.free.retain(|&frame| frame < frames);
        pool.fresh = pool.fresh.min(frames);
        for &from in used.iter().filter(|&&frame| frame >= frames) {
            let to = self.take(number).expect("not more blocks are kept than there are frames left");
            self.copy(number, from, to);
            moved(from, to);
        }
        self.pools[usize::from(number)].remap(frames)
    }
}

impl Pool {
    fn new(size: &PoolSize) -> Result<Pool, CacheError> {
        let bytes = size.block * u64::from(size.frames);
        let memory = map(bytes)?;
        Ok(Pool { block: size.block as usize, memory, frames: size.frames, fresh: 0, free: Vec::new() })
    }

    fn remap(&mut self, frames: u32) -> Result<(), CacheError> {
        let bytes = (self.block as u64 * u64::from(frames)).max(1);
        system::resize(&mut self.memory, bytes as usize).map_err(|source| CacheError::Memory { bytes, source })?;
        self.frames = frames;
        Ok(())
    }
}

/// Memory without a file; a mapping has one byte at least.
fn map(bytes: u64) -> Result<MmapMut, CacheError> {
    MmapMut::map_anon(bytes.max(1) as usize).map_err(|source| CacheError::Memory { bytes, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pools of whole pages: Miri moves no others.
    fn arena(frames: u32) -> Arena {
        Arena::new(&[PoolSize { block: 4096, frames }, PoolSize { block: 8192, frames: 1 }]).unwrap()
    }

    #[test]
    fn a_pool_never_gives_more_frames_than_it_has() {
        let mut arena = arena(2);
        assert_eq!([arena.take(0), arena.take(0), arena.take(0)], [Some(0), Some(1), None]);
        arena.release(0, 0);
        assert_eq!((arena.take(0), arena.take(0), arena.take(1)), (Some(0), None, Some(0)));
        assert_eq!(arena.bytes(), 2 * 4096 + 8192);
    }

    #[test]
    fn frames_keep_their_bytes_when_a_pool_is_cut_and_extended() {
        let mut arena = arena(4);
        for frame in 0..4 {
            assert_eq!(arena.take(0), Some(frame));
            arena.frame_mut(0, frame).fill(frame as u8);
        }
        arena.release(0, 0);
        arena.release(0, 1);
        let mut moves = Vec::new();
        arena.cut(0, 2, &[2, 3], |from, to| moves.push((from, to))).unwrap();
        assert_eq!(moves.len(), 2);
        for (from, to) in moves {
            assert!(to < 2 && arena.frame(0, to).iter().all(|&byte| byte == from as u8));
        }
        assert_eq!(arena.take(0), None);
        arena.extend(0, 3).unwrap();
        assert_eq!((arena.take(0), arena.take(0)), (Some(2), None));
    }
}
