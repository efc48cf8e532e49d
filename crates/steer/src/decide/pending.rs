//! Blocks that are to be looked at later: to be dropped, or to see whether they were.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::decide::follower::Address;

/// When a block is due, and how often it was dropped in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    at: u64,
    attempts: u32,
}

/// The queue, by time; a block is in it once.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    by_time: BTreeSet<(u64, Address)>,
    by_block: FxHashMap<Address, Due>,
}

impl Pending {
    /// The block is looked at when `at` has come; sooner, if that was said before.
    pub fn put(&mut self, address: Address, at: u64, attempts: u32) {
        if let Some(due) = self.by_block.get_mut(&address) {
            due.attempts = due.attempts.max(attempts);
            if due.at <= at {
                return;
            }
            self.by_time.remove(&(due.at, address));
            due.at = at;
        } else {
            self.by_block.insert(address, Due { at, attempts });
        }
        self.by_time.insert((at, address));
    }

    /// The next block that is due, and how often it was dropped in vain.
    pub fn take(&mut self, now: u64) -> Option<(Address, u32)> {
        let &(at, address) = self.by_time.first().filter(|(at, _)| *at <= now)?;
        self.by_time.remove(&(at, address));
        let due = self.by_block.remove(&address)?;
        Some((address, due.attempts))
    }

    /// When the next one is due.
    pub fn next(&self) -> Option<u64> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Blocks in it.
    pub fn len(&self) -> usize {
        self.by_block.len()
    }

    /// Nothing is due any more.
    pub fn clear(&mut self) {
        *self = Pending::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_stands_in_it_once_and_comes_at_the_earliest_time() {
        let mut pending = Pending::default();
        pending.put(1, 30, 0);
        pending.put(2, 20, 1);
        pending.put(1, 10, 2);
        pending.put(1, 40, 0);
        assert_eq!((pending.next(), pending.len()), (Some(10), 2));
        assert_eq!(pending.take(9), None);
        assert_eq!(pending.take(10), Some((1, 2)));
        assert_eq!(pending.take(19), None);
        assert_eq!(pending.take(100), Some((2, 1)));
        assert_eq!((pending.take(100), pending.next()), (None, None));
    }
}
