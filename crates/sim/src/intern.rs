//! Renumbering: every distinct block key gets a dense number, in order of first appearance.
//!
//! Done once a trace, so that every cell of a grid indexes arrays and hashes nothing. The table is
//! open addressing over 12-byte entries, looked up a batch at a time with the entries fetched ahead: a block trace has
//! no locality in hash order, so each look-up is a cache miss that only distance can hide. The hash is a bijection
//! seeded at random, so no trace can be made that collides on purpose, and the numbers do not depend on it.

use hotset_core::random::mix;
use std::hash::{BuildHasher, RandomState};

use hotset_core::parts::{large, prefetch::prefetch_across};

const EMPTY: u32 = u32::MAX;
const LOOKAHEAD: usize = 64;

#[derive(Clone, Copy)]
#[repr(C, packed(4))]
struct Entry {
    key: u64,
    id: u32,
}

/// Maps 64-bit block keys to dense numbers.
pub struct Interner {
    table: Vec<Entry>,
    /// Entries in use.
    len: u32,
    seed: u64,
    hashes: Vec<u64>,
}

/// More distinct blocks than numbers.
#[derive(Debug, PartialEq, Eq)]
pub struct TooManyBlocks;

impl Default for Interner {
    fn default() -> Self {
        Interner::new()
    }
}

impl Interner {
    /// An empty table.
    pub fn new() -> Interner {
        let seed = RandomState::new().hash_one(0u64) | 1;
        Interner { table: vec![Entry { key: 0, id: EMPTY }; 1 << 12], len: 0, seed, hashes: Vec::new() }
    }

    /// Distinct keys seen.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if no key was seen.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> u64 {
        (self.table.len() * size_of::<Entry>()) as u64
    }

    /// Appends the number of each key to `ids`.
    pub fn intern(&mut self, keys: &[u64], ids: &mut Vec<u32>) -> Result<(), TooManyBlocks> {
        ids.reserve(keys.len());
        for chunk in keys.chunks(4096) {
            self.reserve(chunk.len())?;
            self.intern_chunk(chunk, ids);
        }
        Ok(())
    }

    fn intern_chunk(&mut self, keys: &[u64], ids: &mut Vec<u32>) {
        let mask = self.table.len() - 1;
        let seed = self.seed;
        self.hashes.clear();
        self.hashes.extend(keys.iter().map(|&key| mix(key ^ seed)));
        for (index, &key) in keys.iter().enumerate() {
            let ahead = self.hashes[(index + LOOKAHEAD).min(keys.len() - 1)];
            // One entry in eight lies across two cache lines.
            prefetch_across(&self.table, ahead as usize & mask);
            let mut at = self.hashes[index] as usize & mask;
            let id = loop {
                let entry = self.table[at];
                if entry.id == EMPTY {
                    self.table[at] = Entry { key, id: self.len };
                    self.len += 1;
                    break self.len - 1;
                }
                if entry.key == key {
                    break entry.id;
                }
                at = (at + 1) & mask;
            };
            ids.push(id);
        }
    }

    /// Keeps the table at most 5/8 full with `more` new keys.
    fn reserve(&mut self, more: usize) -> Result<(), TooManyBlocks> {
        let wanted = self.len as usize + more;
        if wanted >= EMPTY as usize {
            return Err(TooManyBlocks);
        }
        if wanted * 8 <= self.table.len() * 5 {
            return Ok(());
        }
        let mut larger = large::filled(Entry { key: 0, id: EMPTY }, self.table.len() * 2);
        let mask = larger.len() - 1;
        for &entry in self.table.iter().filter(|entry| { entry.id } != EMPTY) {
            let mut at = mix(entry.key ^ self.seed) as usize & mask;
            while { larger[at].id } != EMPTY {
                at = (at + 1) & mask;
            }
            larger[at] = entry;
        }
        self.table = larger;
        self.reserve(more)
    }

    /// The number of a key, if it has one.
    pub fn find(&self, key: u64) -> Option<u32> {
        let mask = self.table.len() - 1;
        let mut at = mix(key ^ self.seed) as usize & mask;
        while { self.table[at].id } != EMPTY && { self.table[at].key } != key {
            at = (at + 1) & mask;
        }
        let id = self.table[at].id;
        (id != EMPTY).then_some(id)
    }

    /// The keys by their numbers.
    pub fn keys(&self) -> Vec<u64> {
        let mut keys = vec![0; self.len as usize];
        for entry in self.table.iter().filter(|entry| { entry.id } != EMPTY) {
            keys[entry.id as usize] = entry.key;
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_first_appearance_across_growth() {
        let mut interner = Interner::new();
        let keys: Vec<u64> = (0..100_000u64).map(|i| mix(i % 30_000)).collect();
        let mut ids = Vec::new();
        for piece in keys.chunks(777) {
            interner.intern(piece, &mut ids).unwrap();
        }
        assert_eq!(interner.len(), 30_000);
        assert!((0..40_000).all(|i| interner.find(mix(i)) == Some(i as u32).filter(|&id| id < 30_000)));
        assert!(ids.iter().enumerate().all(|(i, &id)| id as usize == i % 30_000));
        assert!(interner.keys().iter().enumerate().all(|(i, &key)| key == mix(i as u64)));
    }
}
