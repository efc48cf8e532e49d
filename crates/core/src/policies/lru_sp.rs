//! LRU-SP: every process manages its own blocks; the system sees to it that a foolish one harms only itself.
//!
//! Idea: the system picks the least recently used block, but its owner may give up another of its blocks instead. The
//! two then swap positions in the system's list, so that the process does not lose more by the next choice, and a
//! placeholder for the block given up points to the one spared: if the former is wanted again first, the choice was
//! bad, and the latter leaves in turn.
//!
//! Paper: Cao, Felten, Li, "Implementation and performance of application-controlled file caching", OSDI 1994.
//!
//! Provenance: not checked against the paper, whose text was not at hand, nor against another program: the model checks
//! the code, not the reading.
//!
//! Deviations and readings: there each process brings its policy; here all have the same one: `manager=mru`
//! gives up the most recently used block of the pool, what suits loops, and `manager=lru` the least recently used one,
//! which is always the system's own choice, so that all is LRU. A block belongs to the application that referenced it
//! last. A placeholder ends when its block comes back, when the block that it points to is referenced (the choice was
//! then right) or leaves, or when another placeholder comes to point there. Applications beyond `pools`, those that
//! referenced longest ago, have no manager.
//!
//! Cost: O(1) amortised; every reference moves its block in the system's list and in its pool, which is linked and
//! touches the neighbours. Memory: 20 bytes a slot, of which there are up to two a block, and 12 to 24 bytes a block.
//!
//! When not to use it: without knowledge of the applications: `manager=mru` is as bad as MRU where blocks are used
//! again soon.

