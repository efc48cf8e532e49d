//! OPT where it is called for blocks that are not resident alone, and asks its host for next uses.
//!
//! A resident whose next use has passed was used meanwhile, for its next use is known exactly: so when a frame is
//! needed those are looked up again, and references to residents need not be watched. A resize does not know the time:
//! it chooses as at the last miss.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Opt, unforeseen};
use crate::capabilities;
use crate::policy::{Discard, Effects, Future, Info, NextUses, Outcome, Policy, Reference, Setup, Slot};
use crate::spec::SpecError;

/// Not used again.
const NEVER: u64 = u64::MAX;

/// OPT, called on misses.
pub(super) struct Asking {
    capacity: u32,
    next_uses: Arc<dyn NextUses>,
    /// The last miss.
    now: u64,
    /// Next use and slot, of the residents.
    order: BTreeSet<(u64, Slot)>,
    /// By slot: the next use under which it is in `order`; `None` if it is not resident.
    standing: Vec<Option<u64>>,
}

capabilities!(Asking: []);

impl Policy for Asking {
    const INFO: Info = Opt::INFO;

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let Some(Future::Asked(next_uses)) = setup.future else { return Err(unforeseen(Opt::INFO.name)) };
        Ok(Asking {
            capacity: setup.capacity,
            next_uses: next_uses.clone(),
            now: 0,
            order: BTreeSet::new(),
            standing: vec![None; setup.slots as usize],
        })
    }

    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        self.now = reference.time;
        if self.contains(slot) {
            return Outcome::Hit;
        }
        if self.len() == self.capacity {
            self.evict(fx);
        }
        self.put(slot);
        Outcome::Admitted
    }

    fn prefetch(&self, _slot: Slot) {}

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.contains(slot) {
            self.take(slot);
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.len() > capacity {
            self.evict(fx);
        }
    }

    fn grow(&mut self, slots: u32) {
        self.standing.resize((slots as usize).max(self.standing.len()), None);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.standing[slot as usize].is_some()
    }

    fn len(&self) -> u32 {
        self.order.len() as u32
    }

    fn validate(&self) {
        assert!(self.len() <= self.capacity);
        assert_eq!(self.standing.iter().flatten().count(), self.order.len());
        assert!(self.order.iter().all(|&(next_use, slot)| self.standing[slot as usize] == Some(next_use)));
    }
}

impl Asking {
    fn put(&mut self, slot: Slot) {
        let next_use = self.next_uses.after(slot, self.now).unwrap_or(NEVER);
        self.standing[slot as usize] = Some(next_use);
        self.order.insert((next_use, slot));
    }

    fn take(&mut self, slot: Slot) {
        if let Some(next_use) = self.standing[slot as usize].take() {
            self.order.remove(&(next_use, slot));
        }
    }

    /// Evicts the block used again last; of those never used again, the one with the lowest number.
    fn evict(&mut self, fx: &mut impl Effects) {
        while let Some(&(next_use, slot)) = self.order.first()
            && next_use < self.now
        {
            self.take(slot);
            self.put(slot);
        }
        let done = self.order.range((NEVER, 0)..).next();
        if let Some(&(_, victim)) = done.or(self.order.last()) {
            self.take(victim);
            fx.discard(victim);
        }
    }
}
