//! Sizes of objects whose size a request does not tell.
//!
//! Key-value traces give reads a size of 0 where the read missed, or where only writes carry one. Such an object is as
//! large as it was last. An object without any size yet counts as large as the sizes told so far on average.

use hashbrown::HashMap;

use hotset_core::request::Request;
use rustc_hash::FxBuildHasher;

/// What each object was last, by its id.
#[derive(Default)]
pub(crate) struct LastSizes {
    known: HashMap<u64, u32, FxBuildHasher>,
    /// Sum and count of the sizes told so far.
    bytes: u64,
    told: u64,
}

impl LastSizes {
    /// The request with the size that its object has. A request that `goes_on` was seen before.
    #[inline]
    pub fn sized(&mut self, request: &Request, goes_on: bool) -> Request {
        let length = match request.length {
            0 => self.known.get(&request.offset).copied().unwrap_or_else(|| self.mean()),
            length => {
                self.known.insert(request.offset, length);
                if !goes_on {
                    self.bytes = self.bytes.saturating_add(length.into());
                    self.told += 1;
                }
                length
            }
        };
        Request { length, ..*request }
    }

    /// The average size so far; 0 while none is known.
    fn mean(&self) -> u32 {
        u32::try_from(self.bytes.div_ceil(self.told.max(1))).unwrap_or(u32::MAX)
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> u64 {
        self.known.capacity() as u64 * 17
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_of_0_is_the_last_one_of_the_object_or_the_average() {
        let mut sizes = LastSizes::default();
        let mut size = |offset, length| sizes.sized(&Request { offset, length, ..Request::default() }, false).length;
        let told = [(1, 0), (1, 80), (1, 0), (2, 0), (2, 40), (2, 0), (1, 0), (1, 30), (1, 0), (3, 0)];
        assert_eq!(told.map(|(id, length)| size(id, length)), [0, 80, 80, 80, 40, 40, 80, 30, 30, 50]);
    }
}
