//! Keys and values by slot, and when values end.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use foldhash::fast::{FixedState, RandomState};
use hotset_core::host::Payload;
use hotset_core::parts::prefetch::prefetch;
use hotset_core::policy::Slot;

use crate::values::key_index::KeyIndex;
use crate::values::leaving::Leaving;

/// The end of a value that has none.
pub(super) const NEVER: Duration = Duration::MAX;

/// Of the policy's random numbers, and of identities: the simulator's.
pub(super) const SEED: u64 = 1;

/// Keys and values by slot.
pub(super) struct Objects<K, V> {
    pub index: KeyIndex,
    pub hasher: RandomState,
    pub entries: Vec<Option<Entry<K, V>>>,
    /// What values weigh, by slot; empty where each counts as one.
    pub weights: Vec<u64>,
    /// When values end, by slot; [`NEVER`] for those that do not. May be shorter than `entries`: the others do not.
    pub ends: Vec<Duration>,
    pub free: Vec<Slot>,
    /// Values that have left by the reference that is being decided.
    pub left: Vec<(Slot, V)>,
    /// In a batch, what has left and is not cleared yet.
    pub leaving: Option<Leaving>,
    pub len: usize,
    pub weight: u64,
}

/// A key that the policy knows, with its value if that is there.
pub(super) struct Entry<K, V> {
    pub key: K,
    /// What policies that count keys know it by, also after its slot has been given to another key.
    pub identity: u64,
    pub value: Option<V>,
}

impl<K: Hash + Eq, V> Payload for Objects<K, V> {
    fn admit(&mut self, _slot: Slot) {}

    fn release(&mut self, slot: Slot) {
        match &self.leaving {
            Some(leaving) if leaving.has(slot) => {}
            Some(_) => self.put_off(slot),
            None => self.clear(slot, false),
        }
    }

    fn forget(&mut self, slot: Slot) {
        match &mut self.leaving {
            Some(leaving) => leaving.forget(slot),
            None => self.clear(slot, true),
        }
    }
}

impl<K: Hash + Eq, V> Objects<K, V> {
    pub fn find<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Slot>
    where
        K: Borrow<Q>,
    {
        self.index.find(self.hasher.hash_one(key), |slot| is_of(&self.entries, slot, key))
    }

    /// Has a value leave, and its slot be free if the policy has forgotten it.
    pub fn clear(&mut self, slot: Slot, forgotten: bool) {
        if let Some(value) = self.take(slot) {
            self.left.push((slot, value));
        }
        if forgotten && let Some(entry) = self.entries[slot as usize].take() {
            self.index.remove(self.hasher.hash_one(&entry.key), slot);
            self.free.push(slot);
        }
    }

    /// Clears what leaves in a batch later, when its entry and its cell have been fetched.
    pub fn put_off(&mut self, slot: Slot) {
        let Some(leaving) = &mut self.leaving else { return };
        let due = leaving.push(slot);
        self.fetch(slot);
        if let Some(entry) = due.seek.and_then(|slot| self.entries[slot as usize].as_ref()) {
            self.seek(&entry.key);
        }
        if let Some((slot, forgotten)) = due.clear {
            self.clear(slot, forgotten);
        }
    }

    /// Fetches the entry of a slot.
    pub fn fetch(&self, slot: Slot) {
        // It may lie in two lines, and the next one begins in the second.
        (0..2).for_each(|more| prefetch(&self.entries, slot as usize + more));
    }

    /// Clears what has left and was put off: this slot.
    pub fn settle(&mut self, slot: Slot) {
        if let Some(leaving) = &mut self.leaving
            && leaving.has(slot)
            && let Some((slot, forgotten)) = leaving.take(slot)
        {
            self.clear(slot, forgotten);
        }
    }

    /// Clears all that was put off: the batch ends.
    pub fn settle_all(&mut self) {
        while let Some((slot, forgotten)) = self.leaving.as_mut().and_then(Leaving::pop) {
            self.clear(slot, forgotten);
        }
        self.leaving = None;
    }

