//! LIRS: keep the blocks whose last two uses lay close together.
//!
//! Idea: a block's inter-reference recency is the number of other blocks used between its last two uses. Blocks with a
//! low one (LIR) hold nearly all of the cache; the others (HIR) pass through a short queue Q. The stack S remembers in
//! order of last use all blocks that were used since the LIR block at its bottom, also those that have left: one that
//! is used while in S beats that block and takes its place.
//!
//! Paper: Jiang, Zhang, "LIRS: an efficient low inter-reference recency set replacement policy", SIGMETRICS 2002.
//!
//! Provenance: meets the ratios that the ARC paper prints for OLTP. With `ghosts=2` it is within twelve hits of
//! Caffeine's simulator 3.2.0 on multi1 and multi2; other bounds of the stack and other roundings of 1% differ by up to
//! 8 points in small caches.
//!
//! Deviations and readings: the resident HIR blocks are 1% of the capacity, rounded, at least 2, but 1 when the
//! capacity is at most 2. S is unlimited as in the paper; `ghosts=2` bounds the blocks that it remembers after they
//! left to twice the capacity, as well-known codes do, and the oldest of them is dropped. As long as LIR blocks are
//! fewer than there may be (at the start, after a removal or a growth), new blocks become LIR at once. Without any LIR
//! block (capacity 1) S is empty. Shrinking turns surplus LIR blocks at the bottom of S into HIR blocks at the end of
//! Q, then evicts from the front of Q. Objects of many sizes count by their sizes, so that one may need more room than
//! Q can give; then LIR blocks at the bottom of S become HIR blocks.
//!
//! Cost: O(1) amortised; a hit of a LIR block writes one word and appends to a log, the others do it for both S and Q.
//! Memory: 8 bytes a slot, and for S 8 to 16 bytes for each block that it may hold: all slots if it is unlimited.
//!
//! When not to use it: recency-friendly workloads whose popular set changes: the LIR set follows slowly, through a
//! queue of 1%. With an unlimited stack the memory grows with the footprint.

use crate::parts::queue::{ABSENT, Alike, Places, Queue, SlotWeights, Tag, Weights};
use crate::policy::{
    Args, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

const STACK: Tag = 0;
const RESIDENT: Tag = 1;
const GHOST: Tag = 2;

/// No slot.
const NONE: Slot = Slot::MAX;

/// A slot has two places side by side, so that one fetch brings both: in S, where the mark says that it is LIR...
#[inline(always)]
fn in_s(slot: Slot) -> Slot {
    2 * slot
}

/// ...and in Q or among the ghosts.
#[inline(always)]
fn in_q(slot: Slot) -> Slot {
    2 * slot + 1
}

/// The slot with this place.
#[inline(always)]
fn owner(place: Slot) -> Slot {
    place / 2
}

/// The LIRS policy.
pub type Lirs = LirsOf<Alike>;

/// The same for blocks of many weights.
pub type WeighedLirs = LirsOf<SlotWeights>;

/// The same, whatever blocks weigh.
#[derive(Debug)]
pub struct LirsOf<W> {
    capacity: u32,
    args: Args,
    sizes: Sizes,
    lir_len: u32,
    places: Places<W>,
    /// S, its bottom at the LRU end.
    stack: Queue,
    /// The slot at the bottom of S, always LIR, or [`NONE`]. It tells whether a reference makes pruning necessary.
    bottom: Slot,
    /// Q, the resident HIR blocks.
    queue: Queue,
    /// The ghosts in S, the first to be dropped at the LRU end; unused if they are unlimited.
    ghosts: Queue,
}

/// The parameters at one capacity.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Most LIR blocks.
    lir: u32,
    /// Most ghosts.
    ghosts: Option<u32>,
}

impl Sizes {
    fn of(args: &Args, capacity: u32) -> Result<Sizes, SpecError> {
        let least = if capacity <= 2 { 1 } else { 2 };
        let hir = args.share_rounded("hirs", capacity)?.max(least);
        Ok(Sizes { lir: capacity.saturating_sub(hir), ghosts: args.multiple("ghosts", capacity) })
    }
}

