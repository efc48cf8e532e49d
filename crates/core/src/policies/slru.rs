//! SLRU: an LRU list in two segments; only blocks that were hit reach the protected one.
//!
//! Idea: a new block is on probation. A hit moves it to the protected segment, and what that pushes out goes back on
//! probation for a second chance. Blocks used once pass through probation alone and cannot flush those used twice.
//!
//! Paper: Karedla, Love, Wherry, "Caching strategies to improve disk system performance", IEEE Computer 1994.
//!
//! Provenance: equal to Caffeine's simulator 3.2.0 on ten public traces; libCacheSim has four segments.
//!
//! Deviations: none. The paper finds 60 to 80% protected to be best; 80% is the default, as in W-TinyLFU's main area.
//! Objects of many sizes count in both segments by their sizes.
//!
//! Cost: O(1) amortised. Memory: 18 to 33 bytes a block (4 a slot, 8 to 16 a block in each queue's bound).
//!
//! When not to use it: when new blocks are wanted again soon and often but once; probation is short.

use crate::parts::ghost::forget_in;
use crate::parts::queue::{Alike, Places, Queue, SlotWeights, Tag, Weights};
use crate::policy::{
    Args, Discard, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

const PROBATION: Tag = 0;
const PROTECTED: Tag = 1;

/// The SLRU policy.
pub type Slru = SlruOf<Alike>;

/// The same for blocks of many weights.
pub type WeighedSlru = SlruOf<SlotWeights>;

/// The same, whatever blocks weigh.
#[derive(Debug)]
pub struct SlruOf<W> {
    capacity: u32,
    args: Args,
    /// Most blocks that may be protected.
    protected_most: u32,
    places: Places<W>,
    probation: Queue,
    protected: Queue,
}

impl<W: Weights> Policy for SlruOf<W> {
    const INFO: Info = Info {
        name: "slru",
        family: "recency",
        summary: "LRU in two segments; only blocks that were hit reach the protected one",
        params: &[Param {
            key: "protected",
            kind: ParamKind::Share,
            default: "80%",
            doc: "most blocks in the protected segment (paper: 60 to 80%)",
        }],
        needs: Needs { size: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let places = Places::weighing(setup.slots);
        Ok(SlruOf {
            capacity: setup.capacity,
            args: setup.args.clone(),
            protected_most: protected_most(setup.args, setup.capacity)?,
            probation: Queue::within(PROBATION, setup.capacity, &places),
            protected: Queue::within(PROTECTED, setup.capacity, &places),
            places,
        })
    }

    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements { weighs: true, ..Requirements::of(capacity) })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let queues = [&mut self.probation, &mut self.protected];
        let is_other = self.places.weigh(queues, slot, reference.weight);
        match self.places.tag(slot) {
            PROTECTED => {
                self.protected.renew(&mut self.places, slot);
            }
            PROBATION => {
                self.probation.take(&mut self.places, slot);
                self.protected.push(&mut self.places, slot);
                self.demote();
            }
            _ => {
                while self.len() + self.places.weight(slot) > self.capacity {
                    self.evict(fx);
                    if W::ARE_ALIKE {
                        break;
                    }
                }
                self.probation.push(&mut self.places, slot);
                return Outcome::Admitted;
            }
        }
        if is_other {
            self.resize(self.capacity, fx);
        }
        Outcome::Hit
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        forget_in([&mut self.probation, &mut self.protected], &mut self.places, slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.protected_most = protected_most(&self.args, capacity).expect("new accepted the same arguments");
        self.probation.grow(&mut self.places, capacity);
        self.protected.grow(&mut self.places, capacity);
        while self.len() > capacity {
            self.evict(fx);
        }
        self.demote();
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        self.probation.grow(&mut self.places, self.capacity);
        self.protected.grow(&mut self.places, self.capacity);
    }

    fn contains(&self, slot: Slot) -> bool {
        matches!(self.places.tag(slot), PROBATION | PROTECTED)
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.probation.len() + self.protected.len()
    }

    fn validate(&self) {
        self.probation.validate(&self.places);
        self.protected.validate(&self.places);
        assert!(self.len() <= self.capacity);
        assert!(self.protected.len() <= self.protected_most);
    }
}

impl<W: Weights> SlruOf<W> {
    /// Puts the oldest protected blocks back on probation while there are too many.
    #[inline(always)]
    fn demote(&mut self) {
        while self.protected.len() > self.protected_most {
            if let Some(oldest) = self.protected.pop_oldest(&mut self.places) {
                self.probation.push(&mut self.places, oldest);
            }
        }
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let queue = if self.probation.is_empty() { &mut self.protected } else { &mut self.probation };
        if let Some(victim) = queue.pop_oldest(&mut self.places) {
            fx.discard(victim);
        }
    }
}

fn protected_most(args: &Args, capacity: u32) -> Result<u32, SpecError> {
    Ok(args.share("protected", capacity)?.min(capacity))
}
