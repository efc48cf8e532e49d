//! A host that trusts no policy: it owns the slots, records what leaves and complains of every broken promise.

use std::collections::{BTreeMap, BTreeSet};

use hotset_core::policy::{Effects, Extra, Note, Slot};

/// How keys become slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// Slot = key, always. A forgotten key keeps its number.
    Fixed,
    /// The lowest free slot; a forgotten slot is given to another key.
    Recycled,
}

/// The host's view of one cache.
#[derive(Debug)]
pub struct Host {
    numbering: Numbering,
    slots: BTreeMap<u32, Slot>,
    keys: BTreeMap<Slot, u32>,
    free: BTreeSet<Slot>,
    resident: BTreeSet<u32>,
    evicted: Vec<u32>,
    fetched: Vec<u32>,
    /// The clock of the reference at hand.
    pub(crate) clock: u64,
    complaint: Option<String>,
}

impl Host {
    /// A host that owns slots below `slots`.
    pub fn new(numbering: Numbering, slots: u32) -> Host {
        Host {
            numbering,
            slots: BTreeMap::new(),
            keys: BTreeMap::new(),
            free: (0..slots).collect(),
            resident: BTreeSet::new(),
            evicted: Vec::new(),
            fetched: Vec::new(),
            clock: 0,
            complaint: None,
        }
    }

    /// How keys become slots.
    pub fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// Owns slots `from..to` besides.
    pub fn grow(&mut self, from: u32, to: u32) {
        self.free.extend(from..to);
    }

    /// The slot by which the policy knows `key`.
    pub fn slot(&self, key: u32) -> Option<Slot> {
        self.slots.get(&key).copied()
    }

    /// The slot by which the policy knows `key` or is going to; `None` if all slots are taken.
    pub fn claim(&mut self, key: u32) -> Option<Slot> {
        if let Some(slot) = self.slot(key) {
            return Some(slot);
        }
        let slot = match self.numbering {
            Numbering::Fixed => key,
            Numbering::Recycled => *self.free.first()?,
        };
        if !self.free.remove(&slot) {
            return None;
        }
        self.slots.insert(key, slot);
        self.keys.insert(slot, key);
        Some(slot)
    }

    /// Notes that `key` came in.
    pub fn admit(&mut self, key: u32) {
        self.resident.insert(key);
    }

    /// Notes that the data of `key` is void; the policy needs no `evict` for it.
    pub fn invalidate(&mut self, key: u32) {
        self.resident.remove(&key);
    }

    /// The resident keys.
    pub fn resident(&self) -> &BTreeSet<u32> {
        &self.resident
    }

    /// Every key and slot that the policy may still know.
    pub fn known(&self) -> impl Iterator<Item = (u32, Slot)> + '_ {
        self.slots.iter().map(|(&key, &slot)| (key, slot))
    }

    /// The keys evicted since the last call, or the first promise broken since.
    pub fn take_evicted(&mut self) -> Result<Vec<u32>, String> {
        match self.complaint.take() {
            Some(complaint) => Err(complaint),
            None => Ok(std::mem::take(&mut self.evicted)),
        }
    }

    /// The keys read ahead of their use since the last call.
    pub fn take_fetched(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.fetched)
    }

    fn complain(&mut self, complaint: String) {
        self.complaint.get_or_insert(complaint);
    }
}

impl Effects for Host {
    fn evict(&mut self, slot: Slot) {
        match self.keys.get(&slot).copied() {
            Some(key) if self.resident.remove(&key) => self.evicted.push(key),
            Some(key) => self.complain(format!("evicted {key} (slot {slot}), which was not resident")),
            None => self.complain(format!("evicted slot {slot}, which is free")),
        }
    }

    fn fetch(&mut self, slot: Slot, _why: Extra) {
        match self.keys.get(&slot).copied() {
            Some(key) if self.resident.insert(key) => self.fetched.push(key),
            Some(key) => self.complain(format!("fetched {key} (slot {slot}), which was resident")),
            None => self.complain(format!("fetched slot {slot}, which is free")),
        }
    }

    fn storage_busy(&self) -> Option<u64> {
        Some(crate::world::storage_busy(self.clock))
    }

    fn forget(&mut self, slot: Slot) {
        let Some(key) = self.keys.remove(&slot) else {
            self.complain(format!("forgot slot {slot}, which is free"));
            return;
        };
        if self.resident.contains(&key) {
            self.complain(format!("forgot {key} (slot {slot}), which is resident"));
        }
        self.slots.remove(&key);
        self.free.insert(slot);
    }

    #[inline(always)]
    fn take_accessed(&mut self, _slot: Slot) -> bool {
        false
    }

    fn note(&mut self, _note: &Note) {}
}
