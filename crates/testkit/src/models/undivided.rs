//! Any model, over blocks of different sizes that share the bytes of a cache. Inodes and directories have small ones.

use std::collections::{BTreeMap, BTreeSet};

use hotset_core::policy::Reference;

use crate::model::{Given, Model, ModelStep};
use crate::models;

pub(super) struct Undivided {
    inner: Box<dyn Model>,
    /// The inner model counts bytes itself; any other receives the number of blocks that it may keep.
    goes_by_bytes: bool,
    sizes: [u64; 2],
    /// Bytes of a block of the run, and of the cache.
    block: u64,
    bytes: u64,
    /// What each resident block takes.
    of: BTreeMap<u32, u64>,
    told: usize,
}

/// The classes of the attribute caches begin with inodes and directories.
const METADATA: u16 = 2;

impl Undivided {
    fn size(&self, reference: &Reference) -> u64 {
        self.sizes[usize::from(u16::from(reference.class) >= METADATA)]
    }

    fn used(&self) -> u64 {
        self.of.values().sum()
    }

    /// Blocks leave until so many bytes are free.
    fn shrink(&mut self, free: u64) -> Vec<u32> {
        let mut evicted = Vec::new();
        while !self.goes_by_bytes && self.used() + free > self.bytes {
            match self.of.len() {
                // No cache keeps no block at all.
                1 => {
                    let (&last, _) = self.of.first_key_value().expect("a block");
                    self.inner.remove(last);
                    self.of.clear();
                    evicted.push(last);
                }
                blocks => evicted.extend(self.tell(blocks - 1)),
            }
        }
        evicted
    }

    /// Evicts until a block fits. If all blocks have fit so far, until a sixty-fourth more fits.
    fn make_room(&mut self, size: u64) -> Vec<u32> {
        let evicted = self.shrink(size);
        let blocks = self.of.len();
        if !self.goes_by_bytes && !evicted.is_empty() {
            self.tell(blocks + 1);
        } else if !self.goes_by_bytes && blocks == self.told {
            self.tell(blocks + 1 + blocks / 64);
        }
        evicted
    }

    fn tell(&mut self, blocks: usize) -> Vec<u32> {
        self.told = blocks;
        let evicted = self.inner.resize(blocks);
        self.leave(&evicted);
        evicted
    }

    fn leave(&mut self, evicted: &[u32]) {
        self.of.retain(|key, _| !evicted.contains(key));
    }
}

impl Model for Undivided {
    fn new(given: &Given<'_>) -> Undivided {
        let block = given.args.block_bytes().expect("a run in bytes");
        let bytes = block * given.capacity as u64;
        let sizes = ["id", "block"].map(|key| given.args.bytes(key));
        let requirements = given.args.policy("policy").requirements(64, given.args);
        let goes_by_bytes = requirements.expect("an allowed policy").weighs;
        let capacity = if goes_by_bytes { bytes as usize } else { 64 };
        let sized = |reference: &Reference| Reference { bytes: 1, ..*reference };
        let references: Vec<Reference> = given.references.iter().map(sized).collect();
        let inner = models::inner(&Given { references: &references, ..*given }, "policy", capacity);
        Undivided { inner, goes_by_bytes, sizes, block, bytes, of: BTreeMap::new(), told: capacity }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let size = self.size(&reference);
        let room = if self.of.contains_key(&key) { Vec::new() } else { self.make_room(size) };
        let weight = if self.goes_by_bytes { size as u32 } else { 1 };
        let step = self.inner.access(key, Reference { bytes: size as u32, weight, ..reference });
        self.leave(&step.evicted);
        if self.inner.resident().contains(&key) {
            self.of.insert(key, size);
        }
        let evicted = [room, step.evicted, self.shrink(0)].concat();
        ModelStep { evicted, ..step }
    }

    fn remove(&mut self, key: u32) {
        self.inner.remove(key);
        self.of.remove(&key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.bytes = (self.block * capacity as u64).max(self.sizes[0]).max(self.sizes[1]);
        if self.goes_by_bytes {
            let evicted = self.inner.resize(self.bytes as usize);
            self.leave(&evicted);
            return evicted;
        }
        self.shrink(0)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.inner.resident()
    }
}
