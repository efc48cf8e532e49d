//! Keys and values of a shard by slot: the host that its policy sees.
//!
//! A ghost keeps the hash of its key and drops the key itself. So a ghost of another key with the same 64 bits of hash
//! counts as a ghost of this key, which changes a decision about once in 2^64 / n references.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::mem;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Cell;
use hotset_core::parts::prefetch::prefetch_across;
use hotset_core::policy::{Effects, Extra, Note, Slot};

use crate::gone::{Gone, Reason};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The end of a value that has none, in nanoseconds.
pub(crate) const NEVER: u64 = u64::MAX;

/// Keys and values by slot.
pub(crate) struct Entries<K, V> {
    /// Slots by the hashes of their keys.
    index: HashTable<Slot>,
    slab: Vec<Entry<K, V>>,
    /// Accessed bits by slot; empty if the policy reads none.
    used: Vec<AtomicBool>,
    /// Weights by slot; empty if each value counts as one.
    weights: Vec<u64>,
    /// Ends by slot in nanoseconds; may be shorter than the slab: the others have none.
    ends: Vec<u64>,
    /// Times of the last use by slot in nanoseconds; empty if values do not end by idling.
    uses: Vec<AtomicU64>,
    free: Vec<Slot>,
    /// Slots that are kept away from the policy.
    pub pinned: HashSet<Slot>,
    /// Their weight.
    pub pinned_weight: u64,
    /// Values that have left since the shard was locked.
    pub gone: Gone<K, V>,
    pub len: usize,
    pub weight: u64,
    pub evictions: u64,
    keeps_bits: bool,
    keeps_weights: bool,
    keeps_uses: bool,
}

/// A key that the policy tracks, with its value if that is resident.
struct Entry<K, V> {
    hash: u64,
    pair: Option<(K, V)>,
}

/// The side data that a shard keeps of each value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    pub bits: bool,
    pub weights: bool,
    pub uses: bool,
}

impl<K, V> Entries<K, V> {
    pub fn new(columns: Columns) -> Entries<K, V> {
        Entries {
            index: HashTable::new(),
            slab: Vec::new(),
            used: Vec::new(),
            weights: Vec::new(),
            ends: Vec::new(),
            uses: Vec::new(),
            free: Vec::new(),
            pinned: HashSet::new(),
            pinned_weight: 0,
            gone: Gone::default(),
            len: 0,
            weight: 0,
            evictions: 0,
            keeps_bits: columns.bits,
            keeps_weights: columns.weights,
            keeps_uses: columns.uses,
        }
    }

    /// Returns the slot of a key whose value is resident.
    #[inline(always)]
    pub fn find<Q: Eq + ?Sized>(&self, hash: u64, key: &Q) -> Option<Slot>
    where
        K: Borrow<Q>,
    {
        let is_its = |&slot: &Slot| self.pair(slot).is_some_and(|(own, _)| own.borrow() == key);
        self.index.find(hash, is_its).copied()
    }

    /// Returns the slot of a key whose value is resident, that of its ghost, or a new one. Without a key, its value is
    /// known to be absent.
    #[inline(always)]
    pub fn slot_of(&mut self, hash: u64, key: Option<&K>) -> Slot
    where
        K: Eq,
    {
        let Entries { index, slab, free, .. } = self;
        let has_it = |&slot: &Slot| match &slab[slot as usize] {
            Entry { hash: own, pair: None } => *own == hash,
            Entry { pair: Some((own, _)), .. } => key.is_some_and(|key| own == key),
        };
        let slot = match index.entry(hash, has_it, |&slot| slab[slot as usize].hash) {
            Cell::Occupied(cell) => return *cell.get(),
            Cell::Vacant(cell) => {
                let slot = free.pop().unwrap_or(slab.len() as Slot);
                cell.insert(slot);
                slot
            }
        };
        if let Some(end) = self.ends.get_mut(slot as usize) {
            *end = NEVER;
        }
        match self.slab.get_mut(slot as usize) {
            Some(entry) => entry.hash = hash,
            None => self.extend(hash),
        }
        slot
    }

    /// Adds an entry without a value.
    fn extend(&mut self, hash: u64) {
        self.slab.push(Entry { hash, pair: None });
        if self.keeps_bits {
            self.used.push(AtomicBool::new(false));
        }
        if self.keeps_weights {
            self.weights.push(0);
        }
        if self.keeps_uses {
            self.uses.push(AtomicU64::new(0));
        }
    }

    #[inline(always)]
    pub fn pair(&self, slot: Slot) -> Option<&(K, V)> {
        self.slab[slot as usize].pair.as_ref()
    }

    #[inline(always)]
    pub fn hash(&self, slot: Slot) -> u64 {
        self.slab[slot as usize].hash
    }

    pub fn weight_of(&self, slot: Slot) -> u64 {
        self.weights.get(slot as usize).copied().unwrap_or(1)
    }