impl<W: Weights> Policy for LirsOf<W> {
    const INFO: Info = Info {
        name: "lirs",
        family: "recency",
        summary: "keep the blocks whose last two uses lay close together",
        params: &[
            Param {
                key: "hirs",
                kind: ParamKind::Share,
                default: "1%",
                doc: "resident blocks that may wait for a second use, at least 2 (paper: 1%)",
            },
            Param {
                key: "ghosts",
                kind: ParamKind::Multiple,
                default: "unlimited",
                doc: "most blocks remembered after they left, times the capacity (paper: unlimited)",
            },
        ],
        needs: Needs { size: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let mut lirs = LirsOf {
            capacity: setup.capacity,
            args: setup.args.clone(),
            sizes: Sizes::of(setup.args, setup.capacity)?,
            lir_len: 0,
            places: Places::weighing(2 * setup.slots),
            stack: Queue::new(STACK, 0),
            bottom: NONE,
            queue: Queue::new(RESIDENT, 0),
            ghosts: Queue::new(GHOST, 0),
        };
        lirs.fit_queues();
        Ok(lirs)
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let plain = Requirements::of(capacity).with_ghosts(args.multiple("ghosts", capacity));
        Ok(Requirements { weighs: true, ..plain })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let is_other = self.weigh(slot, reference.weight);
        if self.is_lir(slot) {
            self.lift(slot);
            if slot == self.bottom {
                self.prune(fx);
            }
        } else if self.places.tag(in_q(slot)) == RESIDENT {
            self.hit_hir(slot, fx);
        } else {
            self.miss(slot, fx);
            return Outcome::Admitted;
        }
        if is_other {
            self.resize(self.capacity, fx);
        }
        Outcome::Hit
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(in_s(slot));
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        let (seen, stay) = (self.is_in_stack(slot), self.places.tag(in_q(slot)));
        if !seen && stay == ABSENT {
            return;
        }
        if seen {
            self.lir_len -= if self.is_lir(slot) { self.weight(slot) } else { 0 };
            self.stack.take(&mut self.places, in_s(slot));
        }
        match stay {
            RESIDENT => self.queue.take(&mut self.places, in_q(slot)),
            GHOST => self.ghosts.take(&mut self.places, in_q(slot)),
            _ => {}
        }
        fx.forget(slot);
        self.prune(fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.sizes = Sizes::of(&self.args, capacity).expect("new accepts the same arguments");
        self.fit_queues();
        while self.lir_len > self.sizes.lir {
            self.demote(fx);
        }
        while self.len() > capacity {
            self.evict(fx);
        }
        self.trim_ghosts(fx);
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(2 * slots);
        self.fit_queues();
    }

    fn contains(&self, slot: Slot) -> bool {
        self.is_lir(slot) || self.places.tag(in_q(slot)) == RESIDENT
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.lir_len + self.queue.len()
    }

    fn validate(&self) {
        for queue in [&self.stack, &self.queue, &self.ghosts] {
            queue.validate(&self.places);
        }
        let stack = || self.stack.iter().map(owner);
        let lirs = || stack().filter(|&slot| self.is_lir(slot));
        assert_eq!(lirs().map(|slot| self.weight(slot)).sum::<u32>(), self.lir_len, "LIR blocks are miscounted");
        assert!(lirs().all(|slot| self.places.tag(in_q(slot)) == ABSENT), "a LIR block is in Q");
        assert!(stack().next().is_none_or(|bottom| self.is_lir(bottom)), "the bottom of S is not LIR");
        assert_eq!(stack().next().unwrap_or(NONE), self.bottom);
        assert!(self.lir_len <= self.sizes.lir, "more LIR blocks than there may be");
        assert!(self.len() <= self.capacity, "LIR and HIR blocks exceed the capacity");
        assert!(self.ghosts.iter().map(owner).all(|slot| self.is_in_stack(slot)), "a ghost is not in S");
        assert!(self.sizes.ghosts.is_none_or(|most| self.ghosts.len() <= most), "too many ghosts");
    }
}

impl<W: Weights> LirsOf<W> {
    /// Rings large enough for all that S, Q and the ghosts may come to hold.
    fn fit_queues(&mut self) {
        let slots = self.places.slots() / 2;
        let residents = self.capacity.min(slots);
        let ghosts = self.sizes.ghosts.map_or(0, |most| most.saturating_add(1).min(slots));
        let known = self.sizes.ghosts.map_or(slots, |_| residents.saturating_add(ghosts).min(slots));
        self.stack.grow(&mut self.places, known);
        self.queue.grow(&mut self.places, residents);
        self.ghosts.grow(&mut self.places, ghosts);
    }

    #[inline(always)]
    fn weight(&self, slot: Slot) -> u32 {
        self.places.weight(in_s(slot))
    }

    /// Gives `slot` a weight; tells whether it had another.
    #[inline(always)]
    fn weigh(&mut self, slot: Slot, weight: u32) -> bool {
        let before = self.weight(slot);
        let is_other = self.places.weigh([&mut self.stack], in_s(slot), weight);
        if is_other {
            self.places.weigh([&mut self.queue, &mut self.ghosts], in_q(slot), weight);
            self.lir_len = if self.is_lir(slot) { self.lir_len - before + weight } else { self.lir_len };
        }
        is_other
    }

    #[inline(always)]
    fn is_in_stack(&self, slot: Slot) -> bool {
        self.places.tag(in_s(slot)) == STACK
    }

    #[inline(always)]
    fn is_lir(&self, slot: Slot) -> bool {
        self.is_in_stack(slot) && self.places.is_marked(in_s(slot))
    }

    /// Moves a block that is in S to its top as a LIR block.
    #[inline(always)]
    fn lift(&mut self, slot: Slot) {
        self.stack.renew(&mut self.places, in_s(slot));
        self.places.mark(in_s(slot));
    }

    /// A hit of a resident HIR block.
    #[inline(always)]
    fn hit_hir(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.is_in_stack(slot) {
            self.queue.take(&mut self.places, in_q(slot));
            self.lift(slot);
            self.count_lir(self.weight(slot), fx);
        } else {
            self.push(slot);
            self.queue.renew(&mut self.places, in_q(slot));
        }
    }

    #[inline(always)]
    fn miss(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.places.tag(in_q(slot)) == GHOST {
            self.ghosts.take(&mut self.places, in_q(slot));
        }
        // Out of S meanwhile, where pruning would forget it.
        let was_seen = self.is_in_stack(slot);
        if was_seen {
            self.stack.take(&mut self.places, in_s(slot));
        }
        let weight = self.weight(slot);
        while self.len() + weight > self.capacity {
            self.evict(fx);
            if W::ARE_ALIKE {
                break;
            }
        }
        if was_seen || self.lir_len + weight <= self.sizes.lir {
            self.stack.push(&mut self.places, in_s(slot));
            self.places.mark(in_s(slot));
            if self.bottom == NONE {
                self.bottom = slot;
            }
            self.count_lir(weight, fx);
        } else {
            self.push(slot);
            self.queue.push(&mut self.places, in_q(slot));
        }
    }

    /// Puts a HIR block on top of S, which holds none without a LIR block at the bottom.
    #[inline(always)]
    fn push(&mut self, slot: Slot) {
        if self.bottom != NONE {
            self.stack.push(&mut self.places, in_s(slot));
        }
    }

    /// Counts a new LIR block on top of S, at the cost of those at the bottom if need be.
    #[inline(always)]
    fn count_lir(&mut self, weight: u32, fx: &mut impl Effects) {
        self.lir_len += weight;
        while self.lir_len > self.sizes.lir {
            self.demote(fx);
            if W::ARE_ALIKE {
                return;
            }
        }
    }

    /// Makes the LIR block at the bottom of S a HIR block at the end of Q.
    #[inline(always)]
    fn demote(&mut self, fx: &mut impl Effects) {
        let demoted = self.bottom;
        self.stack.take(&mut self.places, in_s(demoted));
        self.queue.push(&mut self.places, in_q(demoted));
        self.lir_len -= self.weight(demoted);
        self.prune(fx);
    }

    /// Evicts the block at the front of Q, where there is one as long as blocks are of one weight.
    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        if !W::ARE_ALIKE && self.queue.is_empty() && self.bottom != NONE {
            self.demote(fx);
        }
        let Some(victim) = self.queue.pop_oldest(&mut self.places).map(owner) else { return };
        fx.evict(victim);
        if !self.is_in_stack(victim) {
            fx.forget(victim);
        } else if self.sizes.ghosts.is_some() {
            self.ghosts.push(&mut self.places, in_q(victim));
            self.trim_ghosts(fx);
        }
    }

    #[inline(always)]
    fn trim_ghosts(&mut self, fx: &mut impl Effects) {
        while self.sizes.ghosts.is_some_and(|most| self.ghosts.len() > most) {
            let Some(oldest) = self.ghosts.pop_oldest(&mut self.places).map(owner) else { return };
            self.stack.take(&mut self.places, in_s(oldest));
            fx.forget(oldest);
        }
    }

    /// Takes HIR blocks off the bottom of S and notes which LIR block that lays bare.
    #[inline(always)]
    fn prune(&mut self, fx: &mut impl Effects) {
        while let Some(bottom) = self.stack.oldest(&self.places).map(owner) {
            if self.is_lir(bottom) {
                self.bottom = bottom;
                return;
            }
            self.stack.pop_oldest(&mut self.places);
            match self.places.tag(in_q(bottom)) {
                RESIDENT => continue,
                GHOST => self.ghosts.take(&mut self.places, in_q(bottom)),
                _ => {}
            }
            fx.forget(bottom);
        }
        self.bottom = NONE;
    }
}
