//! innodb: the buffer pool of MySQL, an LRU list into which pages come at three eighths from its end.
//!
//! Idea: the list has a new part and, behind the midpoint, an old one. A page that is read enters at the head of the
//! old part. A use while it is there makes it new only if some time has passed since its first use, so that a scan,
//! which uses each page several times in a moment, passes through the old part alone. Any use of a page in the new part
//! brings it to its head. The last page of the old part leaves.
//!
//! Paper: none. The MySQL 8.0 reference manual, "Buffer pool" and "Making the buffer pool scan resistant"
//! (`innodb_old_blocks_pct` = 37, `innodb_old_blocks_time` = 1000 ms).
//!
//! Provenance: written from the public documentation, not from MySQL's source. Not compared with a server: none was at
//! hand.
//!
//! Deviations: the manual says that a page of the new part moves to the head only if it is some way from it, and not
//! how far: here each use moves it. Pages read ahead are not distinguished. Where a trace has no times, no time need
//! pass.
//!
//! Cost: O(1) amortised; a hit or a miss moves a page and at times one more across the midpoint. Memory: 26 to 41 bytes
//! a block (4 and 8 a slot, 8 to 16 a block in each queue's bound).
//!
//! When not to use it: it is here to be compared with, as what runs today. Loops longer than the old part are hit by
//! what happens to have become new.

use crate::parts::ghost::forget_in;
use crate::parts::queue::{Places, Queue, Tag};
use crate::policy::{Args, Discard, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Setup, Slot};
use crate::spec::SpecError;

const OLD: Tag = 0;
const NEW: Tag = 1;

/// The midpoint LRU of InnoDB.
#[derive(Debug)]
pub struct Innodb {
    capacity: u32,
    args: Args,
    /// Pages of the old part, where there are so many.
    old_most: u32,
    /// Nanoseconds after the first use of a page before which a use does not make it new.
    old_time: u64,
    places: Places,
    old: Queue,
    new: Queue,
    /// By slot: the clock at the first use since it was read.
    first_use: Vec<u64>,
}

impl Policy for Innodb {
    const INFO: Info = Info {
        name: "innodb",
        aliases: &["midpoint-lru"],
        family: "recency",
        summary: "the buffer pool of MySQL: an LRU list into which pages come at three eighths from its end",
        params: &[
            Param {
                key: "old",
                kind: ParamKind::Share,
                default: "37%",
                doc: "pages behind the midpoint, at least 1 (innodb_old_blocks_pct)",
            },
            Param {
                key: "old_time",
                kind: ParamKind::Time,
                default: "1s",
                doc: "time after the first use of a page before which a use does not make it new (innodb_old_blocks_time)",
            },
        ],
        needs: Needs { clock: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let places = Places::new(setup.slots);
        Ok(Innodb {
            capacity: setup.capacity,
            args: setup.args.clone(),
            old_most: old_most(setup.args, setup.capacity)?,
            old_time: setup.args.time("old_time"),
            old: Queue::within(OLD, setup.capacity, &places),
            new: Queue::within(NEW, setup.capacity, &places),
            places,
            first_use: vec![0; setup.slots as usize],
        })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        match self.places.tag(slot) {
            NEW => self.new.renew(&mut self.places, slot),
            OLD => {
                let since = reference.clock.saturating_sub(self.first_use[slot as usize]);
                if since >= self.old_time || reference.clock == 0 {
                    self.old.take(&mut self.places, slot);
                    self.new.push(&mut self.places, slot);
                    self.settle(0);
                }
            }
            _ => {
                if self.len() == self.capacity {
                    self.evict(fx);
                }
                self.settle(1);
                self.old.push(&mut self.places, slot);
                self.first_use[slot as usize] = reference.clock;
                return Outcome::Admitted;
            }
        }
        Outcome::Hit
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        forget_in([&mut self.old, &mut self.new], &mut self.places, slot, fx);
        self.settle(0);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        while self.len() > capacity {
            self.evict(fx);
            self.settle(0);
        }
        self.capacity = capacity;
        self.old_most = old_most(&self.args, capacity).expect("new accepted the same arguments");
        self.fit();
        self.settle(0);
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        self.first_use.resize((slots as usize).max(self.first_use.len()), 0);
        self.fit();
    }

    fn contains(&self, slot: Slot) -> bool {
        matches!(self.places.tag(slot), OLD | NEW)
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.old.len() + self.new.len()
    }

    fn validate(&self) {
        self.old.validate(&self.places);
        self.new.validate(&self.places);
        assert!(self.len() <= self.capacity);
        assert_eq!(self.old.len(), self.old_most.min(self.len()), "the midpoint is off");
    }
}

impl Innodb {
    fn fit(&mut self) {
        self.old.grow(&mut self.places, self.capacity);
        self.new.grow(&mut self.places, self.capacity);
    }

    /// Brings the midpoint to where it belongs once `coming` pages, 0 or 1, have come in behind it.
    #[inline(always)]
    fn settle(&mut self, coming: u32) {
        let old = self.old_most.min(self.len() + coming) - coming;
        while self.old.len() > old {
            let first = self.old.pop_youngest(&mut self.places).expect("it is longer");
            self.new.push_oldest(&mut self.places, first);
        }
        while self.old.len() < old {
            let last = self.new.pop_oldest(&mut self.places).expect("the others are there");
            self.old.push(&mut self.places, last);
        }
    }

    /// The last page of the list leaves.
    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let last = self.old.pop_oldest(&mut self.places).expect("the old part has a page if there is one");
        fx.discard(last);
    }
}

fn old_most(args: &Args, capacity: u32) -> Result<u32, SpecError> {
    Ok(args.share("old", capacity)?.max(1))
}
