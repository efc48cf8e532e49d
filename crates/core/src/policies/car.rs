//! CAR: clock with adaptive replacement.
//!
//! Idea: ARC with clocks in place of its LRU lists, so that a hit only sets a bit. T1 and T2 are clocks of blocks seen
//! once and seen again, B1 and B2 remember what left them and move the target size p of T1.
//!
//! Paper: Bansal, Modha, "CAR: clock with adaptive replacement", FAST 2004.
//!
//! Provenance: counts of an independent model on public traces (`crates/testkit/golden`); within 0.27 points of
//! Caffeine's simulator 3.2.0 on ten.
//!
//! Deviations and readings: p is a real number; the sizes that move it are those after the eviction and count the
//! referenced ghost itself. The bounds of the ghosts are kept on every miss, not only on those of a full cache, which
//! differs from the paper only after a removal or a growth, of which it does not speak. Shrinking lowers p to the new
//! capacity, turns the hands until the rest fits, then drops the oldest of B1 and B2 down to their new bounds.
//!
//! Cost: a hit sets one bit; a miss is O(1) amortised, one turn of a hand for each bit set before.
//! Memory: 4 bytes a slot, 40 bytes a block of capacity in the four logs, for at most as many ghosts as blocks.
//!
//! When not to use it: loops longer than the cache, as with ARC.

use crate::families::four_lists::{B1, B2, FourLists, T1, T2};
use crate::parts::ghost::evict_to;
use crate::parts::queue::Alike;
use crate::policy::{Args, Effects, Hits, Info, Outcome, Policy, Reference, Requirements, Setup, Slot};
use crate::spec::SpecError;

/// The CAR policy. T1 and T2 are clocks: the mark of a slot is its reference bit, the hand stands at the oldest end.
#[derive(Debug)]
pub struct Car(FourLists);

impl Policy for Car {
    const INFO: Info =
        Info { name: "car", family: "adaptive", summary: "ARC on two clocks: a hit only sets a bit", ..Info::EMPTY };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Ok(Car(FourLists::new(setup.capacity, setup.slots)))
    }

    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements {
            identities: FourLists::<Alike>::identities(capacity),
            hits: Hits::Bit,
            ..Requirements::of(capacity)
        })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        let lists = &mut self.0;
        let tag = lists.places.tag(slot);
        if matches!(tag, T1 | T2) {
            lists.places.mark(slot);
            return Outcome::Hit;
        }
        if lists.resident() == lists.capacity {
            replace(lists, fx);
        }
        match tag {
            B1 => {
                lists.raise_target(slot);
                lists.b1.take(&mut lists.places, slot);
                lists.t2.push(&mut lists.places, slot);
            }
            B2 => {
                lists.lower_target(slot);
                lists.b2.take(&mut lists.places, slot);
                lists.t2.push(&mut lists.places, slot);
            }
            _ => {
                lists.make_ghost_room(slot, fx);
                lists.t1.push(&mut lists.places, slot);
            }
        }
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.0.places.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.0.remove(slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.0.resize(capacity, fx, replace);
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

/// Turns the hands until one meets a clear bit, and evicts there.
#[inline(always)]
fn replace(lists: &mut FourLists, fx: &mut impl Effects) {
    let FourLists { t1, t2, b1, b2, places, target, .. } = lists;
    loop {
        if f64::from(t1.len()) >= target.max(1.0) {
            let Some(slot) = t1.oldest(places) else { return };
            if !(places.is_marked(slot) | fx.take_accessed(slot)) {
                evict_to(t1, b1, places, fx);
                return;
            }
            t1.take(places, slot);
            t2.push(places, slot);
        } else {
            let Some(slot) = t2.oldest(places) else { return };
            if !(places.is_marked(slot) | fx.take_accessed(slot)) {
                evict_to(t2, b2, places, fx);
                return;
            }
            t2.renew(places, slot);
        }
    }
}
