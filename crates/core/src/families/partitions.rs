//! The cache of the policies that tell sequential, looping and other references apart (`ubm`, `pcc`).
//!
//! Each resident block is in one of three partitions, put there by its last reference. Sequential blocks are not
//! expected back and leave first, the youngest before the others. A loop of period P gives each block that is kept of
//! it one hit in P references, whichever blocks these are; the loop with the longest period gives first, and of it the
//! youngest block, whose next use is farthest. Other blocks form an LRU list; what one more is worth is measured by the
//! hits at the list's foot, its last sixteenth. A loop that was not referenced for twice its period is taken to be
//! over, and its blocks join the LRU end of that list: each eviction looks at one loop. Without that rule loops that
//! are never run again would fill the cache. The one that gains less by a block, the longest loop or the other blocks,
//! gives the victim.

use crate::parts::footed_list::FootedList;
use crate::parts::links::{Links, List};
use crate::parts::queue::{Places, Queue, Tag};
use crate::parts::tournament_tree::TournamentTree;
use crate::policy::{Setup, Slot};

const SEQUENTIAL: Tag = 0;
const BODY: Tag = 1;
const FOOT: Tag = 2;
const LOOPING: Tag = 3;
/// The first tag that partitions leave to their policy.
pub const FREE_TAG: Tag = 4;

/// A loop is over when it was not referenced for this many periods.
const PATIENCE: u64 = 2;

/// How a block is referenced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPattern {
    /// Once, in a run.
    Sequential,
    /// Again and again in the same order, as part of the loop with this number.
    Looping(usize),
    /// In no order that is known.
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Loop {
    /// Time of the last reference.
    referenced: u64,
    /// References from lap to lap.
    period: u32,
    blocks: List,
}

/// The partitions and their blocks.
#[derive(Debug)]
pub struct Partitions {
    capacity: u32,
    len: u32,
    /// Where each slot is. A looping one has the number of its loop for an index.
    pub places: Places,
    sequential: Queue,
    others: FootedList,
    loops: Vec<Loop>,
    links: Links,
    /// Numbers from this one on were never loops.
    numbers: usize,
    /// The loop that the last eviction looked at.
    hand: usize,
    /// Time of the reference being made.
    now: u64,
    /// The periods of the loops that have blocks.
    periods: TournamentTree,
    /// Hits at the foot and references, both halved each time the latter reach twice the capacity.
    foot_hits: u64,
    references: u64,
}

impl Partitions {
    /// An empty cache that tells `loops` loops apart.
    pub fn new(setup: &Setup, loops: u32) -> Partitions {
        let mut partitions = Partitions {
            capacity: setup.capacity,
            len: 0,
            places: Places::new(setup.slots),
            sequential: Queue::new(SEQUENTIAL, 0),
            others: FootedList::new(BODY, FOOT),
            loops: vec![Loop { referenced: 0, period: 1, blocks: List::default() }; loops as usize],
            links: Links::new(setup.slots),
            numbers: 0,
            hand: 0,
            now: 0,
            periods: TournamentTree::new(loops as usize),
            foot_hits: 0,
            references: 0,
        };
        partitions.fit();
        partitions
    }

    /// Resident blocks.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if nothing is resident.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if it is full.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// True if `slot` is resident.
    #[inline(always)]
    pub fn contains(&self, slot: Slot) -> bool {
        self.places.tag(slot) <= LOOPING
    }