    /// True if the key of the slot is unknown, though that was put off.
    pub fn is_forgotten(&self, slot: Slot) -> bool {
        self.leaving.as_ref().is_some_and(|leaving| leaving.has_forgotten(slot))
    }

    /// The hash of a key that will be looked up; fetches its cell of the index.
    pub fn seek(&self, key: &K) -> u64 {
        let hash = self.hasher.hash_one(key);
        self.index.prefetch(hash);
        hash
    }

    /// The slot of a key; one that is not known gets a free one.
    pub fn slot(&mut self, key: K) -> Slot {
        let hash = self.hasher.hash_one(&key);
        self.slot_by(hash, key)
    }

    /// The same by the hash of the key.
    pub fn slot_by(&mut self, hash: u64, key: K) -> Slot {
        let Objects { index, entries, free, leaving, .. } = self;
        let new = || free.pop().unwrap_or(entries.len() as Slot);
        let is_known = |slot| leaving.as_ref().is_none_or(|leaving| !leaving.has_forgotten(slot));
        let (slot, is_new) = index.find_or_add(hash, |slot| is_of(entries, slot, &key) && is_known(slot), new);
        if !is_new {
            return slot;
        }
        // The same in every run, so that decisions can be repeated; the index's own hash is another one in each.
        let identity = FixedState::with_seed(SEED).hash_one(&key);
        let entry = Some(Entry { key, identity, value: None });
        match entries.get_mut(slot as usize) {
            Some(free) => *free = entry,
            None => entries.push(entry),
        }
        slot
    }

    pub fn value(&self, slot: Slot) -> Option<&V> {
        self.entries[slot as usize].as_ref()?.value.as_ref()
    }

    /// The weight of the value.
    pub fn weight_of(&self, slot: Slot) -> u64 {
        self.weights.get(slot as usize).copied().unwrap_or(1)
    }

    /// True if the slot's value has an end that is not after `now`.
    pub fn has_ended(&self, slot: Slot, now: Duration) -> bool {
        self.ends.get(slot as usize).is_some_and(|&end| end <= now)
    }

    /// Sets the end of a value.
    #[inline]
    pub fn set_end(&mut self, slot: Slot, end: Duration) {
        if end < NEVER {
            self.ends.resize(self.entries.len().max(self.ends.len()), NEVER);
        }
        if let Some(of_slot) = self.ends.get_mut(slot as usize) {
            *of_slot = end;
        }
    }

    /// Some slot that has a value.
    pub fn any(&self) -> Option<Slot> {
        let found = self.entries.iter().position(|entry| entry.as_ref().is_some_and(|entry| entry.value.is_some()));
        found.map(|slot| slot as Slot)
    }

    /// Puts a value where there is none.
    pub fn put(&mut self, slot: Slot, value: V, weight: u64) {
        let Some(entry) = &mut self.entries[slot as usize] else { return };
        entry.value = Some(value);
        (self.len, self.weight) = (self.len + 1, self.weight + weight);
        if weight != self.weight_of(slot) {
            self.weights.resize(self.entries.len().max(self.weights.len()), 1);
            self.weights[slot as usize] = weight;
        }
    }

    pub fn take(&mut self, slot: Slot) -> Option<V> {
        let entry = self.entries[slot as usize].as_mut()?;
        let value = entry.value.take()?;
        (self.len, self.weight) = (self.len - 1, self.weight - self.weight_of(slot));
        Some(value)
    }
}

/// True if the slot belongs to this key.
pub(super) fn is_of<K: Borrow<Q>, V, Q: Eq + ?Sized>(entries: &[Option<Entry<K, V>>], slot: Slot, key: &Q) -> bool {
    entries[slot as usize].as_ref().is_some_and(|entry| entry.key.borrow() == key)
}
