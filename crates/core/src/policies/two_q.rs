//! 2Q: a block earns its place by coming back after its first stay.
//!
//! Idea: a new block passes through A1in, a short FIFO queue; when it leaves, A1out remembers it. Only a block
//! referenced while in A1out enters Am, the LRU queue of hot blocks, so scans and bursts of correlated references never
//! displace those.
//!
//! Paper: Johnson, Shasha, "2Q: a low overhead high performance buffer management replacement algorithm", VLDB 1994
//! (full version).
//!
//! Provenance: counts of an independent model on public traces (`crates/testkit/golden`); within 0.12 points of
//! libCacheSim 0.3.5 on twelve, which takes the ghost out before it makes room, and within 0.59 of Caffeine's simulator
//! 3.2.0 on ten.
//!
//! Deviations and readings: sizes of queues are rounded down and at least 1; space is reclaimed while the referenced
//! ghost is still in A1out, as in the paper, so it may itself be the one that A1out drops; when A1in is to be spared
//! but Am is empty (only at the smallest capacities, or with a large `kin`), A1in gives. `a1in_hit=promote` is the
//! simplified form in which a hit in A1in already moves the block to Am. Shrinking reclaims with the new sizes
//! until the rest fits, then drops the oldest of A1out. Objects of many sizes count in all queues by their sizes.
//!
//! Cost: O(1) amortised; a hit in Am writes one word and appends to a log, a hit in A1in only reads its word.
//! Memory: 4 bytes a slot, 20 bytes a block of capacity in the logs, for half as many ghosts as blocks.
//!
//! When not to use it: blocks that come back only within a stay in A1in or only after A1out forgot them (loops) never
//! become hot.

use crate::parts::ghost::{discard_oldest, evict_to, forget_in, forget_oldest};
use crate::parts::queue::{Alike, Places, Queue, SlotWeights, Tag, Weights};
use crate::policy::{
    Args, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Ranked, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

const AM: Tag = 0;
const A1IN: Tag = 1;
const A1OUT: Tag = 2;

/// The 2Q policy.
pub type TwoQ = TwoQOf<Alike>;

/// The same for blocks of many weights.
pub type WeighedTwoQ = TwoQOf<SlotWeights>;

/// The same, whatever blocks weigh.
#[derive(Debug)]
pub struct TwoQOf<W> {
    capacity: u32,
    args: Args,
    sizes: Sizes,
    promote: bool,
    places: Places<W>,
    am: Queue,
    a1in: Queue,
    a1out: Queue,
}

/// The parameters at one capacity.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Blocks in A1in above which it gives the victim.
    kin: u32,
    /// Most ghosts in A1out.
    kout: u32,
}

impl Sizes {
    fn of(args: &Args, capacity: u32) -> Result<Sizes, SpecError> {
        Ok(Sizes { kin: args.share("kin", capacity)?.max(1), kout: args.share("kout", capacity)?.max(1) })
    }
}