    /// Fetches what a reference to `slot` touches first.
    #[inline(always)]
    pub fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
    }

    /// Counts a reference to `slot` before anything else is done about it; true if it is resident.
    #[inline(always)]
    pub fn look_up(&mut self, slot: Slot, now: u64) -> bool {
        self.now = now;
        let tag = self.places.tag(slot);
        self.foot_hits += u64::from(tag == FOOT);
        self.references += 1;
        if self.references >= 2 * u64::from(self.capacity) {
            (self.foot_hits, self.references) = (self.foot_hits / 2, self.references / 2);
        }
        tag <= LOOPING
    }

    /// Moves `slot`, which is resident, into the partition of this class, as its youngest block.
    #[inline(always)]
    pub fn renew(&mut self, slot: Slot, class: AccessPattern) {
        if class == AccessPattern::Other && matches!(self.places.tag(slot), BODY | FOOT) {
            self.others.renew(&mut self.places, slot);
            self.settle();
        } else {
            self.take(slot);
            self.insert(slot, class);
        }
    }

    /// Adds `slot`, for which there is room, to the partition of this class, as its youngest block.
    #[inline(always)]
    pub fn insert(&mut self, slot: Slot, class: AccessPattern) {
        self.len += 1;
        match class {
            AccessPattern::Sequential => self.sequential.push(&mut self.places, slot),
            AccessPattern::Other => {
                self.others.push(&mut self.places, slot);
                self.settle();
            }
            AccessPattern::Looping(number) => {
                let Loop { referenced, period, blocks } = &mut self.loops[number];
                *referenced = self.now;
                blocks.push(&mut self.links, slot);
                self.places.put(slot, LOOPING, number);
                self.periods.set(number, u64::from(*period));
            }
        }
    }

    /// Takes `slot`, which is resident, out.
    #[inline(always)]
    pub fn take(&mut self, slot: Slot) {
        self.len -= 1;
        match self.places.tag(slot) {
            SEQUENTIAL => self.sequential.take(&mut self.places, slot),
            LOOPING => {
                let number = self.places.index(slot);
                let Loop { blocks, .. } = &mut self.loops[number];
                blocks.take(&mut self.links, slot);
                self.places.clear(slot);
                if blocks.is_empty() {
                    self.periods.set(number, 0);
                }
            }
            _ => {
                self.others.take(&mut self.places, slot);
                self.settle();
            }
        }
    }

    /// Takes out the block that gains least.
    #[inline(always)]
    pub fn pop_victim(&mut self) -> Option<Slot> {
        self.look_at_a_loop();
        let victim = match self.sequential.youngest() {
            Some(slot) => slot,
            None => match self.periods.greatest().filter(|&(_, period)| self.loop_gains_less(period)) {
                Some((number, _)) => self.loops[number].blocks.youngest()?,
                None => self.others.oldest(&self.places)?,
            },
        };
        self.take(victim);
        Some(victim)
    }

    /// References from lap to lap of a loop.
    pub fn period(&self, number: usize) -> u32 {
        self.loops[number].period
    }

    /// Sets the references from lap to lap of a loop, at least 1.
    pub fn set_period(&mut self, number: usize, period: u32) {
        self.numbers = self.numbers.max(number + 1);
        let Loop { period: known, blocks, .. } = &mut self.loops[number];
        *known = period;
        if !blocks.is_empty() {
            self.periods.set(number, u64::from(period));
        }
    }

    /// Gives the blocks of a loop that is over to the LRU end of the other blocks.
    pub fn release(&mut self, number: usize) {
        let Loop { blocks, .. } = &mut self.loops[number];
        if blocks.is_empty() {
            return;
        }
        while let Some(slot) = blocks.youngest() {
            blocks.take(&mut self.links, slot);
            self.places.clear(slot);
            self.others.push_oldest(&mut self.places, slot);
        }
        self.periods.set(number, 0);
        self.settle();
    }

    /// Sets the capacity. The policy must pop the excess before.
    pub fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
        self.fit();
    }

    /// Grows to hold slots below `slots`.
    pub fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        self.links.grow(slots);
        self.fit();
    }

    /// Panics on a broken invariant.
    pub fn validate(&self) {
        self.sequential.validate(&self.places);
        self.others.validate(&self.places, self.foot());
        let mut looping = 0;
        for (number, Loop { period, blocks, .. }) in self.loops.iter().enumerate() {
            blocks.validate(&self.links);
            looping += blocks.len();
            let here = |slot| self.places.tag(slot) == LOOPING && self.places.index(slot) == number;
            assert!(blocks.iter(&self.links).all(here), "a place in a loop");
            let key = if blocks.is_empty() { 0 } else { u64::from(*period) };
            assert!(*period > 0 && self.periods.key(number) == key, "a loop's period");
        }
        let tagged = (0..self.places.slots()).filter(|&slot| self.places.tag(slot) == LOOPING).count();
        assert_eq!(tagged, looping as usize, "slots that claim to be in a loop");
        assert_eq!(self.len, self.sequential.len() + self.others.len() + looping, "the partitions are miscounted");
        assert!(self.len <= self.capacity, "the partitions exceed the capacity");
    }

    /// Releases the next loop if it is over.
    #[inline(always)]
    fn look_at_a_loop(&mut self) {
        self.hand = if self.hand + 1 < self.numbers { self.hand + 1 } else { 0 };
        let Loop { referenced, period, .. } = self.loops[self.hand];
        if self.now - referenced > PATIENCE * u64::from(period) {
            self.release(self.hand);
        }
    }

    /// True if 1 / period, what a block of that loop gains, is below the hits at the foot per block of it and
    /// reference.
    #[inline(always)]
    fn loop_gains_less(&self, period: u64) -> bool {
        let (loop_side, others_side) =
            (u128::from(self.references) * u128::from(self.others.foot_len()), u128::from(self.foot_hits));
        self.others.is_empty() || loop_side < others_side * u128::from(period)
    }

    #[inline(always)]
    fn foot(&self) -> u32 {
        (self.others.len() / 16).max(1)
    }

    #[inline(always)]
    fn settle(&mut self) {
        let foot = self.foot();
        self.others.settle(&mut self.places, foot);
    }

    /// Rings large enough for all that the queues may come to hold.
    fn fit(&mut self) {
        let bound = self.capacity.min(self.places.slots());
        self.sequential.grow(&mut self.places, bound);
        self.others.fit(&mut self.places, bound);
    }
}