use crate::parts::large;
use crate::parts::links::{Links, List};
use crate::parts::queue::{Places, Queue, Tag};
use crate::parts::recent_table::{Index, RecentTable};
use crate::policy::{
    Args, Discard, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

const RESIDENT: Tag = 0;
const PLACEHOLDER: Tag = 1;

/// No pool, no slot.
const NONE: u32 = u32::MAX;

/// The LRU-SP policy.
#[derive(Debug)]
pub struct LruSp {
    capacity: u32,
    gives_youngest: bool,
    places: Places,
    /// The system's list.
    queue: Queue,
    /// The blocks of each application in the order of use.
    pools: RecentTable<List>,
    links: Links,
    /// By slot: the pool of a resident block, or [`NONE`].
    owners: Vec<u32>,
    /// By slot: from a placeholder to the block that it points to and back, or [`NONE`].
    partners: Vec<Slot>,
}

impl Policy for LruSp {
    const INFO: Info = Info {
        name: "lru-sp",
        family: "recency",
        summary: "LRU among applications, each of which chooses what it gives up",
        params: &[
            Param {
                key: "manager",
                kind: ParamKind::Word(&["mru", "lru"]),
                default: "mru",
                doc: "block that an application gives up: the one used most or least recently (paper: the application decides)",
            },
            Param {
                key: "pools",
                kind: ParamKind::Count { min: 1, max: 1 << 20 },
                default: "4096",
                doc: "applications that manage their blocks, those that referenced last",
            },
        ],
        needs: Needs { app: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let slots = setup.slots as usize;
        let mut lru_sp = LruSp {
            capacity: setup.capacity,
            gives_youngest: setup.args.word("manager") == "mru",
            places: Places::new(setup.slots),
            queue: Queue::new(RESIDENT, 0),
            pools: RecentTable::new(setup.args.count("pools") as u32),
            links: Links::new(setup.slots),
            owners: large::filled(NONE, slots),
            partners: large::filled(NONE, slots),
        };
        lru_sp.fit_queue();
        Ok(lru_sp)
    }

    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements::of(capacity).with_ghosts(Some(capacity)))
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        if self.places.tag(slot) == RESIDENT {
            self.end_placeholder(slot, fx);
            self.queue.renew(&mut self.places, slot);
            self.join_pool(slot, reference.app);
            return Outcome::Hit;
        }
        let spared = self.redeem(slot);
        if self.queue.len() == self.capacity {
            match spared {
                Some(spared) => self.discard(spared, fx),
                None => self.evict(fx),
            }
        }
        self.queue.push(&mut self.places, slot);
        self.join_pool(slot, reference.app);
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
        self.links.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.places.tag(slot) == RESIDENT {
            self.end_placeholder(slot, fx);
            self.queue.take(&mut self.places, slot);
            self.leave_pool(slot);
            fx.forget(slot);
        } else if self.redeem(slot).is_some() {
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.queue.len() > capacity {
            self.evict(fx);
        }
        self.fit_queue();
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        self.links.grow(slots);
        for column in [&mut self.owners, &mut self.partners] {
            column.resize(column.len().max(slots as usize), NONE);
        }
        self.fit_queue();
    }

    fn contains(&self, slot: Slot) -> bool {
        self.places.tag(slot) == RESIDENT
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.queue.len()
    }

    fn validate(&self) {
        self.queue.validate(&self.places);
        self.pools.validate();
        assert!(self.len() <= self.capacity);
        for slot in 0..self.places.slots() {
            let (owner, partner) = (self.owners[slot as usize], self.partners[slot as usize]);
            assert!(owner == NONE || self.contains(slot), "a pool owns a block that left");
            assert!(partner != NONE || self.places.tag(slot) != PLACEHOLDER, "a placeholder points nowhere");
            if partner != NONE {
                assert_eq!(self.partners[partner as usize], slot, "a placeholder is not known where it points");
                assert_ne!(self.contains(slot), self.contains(partner), "a placeholder's block is resident");
            }
            if owner != NONE {
                let pool = self.pools.value(owner as Index);
                pool.validate(&self.links);
                assert!(pool.iter(&self.links).any(|other| other == slot), "a block is not in its pool");
            }
        }
    }
}

impl LruSp {
    fn fit_queue(&mut self) {
        let bound = self.capacity.min(self.places.slots());
        self.queue.grow(&mut self.places, bound);
    }

    /// Makes room: the owner of the least recently used block may give up another one, at whose position the former
    /// stays.
    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let Some(candidate) = self.queue.oldest(&self.places) else { return };
        let offered = self.offer(candidate);
        if offered == candidate {
            return self.discard(candidate, fx);
        }
        self.end_placeholder(offered, fx);
        self.end_placeholder(candidate, fx);
        self.queue.replace(&mut self.places, offered, candidate);
        self.leave_pool(offered);
        self.places.put(offered, PLACEHOLDER, 0);
        self.partners[offered as usize] = candidate;
        self.partners[candidate as usize] = offered;
        fx.evict(offered);
    }

    /// The block that the owner of `candidate` gives up.
    #[inline(always)]
    fn offer(&self, candidate: Slot) -> Slot {
        let owner = self.owners[candidate as usize];
        if owner == NONE {
            return candidate;
        }
        let pool = self.pools.value(owner as Index);
        let offered = if self.gives_youngest { pool.youngest() } else { pool.oldest(&self.links) };
        offered.unwrap_or(candidate)
    }

    /// Evicts `slot` without a placeholder.
    #[inline(always)]
    fn discard(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.end_placeholder(slot, fx);
        self.queue.take(&mut self.places, slot);
        self.leave_pool(slot);
        fx.discard(slot);
    }

    /// Ends the placeholder that points to the resident `slot`, if there is one.
    #[inline(always)]
    fn end_placeholder(&mut self, slot: Slot, fx: &mut impl Effects) {
        let given_up = self.partners[slot as usize];
        if given_up != NONE {
            self.redeem(given_up);
            fx.forget(given_up);
        }
    }

    /// Ends the placeholder of `slot`, if it has one, and says where it pointed.
    #[inline(always)]
    fn redeem(&mut self, slot: Slot) -> Option<Slot> {
        if self.places.tag(slot) != PLACEHOLDER {
            return None;
        }
        let spared = std::mem::replace(&mut self.partners[slot as usize], NONE);
        self.partners[spared as usize] = NONE;
        self.places.clear(slot);
        Some(spared)
    }

    /// Makes the resident `slot` the youngest in the pool of `app`.
    #[inline(always)]
    fn join_pool(&mut self, slot: Slot, app: u32) {
        let pool = match self.pools.find(u64::from(app)) {
            Some(pool) => pool,
            None => self.open_pool(app),
        };
        if self.owners[slot as usize] == pool as u32 {
            self.pools.value_mut(pool).renew(&mut self.links, slot);
        } else {
            self.leave_pool(slot);
            self.pools.value_mut(pool).push(&mut self.links, slot);
            self.owners[slot as usize] = pool as u32;
        }
    }

    /// An empty pool for `app`. The blocks of the one that it displaces lose their manager.
    fn open_pool(&mut self, app: u32) -> Index {
        let (pool, displaced) = self.pools.insert(u64::from(app), List::default());
        let mut displaced = displaced.unwrap_or_default();
        while let Some(slot) = displaced.pop_oldest(&mut self.links) {
            self.owners[slot as usize] = NONE;
        }
        pool
    }

    #[inline(always)]
    fn leave_pool(&mut self, slot: Slot) {
        let owner = std::mem::replace(&mut self.owners[slot as usize], NONE);
        if owner != NONE {
            self.pools.value_mut(owner as Index).take(&mut self.links, slot);
        }
    }
}