impl<W: Weights> Policy for TwoQOf<W> {
    const INFO: Info = Info {
        name: "2q",
        aliases: &["two-q"],
        family: "recency",
        summary: "new blocks pass through a FIFO queue; those that come back later enter an LRU queue",
        params: &[
            Param {
                key: "kin",
                kind: ParamKind::Share,
                default: "25%",
                doc: "blocks in A1in above which it gives the victim (paper: 25%)",
            },
            Param {
                key: "kout",
                kind: ParamKind::Share,
                default: "50%",
                doc: "most ghosts remembered in A1out (paper: 50%)",
            },
            Param {
                key: "a1in_hit",
                kind: ParamKind::Word(&["stay", "promote"]),
                default: "stay",
                doc: "a hit in A1in leaves the block where it is (full 2Q) or moves it to Am (simplified)",
            },
        ],
        needs: Needs { size: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let mut two_q = TwoQOf {
            capacity: setup.capacity,
            args: setup.args.clone(),
            sizes: Sizes::of(setup.args, setup.capacity)?,
            promote: setup.args.word("a1in_hit") == "promote",
            places: Places::weighing(setup.slots),
            am: Queue::new(AM, 0),
            a1in: Queue::new(A1IN, 0),
            a1out: Queue::new(A1OUT, 0),
        };
        two_q.fit_queues();
        Ok(two_q)
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let sizes = Sizes::of(args, capacity)?;
        let plain = Requirements::of(capacity).with_ghosts(Some(sizes.kout));
        Ok(Requirements { weighs: true, ..plain })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let queues = [&mut self.am, &mut self.a1in, &mut self.a1out];
        let is_other = self.places.weigh(queues, slot, reference.weight);
        match self.places.tag(slot) {
            AM => self.am.renew(&mut self.places, slot),
            A1IN if self.promote => {
                self.a1in.take(&mut self.places, slot);
                self.am.push(&mut self.places, slot);
            }
            A1IN => {}
            A1OUT => {
                self.make_room(slot, fx);
                if self.places.tag(slot) == A1OUT {
                    self.a1out.take(&mut self.places, slot);
                }
                self.am.push(&mut self.places, slot);
                return Outcome::Admitted;
            }
            _ => {
                self.make_room(slot, fx);
                self.a1in.push(&mut self.places, slot);
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
        forget_in([&mut self.am, &mut self.a1in, &mut self.a1out], &mut self.places, slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.sizes = Sizes::of(&self.args, capacity).expect("new accepted the same arguments");
        while self.len() > capacity {
            self.reclaim(None, fx);
        }
        while self.a1out.len() > self.sizes.kout {
            forget_oldest(&mut self.a1out, &mut self.places, fx);
        }
        self.fit_queues();
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        self.fit_queues();
    }

    fn contains(&self, slot: Slot) -> bool {
        matches!(self.places.tag(slot), AM | A1IN)
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.am.len() + self.a1in.len()
    }

    fn validate(&self) {
        for queue in [&self.am, &self.a1in, &self.a1out] {
            queue.validate(&self.places);
        }
        assert!(self.len() <= self.capacity, "A1in and Am exceed the capacity");
        assert!(self.a1out.len() <= self.sizes.kout, "A1out exceeds Kout");
    }
}

impl<W: Weights> Ranked for TwoQOf<W> {
    fn keep_order(&mut self) -> bool {
        self.am.count_ranks();
        self.a1in.count_ranks();
        true
    }

    /// Am from the youngest on, then A1in.
    fn position(&self, slot: Slot) -> Option<u32> {
        match self.places.tag(slot) {
            AM => Some(self.am.rank(&self.places, slot)),
            A1IN => Some(self.am.len() + self.a1in.rank(&self.places, slot)),
            _ => None,
        }
    }

    fn at(&self, position: u32) -> Option<Slot> {
        match position.checked_sub(self.am.len()) {
            None => self.am.at_rank(position),
            Some(behind) => self.a1in.at_rank(behind),
        }
    }
}

impl<W: Weights> TwoQOf<W> {
    /// Rings large enough for all that the queues may come to hold; A1out takes a victim before it drops a ghost.
    fn fit_queues(&mut self) {
        let slots = self.places.slots();
        self.am.grow(&mut self.places, self.capacity.min(slots));
        self.a1in.grow(&mut self.places, self.capacity.min(slots));
        self.a1out.grow(&mut self.places, self.sizes.kout.saturating_add(1).min(slots));
    }

    #[inline(always)]
    fn make_room(&mut self, arriving: Slot, fx: &mut impl Effects) {
        while self.len() + self.places.weight(arriving) > self.capacity {
            self.reclaim(Some(arriving), fx);
            if W::ARE_ALIKE {
                return;
            }
        }
    }

    /// Evicts one block. Its ghost may push the arriving block's own ghost out of A1out; that block stays known all the
    /// same.
    #[inline(always)]
    fn reclaim(&mut self, arriving: Option<Slot>, fx: &mut impl Effects) {
        if self.a1in.len() <= self.sizes.kin && !self.am.is_empty() {
            discard_oldest(&mut self.am, &mut self.places, fx);
            return;
        }
        evict_to(&mut self.a1in, &mut self.a1out, &mut self.places, fx);
        while self.a1out.len() > self.sizes.kout {
            let dropped = self.a1out.pop_oldest(&mut self.places);
            if let Some(ghost) = dropped.filter(|_| dropped != arriving) {
                fx.forget(ghost);
            }
            if W::ARE_ALIKE {
                return;
            }
        }
    }
}
