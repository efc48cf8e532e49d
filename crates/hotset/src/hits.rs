//! References to resident values that a shard's policy has not seen yet.
//!
//! A hit holds the shard's lock shared, so it cannot call the policy. If the policy orders values by use, the hit
//! appends the slot to this log, and the next exclusive hold of the lock replays the log before anything else. An event
//! that finds the log full is dropped and counted. Appending needs the shared hold and replaying the exclusive one, so
//! no event is appended during a replay.

use hotset_core::policy::Slot;

use crate::sync::atomic::{AtomicU64, Ordering};

/// Events that a log holds, unless the builder says otherwise.
pub(crate) const EVENTS: usize = 64;

/// One shard's log. For a policy that does not order values by use it has no events and only counts hits.
pub(crate) struct HitLog {
    /// Hits since the last replay.
    count: AtomicU64,
    /// The slots in the low halves, the tenants in the high ones.
    events: Box<[AtomicU64]>,
}

impl HitLog {
    /// A log of this many events; with 0, only their count.
    pub fn new(length: usize) -> HitLog {
        HitLog { count: AtomicU64::new(0), events: (0..length).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Adds a hit. Returns true if the log should be replayed soon.
    #[inline(always)]
    pub fn push(&self, slot: Slot, tenant: u32) -> bool {
        let at = self.count.fetch_add(1, Ordering::Relaxed);
        match self.events.get(at as usize) {
            None => !self.events.is_empty(),
            Some(event) => {
                event.store(u64::from(tenant) << 32 | u64::from(slot), Ordering::Relaxed);
                at as usize + 1 == self.events.len()
            }
        }
    }

    /// Returns the hits since the last replay.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Empties the log. Returns the number of hits, and of events among them that can be replayed.
    #[inline(always)]
    pub fn begin(&mut self) -> (u64, usize) {
        let count = std::mem::replace(&mut self.count, AtomicU64::new(0)).into_inner();
        (count, self.events.len().min(count as usize))
    }

    /// Returns the slot and the tenant of an event.
    #[inline(always)]
    pub fn event(&mut self, at: usize) -> (Slot, u32) {
        let event = self.events[at].load(Ordering::Relaxed);
        (event as Slot, (event >> 32) as u32)
    }

    /// True if the policy sees hits as events.
    pub fn keeps_events(&self) -> bool {
        !self.events.is_empty()
    }
}
