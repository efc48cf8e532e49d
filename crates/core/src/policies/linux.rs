//! The page cache of Linux: an inactive list that sifts, an active one, and pages that are remembered after they left.
//!
//! Idea: a page that is read once enters the inactive list and leaves at its end. A use while it is there activates it.
//! The active list loses its oldest page to the inactive one when that is shorter than half. A page that comes back so
//! soon that it would have stayed, had the active list been shorter, goes to the active list at once: what left is
//! remembered with a clock of evictions and activations, and the page is activated if that clock has moved by no more
//! than the active list is long.
//!
//! Paper: none. Gorman, "Understanding the Linux virtual memory manager", 2004, chapter 10 (the two lists); the
//! kernel's documentation of its memory management, and Corbet, "Better active/inactive list balancing", LWN 2012 (the
//! distance of a refault). For a kernel whose multi-generational LRU is switched on this is not the model.
//!
//! Provenance: written from these descriptions and from what a kernel does, not from its source.
//! `benches/page_cache.py` reads files page by page in a control group of 64 MiB and asks before each read whether the
//! page is there: under Linux 6.18 the miss ratio of this policy is 0.3 points from the kernel's on references after
//! Zipf (LRU: 0.9), 0.3 on a scan beside a hot set (LRU: 10) and 2.4 on a loop (LRU: 2.4).
//!
//! Deviations: pages leave one at a time, where the kernel takes 32 and sorts uses into its lists in batches. The
//! active list gives up one page for each that leaves. All pages are clean files, read and not mapped; no read-ahead,
//! no swap, one node, one group. `inactive` is the share of the inactive list that the kernel aims at: half, up to a
//! gigabyte; a quarter for one, a tenth for ten.
//!
//! Cost: a hit writes one word, or moves a page once; a miss moves up to three. Memory: 41 to 66 bytes a block (8 a
//! slot, ghosts included; 8 to 16 in each queue's bound).
//!
//! When not to use it: it is here to be compared with, as what runs today. Loops longer than memory are never hit.

use crate::parts::ghost::{evict_to, forget_in, forget_oldest};
use crate::parts::queue::{Places, Queue, Tag};
use crate::policy::{Args, Effects, Info, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot};
use crate::spec::SpecError;

const INACTIVE: Tag = 0;
const ACTIVE: Tag = 1;
const GHOST: Tag = 2;

/// The page cache of Linux.
#[derive(Debug)]
pub struct Linux {
    capacity: u32,
    args: Args,
    /// Pages in the inactive list below which the active one gives up pages.
    inactive_least: u32,
    /// A page that comes back may be activated at once.
    refaults: bool,
    places: Places,
    /// Marked pages were used since they came, or since they left the active list.
    inactive: Queue,
    active: Queue,
    /// No page further back could be activated.
    ghosts: Queue,
    /// Evictions and activations so far; wraps.
    clock: u32,
    /// The clock's value when the page left, by slot.
    left_at: Vec<u32>,
}

impl Policy for Linux {
    const INFO: Info = Info {
        name: "linux",
        aliases: &["active-inactive"],
        family: "recency",
        summary: "the page cache of Linux (without its multi-generational LRU): inactive and active list, refaults",
        params: &[
            Param {
                key: "inactive",
                kind: ParamKind::Share,
                default: "50%",
                doc: "pages in the inactive list below which the active one gives up pages, at least 1",
            },
            Param {
                key: "refaults",
                kind: ParamKind::Word(&["on", "off"]),
                default: "on",
                doc: "pages that come back soon are activated at once (since Linux 3.15)",
            },
        ],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let mut linux = Linux {
            capacity: setup.capacity,
            args: setup.args.clone(),
            inactive_least: inactive_least(setup.args, setup.capacity)?,
            refaults: setup.args.word("refaults") == "on",
            places: Places::new(setup.slots),
            inactive: Queue::new(INACTIVE, 0),
            active: Queue::new(ACTIVE, 0),
            ghosts: Queue::new(GHOST, 0),
            clock: 0,
            left_at: vec![0; setup.slots as usize],
        };
        linux.fit();
        Ok(linux)
    }

    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements::of(capacity).with_ghosts(Some(capacity)))
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        match self.places.tag(slot) {
            ACTIVE => Outcome::Hit,
            INACTIVE => {
                self.use_inactive(slot);
                Outcome::Hit
            }
            known => {
                let is_ghost = known == GHOST;
                if is_ghost {
                    self.ghosts.take(&mut self.places, slot);
                }
                if self.len() == self.capacity {
                    self.evict(fx);
                }
                if is_ghost && self.refaults && self.clock_since(slot) <= self.active.len() {
                    self.activate(slot);
                } else {
                    self.inactive.push(&mut self.places, slot);
                    self.places.mark(slot);
                }
                Outcome::Admitted
            }
        }
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        forget_in([&mut self.inactive, &mut self.active, &mut self.ghosts], &mut self.places, slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.inactive_least = inactive_least(&self.args, capacity).expect("new accepted the same arguments");
        while self.len() > capacity {
            self.evict(fx);
        }
        while self.ghosts.len() > capacity {
            forget_oldest(&mut self.ghosts, &mut self.places, fx);
        }
        self.fit();
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        self.left_at.resize(slots as usize, 0);
        self.fit();
    }

    fn contains(&self, slot: Slot) -> bool {
        matches!(self.places.tag(slot), INACTIVE | ACTIVE)
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.inactive.len() + self.active.len()
    }

    fn validate(&self) {
        for queue in [&self.inactive, &self.active, &self.ghosts] {
            queue.validate(&self.places);
        }
        assert!(self.len() <= self.capacity);
        assert!(self.ghosts.len() <= self.capacity);
    }
}

impl Linux {
    fn fit(&mut self) {
        for queue in [&mut self.inactive, &mut self.active, &mut self.ghosts] {
            queue.grow(&mut self.places, self.capacity.saturating_add(1));
        }
    }

    /// How far the clock has moved since the page in `slot` left.
    #[inline(always)]
    fn clock_since(&self, slot: Slot) -> u32 {
        self.clock.wrapping_sub(self.left_at[slot as usize])
    }

    #[inline(always)]
    fn use_inactive(&mut self, slot: Slot) {
        if self.places.is_marked(slot) {
            self.inactive.take(&mut self.places, slot);
            self.activate(slot);
        } else {
            self.places.mark(slot);
        }
    }

    #[inline(always)]
    fn activate(&mut self, slot: Slot) {
        self.active.push(&mut self.places, slot);
        self.clock = self.clock.wrapping_add(1);
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        if (self.inactive.len() < self.inactive_least || self.inactive.is_empty())
            && let Some(oldest) = self.active.pop_oldest(&mut self.places)
        {
            self.inactive.push(&mut self.places, oldest);
        }
        if let Some(victim) = evict_to(&mut self.inactive, &mut self.ghosts, &mut self.places, fx) {
            self.clock = self.clock.wrapping_add(1);
            self.left_at[victim as usize] = self.clock;
        }
        if self.ghosts.len() > self.capacity {
            forget_oldest(&mut self.ghosts, &mut self.places, fx);
        }
    }
}

fn inactive_least(args: &Args, capacity: u32) -> Result<u32, SpecError> {
    Ok(args.share("inactive", capacity)?.max(1))
}
