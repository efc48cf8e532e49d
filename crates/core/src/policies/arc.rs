//! ARC: adaptive replacement between recency and frequency.
//!
//! Idea: T1 holds blocks seen once lately, T2 those seen again; B1 and B2 remember what left them. A reference to a
//! block in B1 says that T1 was too small, one in B2 that T2 was; the target size p of T1 follows.
//!
//! Paper: Megiddo, Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003.
//!
//! Provenance: the ratios that the paper prints for P3 and P12 are met to both decimals (OLTP:
//! `docs/internals/decisions.md`); equal to libCacheSim 0.3.5 on twelve public traces, within 0.20 points of Caffeine's
//! simulator 3.2.0 on ten.
//!
//! Deviations and readings: p is a real number, as in the paper; well-known codes round it, which changes counts by a
//! few hits. The sizes that move p count the referenced ghost itself. A full cache makes room and one with a gap does
//! not, which differs from the paper only after a removal or a growth, of which it does not speak. Shrinking lowers p
//! to the new capacity, evicts by REPLACE until the rest fits, then drops the oldest of B1 and B2 down to their new
//! bounds. Objects of many sizes count in all lists by their sizes, and move p by as much more; REPLACE takes from T1
//! where T2 is empty.
//!
//! Cost: O(1) amortised; a hit writes one word and appends to a log, a miss moves one block to a ghost list and forgets
//! another. Memory: 4 bytes a slot, 40 bytes a block of capacity in the four logs, for at most as many ghosts as
//! blocks.
//!
//! When not to use it: loops longer than the cache (nothing is seen twice before it leaves the ghosts), and where each
//! block is soon read again just once (the second read counts as frequency).

use crate::families::four_lists::{B1, B2, FourLists, T1, T2};
use crate::parts::ghost::{discard_oldest, evict_to};
use crate::parts::queue::{Alike, SlotWeights, Weights};
use crate::policy::{Args, Effects, Info, Needs, Outcome, Policy, Ranked, Reference, Requirements, Setup, Slot};
use crate::spec::SpecError;

/// The ARC policy.
pub type Arc = ArcOf<Alike>;

/// The same for blocks of many weights.
pub type WeighedArc = ArcOf<SlotWeights>;

/// The same, whatever blocks weigh.
#[derive(Debug)]
pub struct ArcOf<W>(FourLists<W>);

impl<W: Weights> Policy for ArcOf<W> {
    const INFO: Info = Info {
        name: "arc",
        family: "adaptive",
        summary: "balance recency and frequency by what ghost lists would have hit",
        needs: Needs { size: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Ok(ArcOf(FourLists::new(setup.capacity, setup.slots)))
    }

    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements {
            identities: FourLists::<W>::identities(capacity),
            weighs: true,
            ..Requirements::of(capacity)
        })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let lists = &mut self.0;
        let FourLists { t1, t2, b1, b2, places, .. } = lists;
        let is_other = places.weigh([t1, t2, b1, b2], slot, reference.weight);
        let outcome = match lists.places.tag(slot) {
            T2 => {
                lists.t2.renew(&mut lists.places, slot);
                Outcome::Hit
            }
            T1 => {
                lists.t1.take(&mut lists.places, slot);
                lists.t2.push(&mut lists.places, slot);
                Outcome::Hit
            }
            B1 => {
                lists.raise_target(slot);
                make_room(lists, slot, false, fx);
                lists.b1.take(&mut lists.places, slot);
                lists.t2.push(&mut lists.places, slot);
                Outcome::Admitted
            }
            B2 => {
                lists.lower_target(slot);
                make_room(lists, slot, true, fx);
                lists.b2.take(&mut lists.places, slot);
                lists.t2.push(&mut lists.places, slot);
                Outcome::Admitted
            }
            _ => {
                make_room_for_stranger(lists, slot, fx);
                lists.t1.push(&mut lists.places, slot);
                return Outcome::Admitted;
            }
        };
        if is_other {
            self.resize(self.0.capacity, fx);
        }
        outcome
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.0.places.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.0.remove(slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.0.resize(capacity, fx, |lists, fx| replace(lists, false, fx));
    }

    fn grow(&mut self, slots: u32) {
        self.0.grow(slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.0.contains(slot)
    }

    fn len(&self) -> u32 {
        self.0.resident()
    }

    fn validate(&self) {
        self.0.validate();
    }
}

impl<W: Weights> Ranked for ArcOf<W> {
    fn keep_order(&mut self) -> bool {
        self.0.t2.count_ranks();
        self.0.t1.count_ranks();
        true
    }

    /// T2 from the youngest on, then T1.
    fn position(&self, slot: Slot) -> Option<u32> {
        match self.0.places.tag(slot) {
            T2 => Some(self.0.t2.rank(&self.0.places, slot)),
            T1 => Some(self.0.t2.len() + self.0.t1.rank(&self.0.places, slot)),
            _ => None,
        }
    }

    fn at(&self, position: u32) -> Option<Slot> {
        match position.checked_sub(self.0.t2.len()) {
            None => self.0.t2.at_rank(position),
            Some(behind) => self.0.t1.at_rank(behind),
        }
    }
}

/// The paper's case IV: a block in none of the lists.
#[inline(always)]
fn make_room_for_stranger<W: Weights>(lists: &mut FourLists<W>, slot: Slot, fx: &mut impl Effects) {
    while lists.t1.len() + lists.places.weight(slot) > lists.capacity {
        discard_oldest(&mut lists.t1, &mut lists.places, fx);
        if W::ARE_ALIKE {
            return;
        }
    }
    lists.make_ghost_room(slot, fx);
    make_room(lists, slot, false, fx);
}

#[inline(always)]
fn make_room<W: Weights>(lists: &mut FourLists<W>, slot: Slot, in_b2: bool, fx: &mut impl Effects) {
    while lists.resident() + lists.places.weight(slot) > lists.capacity {
        replace(lists, in_b2, fx);
        if W::ARE_ALIKE {
            return;
        }
    }
}

/// The paper's REPLACE. T2 may be empty where T1 should be larger only as long as blocks are of many weights.
#[inline(always)]
fn replace(lists: &mut FourLists<impl Weights>, in_b2: bool, fx: &mut impl Effects) {
    let size = f64::from(lists.t1.len());
    let is_larger = size > lists.target || in_b2 && size == lists.target;
    if !lists.t1.is_empty() && (is_larger || lists.t2.is_empty()) {
        evict_to(&mut lists.t1, &mut lists.b1, &mut lists.places, fx);
    } else {
        evict_to(&mut lists.t2, &mut lists.b2, &mut lists.places, fx);
    }
}
