//! CRAW: a clock for reads and one for writes, sized by what their misses cost.
//!
//! Idea: reads come back by recency, writes rather by frequency, and on flash a write costs more. So a block is in
//! the read clock if it was read and in the write clock if it was written, or in both, and stays as long as one of them
//! holds it. Each clock remembers what left it; the one whose ghosts would have saved more cost a block is given more
//! room.
//!
//! Paper: Lee, Bahn, Shin, "Page replacement for write references in NAND flash based virtual memory systems", Journal
//! of Computing Science and Engineering 2014. Of the paper only the abstract was at hand; where it is silent the choice
//! is ours.
//!
//! Provenance: of the paper the abstract was read; not checked against the rest of it nor against another program: the
//! model checks the code, not the reading.
//!
//! Deviations and readings: the read clock has one bit a block, the write clock a counter of two, both start at 0 and
//! hands count down. Each clock should have half the capacity at first. A miss in a full cache takes a node out of the
//! clock that exceeds its size by more, of equal ones that of the reference's kind, until a block is in neither. A
//! ghost counts when its block is missed by a reference of its clock's kind: what is resident through the other clock
//! costs nothing. After every c references the clock whose ghosts were missed more, times the cost, per ghost, grows by
//! `step` at the expense of the other; each keeps at least 1 block. A clock remembers as many ghosts as it has less
//! than c. A resize keeps the clocks' shares.
//!
//! Cost: O(1) amortised; a hit reads one word and writes it the first time. Memory: 9 bytes a slot, 48 to 96 bytes a
//! block of capacity in the four logs.
//!
//! When not to use it: where reads and writes cost the same and fall on the same blocks.

