//! A policy's facts of files, tracks or applications, for the most recently referenced ones.
//!
//! A hash table of fixed size. When it is full a new entry replaces the one that was used least recently, so it
//! neither grows with the trace nor allocates after it is built.

use super::links::{Links, List};

/// Number of an entry, below the bound of its table. A new entry takes over the number of the one it displaces.
pub type Index = usize;

const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Entry<T> {
    key: u64,
    /// The next entry of its bucket, or [`NONE`].
    next: u32,
    value: T,
}

/// Values by key.
#[derive(Debug)]
pub struct RecentTable<T> {
    bound: usize,
    /// The first entry of each bucket, or [`NONE`].
    buckets: Vec<u32>,
    entries: Vec<Entry<T>>,
    links: Links,
    /// The entries in order of use.
    order: List,
}

impl<T> RecentTable<T> {
    /// An empty table for `bound` keys, at least 1 and below 2^32 - 1.
    pub fn new(bound: u32) -> RecentTable<T> {
        let entries = bound as usize;
        RecentTable {
            bound: entries,
            buckets: vec![NONE; entries.next_power_of_two()],
            entries: Vec::with_capacity(entries),
            links: Links::new(bound),
            order: List::default(),
        }
    }

    /// The entry of `key`, which does not become more recent by that.
    #[inline(always)]
    pub fn peek(&self, key: u64) -> Option<Index> {
        let mut at = self.buckets[self.bucket(key)];
        while at != NONE {
            let entry = &self.entries[at as usize];
            if entry.key == key {
                return Some(at as Index);
            }
            at = entry.next;
        }
        None
    }

    /// The entry of `key`, which becomes the most recent one.
    #[inline(always)]
    pub fn find(&mut self, key: u64) -> Option<Index> {
        if let Some(newest) = self.order.youngest().filter(|&newest| self.entries[newest as usize].key == key) {
            return Some(newest as Index);
        }
        let index = self.peek(key)?;
        self.order.renew(&mut self.links, index as u32);
        Some(index)
    }

    /// Adds `key`, which is not in the table, as the most recent entry. In a full table it displaces the least recent
    /// one, whose value is returned.
    #[inline(always)]
    pub fn insert(&mut self, key: u64, value: T) -> (Index, Option<T>) {
        let bucket = self.bucket(key);
        if self.entries.len() < self.bound {
            let index = self.entries.len();
            self.entries.push(Entry { key, next: self.buckets[bucket], value });
            self.enter(index, bucket);
            return (index, None);
        }
        let oldest = self.order.pop_oldest(&mut self.links).expect("a full table has entries") as Index;
        self.leave_bucket(oldest);
        let entry = Entry { key, next: self.buckets[bucket], value };
        let displaced = std::mem::replace(&mut self.entries[oldest], entry);
        self.enter(oldest, bucket);
        (oldest, Some(displaced.value))
    }

    /// The value of entry `index`.
    #[inline(always)]
    pub fn value(&self, index: Index) -> &T {
        &self.entries[index].value
    }

    /// The value of entry `index`.
    #[inline(always)]
    pub fn value_mut(&mut self, index: Index) -> &mut T {
        &mut self.entries[index].value
    }

    /// Panics unless every entry is found under its key and is in the order of use.
    pub fn validate(&self) {
        self.order.validate(&self.links);
        assert_eq!(self.order.len() as usize, self.entries.len(), "entries outside the order of use");
        assert!(self.entries.len() <= self.bound, "too many entries");
        for (index, entry) in self.entries.iter().enumerate() {
            assert_eq!(self.peek(entry.key), Some(index), "an entry is not found");
        }
    }

    #[inline(always)]
    fn enter(&mut self, index: Index, bucket: usize) {
        self.buckets[bucket] = index as u32;
        self.order.push(&mut self.links, index as u32);
    }

    #[inline(always)]
    fn leave_bucket(&mut self, index: Index) {
        let (bucket, next) = (self.bucket(self.entries[index].key), self.entries[index].next);
        let mut at = self.buckets[bucket];
        if at == index as u32 {
            self.buckets[bucket] = next;
            return;
        }
        while self.entries[at as usize].next != index as u32 {
            at = self.entries[at as usize].next;
        }
        self.entries[at as usize].next = next;
    }

    #[inline(always)]
    fn bucket(&self, key: u64) -> usize {
        let mixed = (key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.buckets.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::random::Rng;

    #[test]
    fn the_least_recently_used_entry_makes_room() {
        let mut random = Rng::new(9);
        for bound in [1, 2, 3, 8, 50] {
            let mut table = RecentTable::new(bound);
            let mut model: VecDeque<(u64, u32)> = VecDeque::new();
            for step in 0..3000 {
                let key = u64::from(random.below(bound * 2)) << 31;
                match model.iter().position(|&(known, _)| known == key) {
                    Some(place) => {
                        let (_, value) = model.remove(place).unwrap();
                        model.push_back((key, value));
                        let index = table.find(key).unwrap();
                        assert_eq!(*table.value(index), value);
                    }
                    None => {
                        assert_eq!(table.find(key), None);
                        let full = model.len() == bound as usize;
                        let displaced = full.then(|| model.pop_front().unwrap().1);
                        model.push_back((key, step));
                        assert_eq!(table.insert(key, step).1, displaced);
                    }
                }
                table.validate();
            }
        }
    }
}
