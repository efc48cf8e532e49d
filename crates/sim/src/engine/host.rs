//! The host of a policy: it knows which blocks are dirty, counts transfers to and from storage, and reports the fate of
//! blocks to a watcher.

use hotset_core::classify::Class;
use hotset_core::policy::{Effects, Extra, Note, Outcome, Repartition, Slot};

use super::directory::Directory;
use super::tally::Transfers;
use crate::window::ClassFacts;

/// Facts of blocks that a driver needs in addition to the counts. The windows need none.
pub(crate) trait Watch: Send {
    /// The block in `slot` is not resident any more.
    #[inline(always)]
    fn leaves(&mut self, _slot: Slot) {}
    /// The block in `slot`, at this address, goes to storage.
    #[inline(always)]
    fn is_written(&mut self, _address: impl FnOnce() -> u64) {}
    /// The block in `slot` is read without a request, and is resident.
    #[inline(always)]
    fn enters(&mut self, _slot: Slot) {}
    /// The policy tells something of itself.
    #[inline(always)]
    fn is_told(&mut self, _note: &Note) {}
    /// Nanoseconds for which storage has worked so far, where there is one.
    fn storage_busy(&self) -> Option<u64> {
        None
    }
}

impl Watch for () {}

pub(crate) struct Host<D, W = ()> {
    pub directory: D,
    pub watch: W,
    pub transfers: Transfers,
    /// By class: blocks written to storage. Empty without classes.
    pub class_writes: Vec<u64>,
    pub decisions: Vec<Repartition>,
    /// One bit a slot: the block was written since it entered.
    dirty: Vec<u64>,
    /// By slot: the class in which a dirty block was written; empty without classes.
    written_as: Vec<Class>,
}

impl<D: Directory, W: Watch> Host<D, W> {
    pub fn new(directory: D, watch: W, classes: &[ClassFacts]) -> Self {
        Host {
            directory,
            watch,
            transfers: Transfers::default(),
            class_writes: vec![0; classes.len()],
            decisions: Vec::new(),
            dirty: Vec::new(),
            written_as: Vec::new(),
        }
    }

    /// True if a block was written so far, so that some may be dirty.
    #[inline(always)]
    pub fn has_written(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// The block in `slot` is clean from here on; tells whether it was dirty.
    #[inline(always)]
    fn clean(&mut self, slot: Slot) -> bool {
        let (word, bit) = (slot as usize / 64, 1 << (slot % 64));
        let was_dirty = self.dirty.get(word).is_some_and(|dirty| dirty & bit != 0);
        if was_dirty {
            self.dirty[word] &= !bit;
        }
        was_dirty
    }

    /// A reference wrote the block in `slot`, with this outcome.
    #[inline(always)]
    pub fn write(&mut self, slot: Slot, class: Class, outcome: Outcome) {
        match outcome {
            Outcome::Bypassed => self.write_back(slot, class),
            Outcome::Hit | Outcome::Admitted => self.mark_dirty(slot, class),
        }
    }

    #[inline(always)]
    fn mark_dirty(&mut self, slot: Slot, class: Class) {
        let word = slot as usize / 64;
        if word >= self.dirty.len() {
            self.dirty.resize((self.directory.slots() as usize / 64).max(word) + 1, 0);
        }
        self.dirty[word] |= 1 << (slot % 64);
        if !self.class_writes.is_empty() {
            if slot as usize >= self.written_as.len() {
                self.written_as.resize((self.directory.slots() as usize).max(slot as usize + 1), 0);
            }
            self.written_as[slot as usize] = class;
        }
    }

    fn write_back(&mut self, slot: Slot, class: Class) {
        self.count_write_back(class);
        self.watch.is_written(|| self.directory.address_of(slot));
    }

    /// A block of this class goes to storage.
    pub fn count_write_back(&mut self, class: Class) {
        self.transfers.write_backs += 1;
        if let Some(writes) = self.class_writes.get_mut(usize::from(class)) {
            *writes += 1;
        }
    }

    /// The slots of the blocks of these keys, if the cache `holds` all of them.
    pub fn slots_if_all(&self, keys: &[D::Key], holds: impl Fn(Slot) -> bool) -> Option<Vec<Slot>> {
        keys.iter().map(|&key| self.directory.find(key).filter(|&slot| holds(slot))).collect()
    }

    /// The block in `slot` was invalidated: it leaves, and is not written.
    pub fn invalidate(&mut self, slot: Slot) {
        self.clean(slot);
        self.watch.leaves(slot);
    }
}

/// The host as a policy sees it. Without a write so far nothing can be dirty, and evictions cost nothing.
pub(crate) struct Counting<'a, D, W, const WRITES: bool>(pub &'a mut Host<D, W>);

impl<D: Directory, W: Watch, const WRITES: bool> Effects for Counting<'_, D, W, WRITES> {
    #[inline(always)]
    fn evict(&mut self, slot: Slot) {
        self.0.watch.leaves(slot);
        if WRITES && self.0.clean(slot) {
            let class = self.0.written_as.get(slot as usize).copied().unwrap_or_default();
            self.0.write_back(slot, class);
        }
    }

    #[inline(always)]
    fn fetch(&mut self, slot: Slot, why: Extra) {
        self.0.transfers.extra_reads += 1;
        self.0.transfers.extra.count(why);
        self.0.watch.enters(slot);
    }

    #[inline(always)]
    fn forget(&mut self, slot: Slot) {
        self.0.directory.forget(slot);
    }

    fn storage_busy(&self) -> Option<u64> {
        self.0.watch.storage_busy()
    }

    fn note(&mut self, told: &Note) {
        match *told {
            Note::Unforced(_) => self.0.transfers.extra.push_outs += 1,
            Note::Division(decision) => match self.0.decisions.last_mut() {
                Some(last) if last.parts == decision.parts => last.targets.clone_from(&decision.targets),
                _ => self.0.decisions.push(decision.clone()),
            },
            Note::Worth(_) | Note::HitRates(_) => self.0.watch.is_told(told),
        }
    }

    #[inline(always)]
    fn take_accessed(&mut self, _slot: Slot) -> bool {
        false
    }
}