use crate::parts::large;
use crate::parts::queue::{ABSENT, Places, Queue, Tag};
use crate::policy::{
    Args, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

/// Kinds of references, and the clocks for them.
const READ: usize = 0;
const WRITE: usize = 1;
const KINDS: [usize; 2] = [READ, WRITE];

/// A slot has two places side by side, one for each kind of reference. In both, these tags, 2 times the kind higher:
const CLOCK: Tag = 0;
const GHOST: Tag = 1;

/// The greatest counter of the write clock: two bits.
const WRITES_MOST: u8 = 3;

#[inline(always)]
fn place(slot: Slot, kind: usize) -> Slot {
    2 * slot + kind as Slot
}

/// The slot with this place.
#[inline(always)]
fn owner(place: Slot) -> Slot {
    place / 2
}

#[inline(always)]
fn tag(kind: usize, of: Tag) -> Tag {
    2 * kind as Tag + of
}

/// The CRAW policy.
#[derive(Debug)]
pub struct Craw {
    capacity: u32,
    len: u32,
    args: Args,
    places: Places,
    /// By slot: writes since the hand last passed.
    writes: Vec<u8>,
    /// By kind, oldest at the hand.
    clocks: [Queue; 2],
    /// By kind: what left the clock.
    ghosts: [Queue; 2],
    /// Blocks that the read clock should have; the write clock should have the rest.
    read_size: u32,
    /// By kind: misses of ghosts in this window.
    missed: [u32; 2],
    /// References in this window.
    references: u32,
    costs: [f64; 2],
    step: u32,
}

impl Policy for Craw {
    const INFO: Info = Info {
        name: "craw",
        family: "adaptive",
        summary: "a clock for reads and one for writes, sized by what their misses cost",
        params: &[
            Param {
                key: "read_cost",
                kind: ParamKind::Real { min: 0.0, max: 1e6 },
                default: "1",
                doc: "cost of reading a block from storage",
            },
            Param {
                key: "write_cost",
                kind: ParamKind::Real { min: 0.0, max: 1e6 },
                default: "8",
                doc: "cost of writing a block to storage, in the same unit (flash: 8, disk: 1)",
            },
            Param {
                key: "step",
                kind: ParamKind::Share,
                default: "1%",
                doc: "blocks that move from one clock to the other at once, at least 1",
            },
        ],
        needs: Needs { write: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let mut craw = Craw {
            capacity: setup.capacity,
            len: 0,
            args: setup.args.clone(),
            places: Places::new(2 * setup.slots),
            writes: large::filled(0, setup.slots as usize),
            clocks: KINDS.map(|kind| Queue::new(tag(kind, CLOCK), 0)),
            ghosts: KINDS.map(|kind| Queue::new(tag(kind, GHOST), 0)),
            read_size: (setup.capacity / 2).max(1),
            missed: [0; 2],
            references: 0,
            costs: ["read_cost", "write_cost"].map(|key| setup.args.real(key)),
            step: step(setup.args, setup.capacity)?,
        };
        craw.fit();
        Ok(craw)
    }

    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements::of(capacity).with_ghosts(Some(capacity)))
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let kind = usize::from(reference.write);
        let hit = self.contains(slot);
        let here = self.places.tag(place(slot, kind));
        if here == tag(kind, CLOCK) {
            self.use_again(slot, kind);
        } else {
            if here == tag(kind, GHOST) {
                self.ghosts[kind].take(&mut self.places, place(slot, kind));
                self.missed[kind] += u32::from(!hit);
            }
            if !hit {
                self.make_room(slot, kind, fx);
                self.len += 1;
            }
            self.clocks[kind].push(&mut self.places, place(slot, kind));
            if kind == WRITE {
                self.writes[slot as usize] = 0;
            }
        }
        self.references += 1;
        if self.references >= self.capacity {
            self.adapt(fx);
        }
        if hit { Outcome::Hit } else { Outcome::Admitted }
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(place(slot, READ));
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if !self.is_known(slot) {
            return;
        }
        self.len -= u32::from(self.contains(slot));
        for kind in KINDS {
            let here = self.places.tag(place(slot, kind));
            if here == tag(kind, CLOCK) {
                self.clocks[kind].take(&mut self.places, place(slot, kind));
            } else if here == tag(kind, GHOST) {
                self.ghosts[kind].take(&mut self.places, place(slot, kind));
            }
        }
        fx.forget(slot);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        let share = u64::from(self.read_size) * u64::from(capacity) / u64::from(self.capacity);
        self.capacity = capacity;
        self.step = step(&self.args, capacity).expect("new accepted the same arguments");
        self.set_read_size(share as u32);
        while self.len > capacity {
            self.take_out(None, READ, fx);
        }
        self.trim_ghosts(None, fx);
        self.fit();
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(2 * slots);
        self.writes.resize((slots as usize).max(self.writes.len()), 0);
        self.fit();
    }

    #[inline(always)]
    fn contains(&self, slot: Slot) -> bool {
        self.is_in_clock(slot, READ) || self.is_in_clock(slot, WRITE)
    }

    fn len(&self) -> u32 {
        self.len
    }

    fn validate(&self) {
        for kind in KINDS {
            self.clocks[kind].validate(&self.places);
            self.ghosts[kind].validate(&self.places);
            assert!(self.ghosts[kind].len() <= self.capacity - self.size(kind), "too many ghosts");
        }
        let residents = (0..self.places.slots() / 2).filter(|&slot| self.contains(slot));
        assert_eq!(residents.count(), self.len as usize, "blocks in clocks are miscounted");
        assert!(self.len <= self.capacity);
        assert!(self.size(READ) >= 1 && (self.size(WRITE) >= 1 || self.capacity == 1), "a clock without room");
        assert!(self.writes.iter().all(|&writes| writes <= WRITES_MOST));
    }
}

fn step(args: &Args, capacity: u32) -> Result<u32, SpecError> {
    Ok(args.share("step", capacity)?.max(1))
}

impl Craw {
    /// Rings large enough for all that clocks and ghosts may come to hold.
    fn fit(&mut self) {
        let slots = self.places.slots() / 2;
        for kind in KINDS {
            self.clocks[kind].grow(&mut self.places, self.capacity.min(slots));
            self.ghosts[kind].grow(&mut self.places, self.capacity.saturating_add(1).min(slots));
        }
    }

