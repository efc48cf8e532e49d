//! Sizes of objects whose size a request does not tell: a reader around a reader that fills them in.
//!
//! Key-value traces give reads a size of 0 where the read missed, or where only writes carry one. Such an object has
//! the size of the last request that gave one. An object without any size yet counts as the average of the sizes so
//! far.
//!
//! The reader stands before every selection, so that a write which is filtered out still gives its object a size.
//!
//! Memory: 17 bytes and the slack of a hash table for each object with a size.

use hashbrown::HashMap;

use hotset_core::request::{Op, Request};
use hotset_trace::memory::MemoryReader;
use hotset_trace::{Addressing, Batch, Meta, Tables, TraceError, TraceReader};
use rustc_hash::FxBuildHasher;

use crate::expand::options::Options;

/// A trace whose objects keep their sizes.
pub struct Completed<R> {
    reader: R,
    /// Absent where sizes of objects do not count.
    sizes: Option<LastSizes>,
}

impl<R: TraceReader> Completed<R> {
    /// The trace of `reader`, with sizes filled in if it holds objects and `options` need their sizes.
    pub fn new(reader: R, options: &Options) -> Completed<R> {
        let meta = reader.meta();
        let needs_sizes = options.keep_sizes || options.block_bytes(meta).is_some();
        let sizes = (meta.addressing == Addressing::Objects && needs_sizes).then(LastSizes::default);
        Completed { reader, sizes }
    }
}

impl<R: TraceReader> TraceReader for Completed<R> {
    fn meta(&self) -> &Meta {
        self.reader.meta()
    }

    fn tables(&self) -> &Tables {
        self.reader.tables()
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        self.reader.read(batch)?;
        if let Some(sizes) = &mut self.sizes {
            batch.requests.iter_mut().for_each(|request| sizes.complete(request));
        }
        Ok(())
    }

    fn skipped(&self) -> u64 {
        self.reader.skipped()
    }

    fn remarks(&self) -> Vec<String> {
        self.reader.remarks()
    }

    fn held_bytes(&self) -> u64 {
        self.reader.held_bytes() + self.sizes.as_ref().map_or(0, LastSizes::memory_bytes)
    }

    fn memory(&mut self) -> Option<&mut dyn MemoryReader> {
        self.reader.memory()
    }
}

/// The last size of each object, by its id.
#[derive(Default)]
struct LastSizes {
    known: HashMap<u64, u32, FxBuildHasher>,
    /// Sum and count of the sizes told so far.
    bytes: u64,
    told: u64,
}

impl LastSizes {
    /// Notes the size of a request that moves data, or gives it the one that its object has.
    #[inline]
    fn complete(&mut self, request: &mut Request) {
        if !matches!(request.op(), Op::Read | Op::Write | Op::Map) || request.failed() {
            return;
        }
        match request.length {
            0 => request.length = self.known.get(&request.offset).copied().unwrap_or_else(|| self.mean()),
            length => {
                self.known.insert(request.offset, length);
                self.bytes = self.bytes.saturating_add(length.into());
                self.told += 1;
            }
        }
    }

    /// The average size so far; 0 while none is known.
    fn mean(&self) -> u32 {
        u32::try_from(self.bytes.div_ceil(self.told.max(1))).unwrap_or(u32::MAX)
    }

    fn memory_bytes(&self) -> u64 {
        self.known.capacity() as u64 * 17
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_of_0_is_the_last_one_of_the_object_or_the_average() {
        let mut sizes = LastSizes::default();
        let mut size = |offset, length| {
            let mut request = Request { offset, length, ..Request::default() };
            sizes.complete(&mut request);
            request.length
        };
        let told = [(1, 0), (1, 80), (1, 0), (2, 0), (2, 40), (2, 0), (1, 0), (1, 30), (1, 0), (3, 0)];
        assert_eq!(told.map(|(id, length)| size(id, length)), [0, 80, 80, 80, 40, 40, 80, 30, 30, 50]);
    }

    #[test]
    fn what_moves_no_data_has_no_size() {
        let mut sizes = LastSizes::default();
        let mut write = Request { op: Op::Write as u8, offset: 1, length: 80, ..Request::default() };
        sizes.complete(&mut write);
        let mut delete = Request { op: Op::Unlink as u8, offset: 1, ..Request::default() };
        sizes.complete(&mut delete);
        assert_eq!((write.length, delete.length), (80, 0));
    }
}
