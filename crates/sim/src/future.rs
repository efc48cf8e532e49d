//! The next-use column: for every reference, where the same block is referenced next.
//!
//! It is filled backwards, so the whole trace has to be at hand: in memory, or in a temporary file that is mapped and that the
//! system pages.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Deref;
use std::sync::Arc;

use hotset_core::policy::{Column, Future};
use memmap2::{Mmap, MmapMut};

use crate::error::SimError;

/// More references than positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the trace has more than 4 billion references, more than 32 bits can number")]
pub struct TooManyReferences;

/// For each of `ids` (all below `distinct`) the position of the next reference to the same block, [`Future::NEVER`] if none.
pub fn next_use(ids: &[u32], distinct: u32) -> Result<Vec<u32>, TooManyReferences> {
    if ids.len() >= Future::NEVER as usize {
        return Err(TooManyReferences);
    }
    let mut next = vec![Future::NEVER; ids.len()];
    fill(ids, distinct, &mut next);
    Ok(next)
}

fn fill(ids: &[u32], distinct: u32, next: &mut [u32]) {
    let mut seen = vec![Future::NEVER; distinct as usize];
    for (position, &id) in ids.iter().enumerate().rev() {
        next[position] = std::mem::replace(&mut seen[id as usize], position as u32);
    }
}

/// Builds the future of a trace that is fed in pieces: in memory as long as it is small, then in temporary files.
///
/// The files have no name: they vanish with the last user of the future.
pub struct FutureBuilder {
    policy: String,
    memory_bytes: u64,
    ids: Ids,
    references: usize,
    distinct: u32,
}

enum Ids {
    Held(Vec<u32>),
    Spilled(BufWriter<File>),
}

/// Bytes of both columns for one reference.
const BYTES: u64 = 8;

impl FutureBuilder {
    /// The future that `policy` (named in errors) needs, of which both columns together take at most `memory_bytes` of memory. While it
    /// is finished, 4 bytes a block come on top.
    pub fn new(policy: impl Into<String>, memory_bytes: u64) -> FutureBuilder {
        FutureBuilder { policy: policy.into(), memory_bytes, ids: Ids::Held(Vec::new()), references: 0, distinct: 0 }
    }

    /// Appends references to blocks, numbered from 0 in order of first appearance.
    pub fn append(&mut self, ids: &[u32]) -> Result<(), SimError> {
        if ids.len() >= Future::NEVER as usize - self.references {
            return Err(SimError::TooManyReferences { policy: self.policy.clone() });
        }
        self.references += ids.len();
        self.distinct = ids.iter().fold(self.distinct, |distinct, &id| distinct.max(id + 1));
        if self.references as u64 * BYTES > self.memory_bytes {
            self.spill().map_err(spill_error)?;
        }
        match &mut self.ids {
            Ids::Held(held) => held.extend_from_slice(ids),
            Ids::Spilled(file) => file.write_all(bytemuck::cast_slice(ids)).map_err(spill_error)?,
        }
        Ok(())
    }

    /// True if the columns are in files.
    pub fn is_spilled(&self) -> bool {
        matches!(self.ids, Ids::Spilled(_))
    }

    fn spill(&mut self) -> io::Result<()> {
        if let Ids::Held(held) = &self.ids {
            let mut file = BufWriter::new(tempfile::tempfile()?);
            file.write_all(bytemuck::cast_slice(held))?;
            self.ids = Ids::Spilled(file);
        }
        Ok(())
    }

    /// Finds the next uses.
    pub fn finish(self) -> Result<Future, SimError> {
        match self.ids {
            Ids::Held(ids) => {
                let mut next = vec![Future::NEVER; ids.len()];
                fill(&ids, self.distinct, &mut next);
                Ok(Future { slots: Arc::new(ids), next_use: Arc::new(next) })
            }
            Ids::Spilled(file) => finish_spilled(file, self.distinct).map_err(spill_error),
        }
    }
}

fn finish_spilled(ids: BufWriter<File>, distinct: u32) -> io::Result<Future> {
    let ids = ids.into_inner().map_err(|error| error.into_error())?;
    let next = tempfile::tempfile()?;
    next.set_len(ids.metadata()?.len())?;
    // SAFETY: both files are nameless and known to nobody else, so nobody can change or cut them under the maps.
    let (ids, mut next) = unsafe { (Mapped(Mmap::map(&ids)?), MmapMut::map_mut(&next)?) };
    fill(ids.as_ref(), distinct, bytemuck::cast_slice_mut(&mut next));
    Ok(Future { slots: column(ids), next_use: column(Mapped(next.make_read_only()?)) })
}

fn column(mapped: Mapped) -> Column {
    Arc::new(mapped)
}

/// A column in a mapped file.
struct Mapped(Mmap);

impl AsRef<[u32]> for Mapped {
    fn as_ref(&self) -> &[u32] {
        // Maps begin at a page, so numbers are aligned.
        bytemuck::cast_slice(self.0.deref())
    }
}

fn spill_error(source: io::Error) -> SimError {
    SimError::Spill { dir: std::env::temp_dir().display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(future: &Future) -> (Vec<u32>, Vec<u32>) {
        ((*future.slots).as_ref().to_vec(), (*future.next_use).as_ref().to_vec())
    }

    fn built(ids: &[u32], memory_bytes: u64) -> (bool, (Vec<u32>, Vec<u32>)) {
        let mut builder = FutureBuilder::new("opt", memory_bytes);
        ids.chunks(37).for_each(|piece| builder.append(piece).unwrap());
        (builder.is_spilled(), columns(&builder.finish().unwrap()))
    }

    #[test]
    fn next_uses_by_hand() {
        let never = Future::NEVER;
        assert_eq!(next_use(&[0, 1, 0, 2, 1, 0], 3).unwrap(), [2, 4, 5, never, never, never]);
        assert_eq!(next_use(&[], 0).unwrap(), [0; 0]);
    }

    #[test]
    fn files_hold_what_memory_would() {
        let ids: Vec<u32> =
            (0..5000u32).map(|index| index.wrapping_mul(2_654_435_761) >> 16).map(|id| id % 700).collect();
        let expected = (ids.clone(), next_use(&ids, 700).unwrap());
        for (memory_bytes, spilled) in [(0, true), (1000, true), (39_999, true), (40_000, false), (u64::MAX, false)] {
            assert_eq!(built(&ids, memory_bytes), (spilled, expected.clone()), "{memory_bytes} bytes");
        }
    }

    #[test]
    fn an_empty_trace_has_an_empty_future() {
        assert_eq!(built(&[], 0), (false, (vec![], vec![])));
    }
}
