//! LIRS: keep the blocks whose last two uses lay close together.
//!
//! Idea: a block's inter-reference recency is the number of other blocks used between its last two uses. Blocks with a low one (LIR) hold
//! nearly all of the cache; the others (HIR) pass through a short queue Q. The stack S remembers in order of last use all blocks that
//! were used since the LIR block at its bottom, also those that have left: one that is used while in S beats that block and takes its place.
//!
//! Paper: Jiang, Zhang, "LIRS: an efficient low inter-reference recency set replacement policy", SIGMETRICS 2002.
//!
//! Deviations and readings: the resident HIR blocks are 1% of the capacity, rounded, at least 2, but 1 when the capacity is at most 2. S
//! is unlimited as in the paper; `ghosts=2` bounds the blocks that it remembers after they left to twice the capacity, as well-known codes
//! do, and the oldest of them is dropped. As long as LIR blocks are fewer than there may be (at the start, after a removal or a
//! growth), new blocks become LIR at once. Without any LIR block (capacity 1) S is empty. Shrinking turns surplus LIR blocks at the bottom
//! of S into HIR blocks at the end of Q, then evicts from the front of Q.
//!
//! Cost: O(1) amortised; a hit of a LIR block writes one word and appends to a log, the others do it for both S and Q.
//! Memory: 8 bytes a slot, and for S 8 to 16 bytes for each block that it may hold: all slots if it is unlimited.
//!
//! When not to use it: recency-friendly workloads whose popular set changes: the LIR set follows slowly, through a queue of 1%. With an
//! unlimited stack the memory grows with the footprint.

use crate::parts::queue::{ABSENT, Places, Queue, Tag};
use crate::policy::{Effects, Info, Outcome, Policy, Setup, Slot};
use crate::spec::{Args, Param, ParamKind, SpecError};

const STACK: Tag = 0;
const RESIDENT: Tag = 0;
const GHOST: Tag = 1;

/// The LIRS policy.
#[derive(Debug)]
pub struct Lirs {
    capacity: u32,
    args: Args,
    sizes: Sizes,
    lir_len: u32,
    /// Places in S. The mark of a slot says that it is LIR.
    recency: Places,
    /// S, its bottom at the old end.
    stack: Queue,
    /// Places in Q and among the ghosts.
    stay: Places,
    /// Q, the resident HIR blocks.
    queue: Queue,
    /// The ghosts in S, the first to be dropped at the old end; unused if they are unlimited.
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

impl Policy for Lirs {
    const INFO: Info = Info {
        name: "lirs",
        aliases: &[],
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
        offline: false,
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let mut lirs = Lirs {
            capacity: setup.capacity,
            args: setup.args.clone(),
            sizes: Sizes::of(setup.args, setup.capacity)?,
            lir_len: 0,
            recency: Places::new(setup.slots),
            stack: Queue::new(STACK, 0),
            stay: Places::new(setup.slots),
            queue: Queue::new(RESIDENT, 0),
            ghosts: Queue::new(GHOST, 0),
        };
        lirs.fit_queues();
        Ok(lirs)
    }

