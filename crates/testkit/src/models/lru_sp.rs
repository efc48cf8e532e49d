//! LRU-SP: the system's list, pools by searching it, placeholders in a map.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::partitions::Table;
use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

pub(super) struct LruSp {
    capacity: usize,
    mru: bool,
    /// The system's list, the next to leave first.
    order: VecDeque<u32>,
    /// By key: the application that used it last, and when.
    uses: BTreeMap<u32, (u32, u64)>,
    /// Applications that have a manager.
    managed: Table<()>,
    /// Blocks that lost their manager with its table entry, until their next use.
    unmanaged: BTreeSet<u32>,
    /// From the block given up to the one spared.
    placeholders: BTreeMap<u32, u32>,
}

impl Model for LruSp {
    fn new(given: &Given<'_>) -> LruSp {
        LruSp {
            capacity: given.capacity,
            mru: given.args.word("manager") == "mru",
            order: VecDeque::new(),
            uses: BTreeMap::new(),
            managed: Table::new(given.args.count("pools") as usize),
            unmanaged: BTreeSet::new(),
            placeholders: BTreeMap::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let hit = self.order.contains(&key);
        let spared = self.placeholders.remove(&key);
        let mut evicted = Vec::new();
        if hit {
            self.take(key);
        } else if self.order.len() == self.capacity {
            match spared {
                Some(spared) => {
                    self.take(spared);
                    evicted.push(spared);
                }
                None => evicted.push(self.evict()),
            }
        }
        self.order.push_back(key);
        self.uses.insert(key, (reference.app, reference.time));
        self.manage(reference.app);
        self.unmanaged.remove(&key);
        ModelStep { hit, evicted, ..ModelStep::default() }
    }

    fn remove(&mut self, key: u32) {
        self.take(key);
        self.placeholders.remove(&key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        let surplus = self.order.len().saturating_sub(capacity);
        (0..surplus).map(|_| self.evict()).collect()
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.order.iter().copied().collect()
    }
}

impl LruSp {
    /// Notes a use by `app`; if another application loses its manager by that, so do its blocks.
    fn manage(&mut self, app: u32) {
        if self.managed.find(u64::from(app)).is_some() {
            return;
        }
        let before: Vec<u64> = self.managed.entries.iter().map(|&(app, ())| app).collect();
        self.managed.insert(u64::from(app), ());
        for lost in before.into_iter().filter(|&app| self.managed.peek(app).is_none()) {
            let owned = self.order.iter().filter(|key| u64::from(self.uses[key].0) == lost);
            self.unmanaged.extend(owned);
        }
    }

    /// A block is used or leaves: nothing points to it any more.
    fn take(&mut self, key: u32) {
        self.order.retain(|&other| other != key);
        self.placeholders.retain(|_, spared| *spared != key);
    }

    fn evict(&mut self) -> u32 {
        let candidate = self.order[0];
        let offered = self.offer(candidate);
        let position = self.order.iter().position(|&key| key == offered).expect("the owner gives up a resident");
        self.order.swap(0, position);
        self.take(offered);
        if offered != candidate {
            self.placeholders.retain(|_, spared| *spared != candidate);
            self.placeholders.insert(offered, candidate);
        }
        offered
    }

    fn offer(&self, candidate: u32) -> u32 {
        if self.unmanaged.contains(&candidate) {
            return candidate;
        }
        let app = self.uses[&candidate].0;
        let pool = self.order.iter().filter(|key| self.uses[key].0 == app && !self.unmanaged.contains(key));
        let by_use = |key: &&u32| self.uses[key].1;
        let offered = if self.mru { pool.max_by_key(by_use) } else { pool.min_by_key(by_use) };
        *offered.expect("the candidate is in the pool")
    }
}
