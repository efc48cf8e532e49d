//! Which stamps belong to which file.

use std::collections::BTreeMap;
use std::ops::Range;

/// Room among the stamps: free ranges, merged where they meet.
#[derive(Debug)]
pub struct FreeStamps {
    /// Where each begins, and how many stamps it has.
    free: BTreeMap<u64, u64>,
}

impl FreeStamps {
    /// All of `stamps` stamps are free.
    pub fn new(stamps: u64) -> FreeStamps {
        FreeStamps { free: (stamps > 0).then_some((0, stamps)).into_iter().collect() }
    }

    /// The first range of this many, or none if there is none.
    pub fn take(&mut self, stamps: u64) -> Option<Range<u64>> {
        let (&first, &len) = self.free.iter().find(|&(_, &len)| len >= stamps)?;
        self.free.remove(&first);
        if len > stamps {
            self.free.insert(first + stamps, len - stamps);
        }
        Some(first..first + stamps)
    }

    /// Gives back a range that was taken.
    pub fn release(&mut self, range: Range<u64>) {
        let Range { mut start, mut end } = range;
        if let Some((&before, &len)) = self.free.range(..start).next_back()
            && before + len == start
        {
            self.free.remove(&before);
            start = before;
        }
        if let Some(len) = self.free.remove(&end) {
            end += len;
        }
        self.free.insert(start, end - start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_taken_and_given_back() {
        let mut room = FreeStamps::new(10);
        let (a, b, c) = (room.take(4).unwrap(), room.take(3).unwrap(), room.take(3).unwrap());
        assert_eq!((a.clone(), b.clone(), c.clone()), (0..4, 4..7, 7..10));
        assert_eq!(room.take(1), None);
        room.release(a);
        room.release(c);
        assert_eq!(room.take(5), None);
        room.release(b);
        assert_eq!(room.take(10), Some(0..10));
    }

    #[test]
    fn the_first_that_is_long_enough_is_taken() {
        let mut room = FreeStamps::new(10);
        let taken: Vec<_> = [2, 3, 5].map(|stamps| room.take(stamps).unwrap()).into();
        room.release(taken[0].clone());
        room.release(taken[2].clone());
        assert_eq!(room.take(4), Some(5..9));
        assert_eq!(room.take(2), Some(0..2));
        assert_eq!(room.take(2), None);
        assert_eq!(FreeStamps::new(0).take(1), None);
    }
}