    fn identities(args: &Args, capacity: u32) -> u64 {
        let ghosts = args.multiple("ghosts", capacity);
        ghosts.map_or(u64::MAX, |most| u64::from(capacity) + u64::from(most) + 1)
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _time: u64, fx: &mut impl Effects) -> Outcome {
        let in_stack = self.recency.tag(slot) == STACK;
        let outcome = if in_stack && self.recency.is_marked(slot) {
            self.stack.renew(&mut self.recency, slot);
            self.recency.mark(slot);
            Outcome::Hit
        } else if self.stay.tag(slot) == RESIDENT {
            self.hit_hir(slot, in_stack);
            Outcome::Hit
        } else {
            self.miss(slot, in_stack, fx);
            Outcome::Admitted
        };
        self.prune(fx);
        outcome
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.recency.prefetch(slot);
        self.stay.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        let in_stack = self.recency.tag(slot) == STACK;
        let stay = self.stay.tag(slot);
        if !in_stack && stay == ABSENT {
            return;
        }
        if in_stack {
            self.lir_len -= u32::from(self.recency.is_marked(slot));
            self.stack.take(&mut self.recency, slot);
        }
        match stay {
            RESIDENT => self.queue.take(&mut self.stay, slot),
            GHOST => self.ghosts.take(&mut self.stay, slot),
            _ => {}
        }
        fx.forget(slot);
        self.prune(fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.sizes = Sizes::of(&self.args, capacity).expect("new accepted the same arguments");
        self.fit_queues();
        while self.lir_len > self.sizes.lir {
            self.demote();
            self.prune(fx);
        }
        while self.len() > capacity {
            self.evict(fx);
        }
        self.trim_ghosts(fx);
    }

    fn grow(&mut self, slots: u32) {
        self.recency.grow(slots);
        self.stay.grow(slots);
        self.fit_queues();
    }

    fn contains(&self, slot: Slot) -> bool {
        self.stay.tag(slot) == RESIDENT || self.recency.tag(slot) == STACK && self.recency.is_marked(slot)
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.lir_len + self.queue.len()
    }

    fn validate(&self) {
        self.stack.validate(&self.recency);
        self.queue.validate(&self.stay);
        self.ghosts.validate(&self.stay);
        let lir = |slot: &Slot| self.recency.is_marked(*slot);
        assert_eq!(self.stack.iter().filter(lir).count(), self.lir_len as usize, "LIR blocks are miscounted");
        assert!(self.stack.iter().next().is_none_or(|bottom| lir(&bottom)), "the bottom of S is not LIR");
        assert!(self.stack.iter().filter(lir).all(|slot| self.stay.tag(slot) == ABSENT), "a LIR block is in Q");
        assert!(self.lir_len <= self.sizes.lir, "more LIR blocks than there may be");
        assert!(self.len() <= self.capacity, "LIR and HIR blocks exceed the capacity");
        assert!(self.ghosts.iter().all(|slot| self.recency.tag(slot) == STACK), "a ghost is not in S");
        assert!(self.sizes.ghosts.is_none_or(|most| self.ghosts.len() <= most), "too many ghosts");
    }
}

impl Lirs {
    /// Rings large enough for all that S, Q and the ghosts may come to hold.
    fn fit_queues(&mut self) {
        let slots = self.recency.slots();
        let residents = self.capacity.min(slots);
        let ghosts = self.sizes.ghosts.map_or(0, |most| most.saturating_add(1).min(slots));
        let known = self.sizes.ghosts.map_or(slots, |_| residents.saturating_add(ghosts).min(slots));
        self.stack.grow(&mut self.recency, known);
        self.queue.grow(&mut self.stay, residents);
        self.ghosts.grow(&mut self.stay, ghosts);
    }

    /// A hit of a resident HIR block.
    #[inline(always)]
    fn hit_hir(&mut self, slot: Slot, in_stack: bool) {
        if in_stack {
            self.queue.take(&mut self.stay, slot);
            self.promote(slot);
        } else {
            self.stack.push(&mut self.recency, slot);
            self.queue.renew(&mut self.stay, slot);
        }
    }

    #[inline(always)]
    fn miss(&mut self, slot: Slot, in_stack: bool, fx: &mut impl Effects) {
        if self.stay.tag(slot) == GHOST {
            self.ghosts.take(&mut self.stay, slot);
        }
        if self.len() == self.capacity {
            self.evict(fx);
        }
        if in_stack {
            self.promote(slot);
            return;
        }
        self.stack.push(&mut self.recency, slot);
        if self.lir_len < self.sizes.lir {
            self.recency.mark(slot);
            self.lir_len += 1;
        } else {
            self.queue.push(&mut self.stay, slot);
        }
    }

    /// Makes `slot`, which is in S but neither LIR nor in Q, a LIR block at the top of S.
    #[inline(always)]
    fn promote(&mut self, slot: Slot) {
        self.stack.renew(&mut self.recency, slot);
        self.recency.mark(slot);
        self.lir_len += 1;
        if self.lir_len > self.sizes.lir {
            self.demote();
        }
    }

    /// Makes the LIR block at the bottom of S a HIR block at the end of Q.
    #[inline(always)]
    fn demote(&mut self) {
        if let Some(bottom) = self.stack.pop_oldest(&mut self.recency) {
            self.queue.push(&mut self.stay, bottom);
            self.lir_len -= 1;
        }
    }

    /// Evicts the block at the front of Q.
    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let Some(victim) = self.queue.pop_oldest(&mut self.stay) else { return };
        fx.evict(victim);
        if self.recency.tag(victim) == ABSENT {
            fx.forget(victim);
        } else if self.sizes.ghosts.is_some() {
            self.ghosts.push(&mut self.stay, victim);
            self.trim_ghosts(fx);
        }
    }

    fn trim_ghosts(&mut self, fx: &mut impl Effects) {
        while self.sizes.ghosts.is_some_and(|most| self.ghosts.len() > most) {
            if let Some(oldest) = self.ghosts.pop_oldest(&mut self.stay) {
                self.stack.take(&mut self.recency, oldest);
                fx.forget(oldest);
            }
        }
    }

    /// Takes HIR blocks off the bottom of S.
    #[inline(always)]
    fn prune(&mut self, fx: &mut impl Effects) {
        while let Some(bottom) = self.stack.oldest(&self.recency) {
            if self.recency.is_marked(bottom) {
                return;
            }
            self.stack.take(&mut self.recency, bottom);
            match self.stay.tag(bottom) {
                RESIDENT => continue,
                GHOST => self.ghosts.take(&mut self.stay, bottom),
                _ => {}
            }
            fx.forget(bottom);
        }
    }
}