    /// Returns the resident slots with their pairs.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &(K, V))> {
        (0..).zip(&self.slab).filter_map(|(slot, entry)| Some((slot, entry.pair.as_ref()?)))
    }

    /// Returns the resident slots.
    pub fn slots(&self) -> Vec<Slot> {
        self.iter().map(|(slot, _)| slot).collect()
    }

    /// Sets the accessed bit of a slot.
    #[inline(always)]
    pub fn mark(&self, slot: Slot) {
        let bit = &self.used[slot as usize];
        // A store would take the cache line from other processors.
        if !bit.load(Ordering::Relaxed) {
            bit.store(true, Ordering::Relaxed);
        }
    }

    /// Notes that a value was used now.
    #[inline(always)]
    pub fn touch(&self, slot: Slot, now: u64) {
        if let Some(last) = self.uses.get(slot as usize) {
            last.store(now, Ordering::Relaxed);
        }
    }

    /// True if values may end.
    #[inline(always)]
    pub fn may_end(&self) -> bool {
        self.keeps_uses || !self.ends.is_empty()
    }

    /// True if the value of a slot has ended.
    pub fn has_ended(&self, slot: Slot, now: u64, idle: u64) -> bool {
        let last = self.uses.get(slot as usize).map(|last| last.load(Ordering::Relaxed));
        self.ends.get(slot as usize).is_some_and(|&end| end <= now)
            || last.is_some_and(|last| last.saturating_add(idle) <= now)
    }

    /// Returns the slot of a ghost of a key.
    pub fn find_ghost(&self, hash: u64) -> Option<Slot> {
        let is_its =
            |&slot: &Slot| matches!(&self.slab[slot as usize], Entry { hash: own, pair: None } if *own == hash);
        self.index.find(hash, is_its).copied()
    }

    /// Fetches the entry that the key of a hash may have, and returns its slot.
    pub fn fetch(&self, hash: u64) -> Option<Slot> {
        let slot = self.index.find(hash, |_| true).copied()?;
        prefetch_across(&self.slab, slot as usize);
        Some(slot)
    }

    /// Sets the end of a value, which also ends the ghost that it may become.
    pub fn set_end(&mut self, slot: Slot, end: u64) {
        if end < NEVER {
            self.ends.resize(self.slab.len().max(self.ends.len()), NEVER);
        }
        if let Some(own) = self.ends.get_mut(slot as usize) {
            *own = end;
        }
    }

    /// Puts a pair into a slot without one.
    pub fn put(&mut self, slot: Slot, pair: (K, V), weight: u64, now: u64) {
        self.slab[slot as usize].pair = Some(pair);
        (self.len, self.weight) = (self.len + 1, self.weight + weight);
        if let Some(bit) = self.used.get_mut(slot as usize) {
            *bit = AtomicBool::new(false);
        }
        if let Some(own) = self.weights.get_mut(slot as usize) {
            *own = weight;
        }
        self.touch(slot, now);
    }

    /// Takes the pair out of a slot, for a reason. Returns true if there was one.
    pub fn take(&mut self, slot: Slot, reason: Reason) -> bool {
        let Some((key, value)) = self.slab[slot as usize].pair.take() else { return false };
        (self.len, self.weight) = (self.len - 1, self.weight - self.weight_of(slot));
        self.gone.push(key, value, reason);
        true
    }

    /// Ends the identity of a slot.
    pub fn free(&mut self, slot: Slot) {
        if let Ok(cell) = self.index.find_entry(self.slab[slot as usize].hash, |&other| other == slot) {
            cell.remove();
        }
        self.free.push(slot);
    }

    /// Returns the values that have left since the shard was locked.
    pub fn take_gone(&mut self) -> Gone<K, V> {
        mem::take(&mut self.gone)
    }

    /// Recounts everything and panics on a broken invariant. `hash` hashes keys.
    pub fn validate(&self, hash: impl Fn(&K) -> u64) {
        assert_eq!(self.iter().count(), self.len);
        assert_eq!(self.iter().map(|(slot, _)| self.weight_of(slot)).sum::<u64>(), self.weight);
        assert_eq!(self.index.len() + self.free.len(), self.slab.len(), "each slot is in the index or free");
        for (slot, (key, _)) in self.iter() {
            assert_eq!(self.hash(slot), hash(key));
            assert_eq!(self.index.find(self.hash(slot), |&other| other == slot), Some(&slot));
        }
        assert!(self.pinned.iter().all(|&slot| self.pair(slot).is_some()), "a pinned value is resident");
        assert_eq!(self.pinned.iter().map(|&slot| self.weight_of(slot)).sum::<u64>(), self.pinned_weight);
    }
}

impl<K, V> Effects for Entries<K, V> {
    fn evict(&mut self, slot: Slot) {
        self.evictions += u64::from(self.take(slot, Reason::Capacity));
    }

    fn forget(&mut self, slot: Slot) {
        // A pinned value is taken from the policy but stays.
        if self.pinned.is_empty() || !self.pinned.contains(&slot) {
            self.evict(slot);
            self.free(slot);
        }
    }

    /// Only the caller inserts values, so a prefetch cannot be served.
    fn fetch(&mut self, _slot: Slot, _why: Extra) {}

    #[inline(always)]
    fn take_accessed(&mut self, slot: Slot) -> bool {
        self.used.get_mut(slot as usize).is_some_and(|bit| mem::replace(bit, AtomicBool::new(false)).into_inner())
    }

    fn storage_busy(&self) -> Option<u64> {
        None
    }

    fn note(&mut self, _note: &Note) {}
}