    /// Blocks that the clock should have.
    #[inline(always)]
    fn size(&self, kind: usize) -> u32 {
        if kind == READ { self.read_size } else { self.capacity - self.read_size }
    }

    fn set_read_size(&mut self, size: u32) {
        self.read_size = size.clamp(1, (self.capacity - 1).max(1));
    }

    #[inline(always)]
    fn is_in_clock(&self, slot: Slot, kind: usize) -> bool {
        self.places.tag(place(slot, kind)) == tag(kind, CLOCK)
    }

    #[inline(always)]
    fn is_known(&self, slot: Slot) -> bool {
        KINDS.into_iter().any(|kind| self.places.tag(place(slot, kind)) != ABSENT)
    }

    /// A reference to a block that is in the clock of its kind.
    #[inline(always)]
    fn use_again(&mut self, slot: Slot, kind: usize) {
        if kind == READ {
            self.places.mark(place(slot, READ));
        } else {
            let writes = &mut self.writes[slot as usize];
            *writes = (*writes + 1).min(WRITES_MOST);
        }
    }

    /// The hand passes `slot`: true if it was used.
    #[inline(always)]
    fn spare(&mut self, slot: Slot, kind: usize) -> bool {
        if kind == READ {
            return self.places.is_marked(place(slot, READ));
        }
        let writes = &mut self.writes[slot as usize];
        let used = *writes > 0;
        *writes = writes.saturating_sub(1);
        used
    }

    #[inline(always)]
    fn make_room(&mut self, arriving: Slot, kind: usize, fx: &mut impl Effects) {
        while self.len == self.capacity {
            self.take_out(Some(arriving), kind, fx);
        }
    }

    /// Takes a node out of the clock that exceeds its size by more; its block leaves unless the other clock holds it.
    #[inline(always)]
    fn take_out(&mut self, arriving: Option<Slot>, kind: usize, fx: &mut impl Effects) {
        let excess = |kind: usize| i64::from(self.clocks[kind].len()) - i64::from(self.size(kind));
        let other = 1 - kind;
        let gives = if excess(other) > excess(kind) { other } else { kind };
        let gives = if self.clocks[gives].is_empty() { 1 - gives } else { gives };
        while let Some(oldest) = self.clocks[gives].oldest(&self.places) {
            let slot = owner(oldest);
            if self.spare(slot, gives) {
                self.clocks[gives].renew(&mut self.places, oldest);
                continue;
            }
            self.clocks[gives].take(&mut self.places, oldest);
            self.ghosts[gives].push(&mut self.places, oldest);
            if !self.is_in_clock(slot, 1 - gives) {
                self.len -= 1;
                fx.evict(slot);
            }
            return self.trim_ghosts(arriving, fx);
        }
    }

    /// Drops the oldest ghosts beyond the bounds. The block that is arriving stays known.
    #[inline(always)]
    fn trim_ghosts(&mut self, arriving: Option<Slot>, fx: &mut impl Effects) {
        for kind in KINDS {
            while self.ghosts[kind].len() > self.capacity - self.size(kind) {
                let Some(slot) = self.ghosts[kind].pop_oldest(&mut self.places).map(owner) else { break };
                if Some(slot) != arriving && !self.is_known(slot) {
                    fx.forget(slot);
                }
            }
        }
    }

    /// The end of a window: the clock whose ghosts were worth more grows.
    #[cold]
    fn adapt(&mut self, fx: &mut impl Effects) {
        let worth =
            |kind: usize| f64::from(self.missed[kind]) * self.costs[kind] / f64::from(self.ghosts[kind].len().max(1));
        let [reads, writes] = KINDS.map(worth);
        if reads > writes {
            self.set_read_size(self.read_size.saturating_add(self.step));
        } else if writes > reads {
            self.set_read_size(self.read_size.saturating_sub(self.step));
        }
        (self.missed, self.references) = ([0; 2], 0);
        self.trim_ghosts(None, fx);
    }
}
