//! The four lists of ARC and the policies made from it.
//!
//! T1 holds resident blocks seen once lately and T2 those seen again; B1 and B2 remember what left them. A hit in B1
//! raises p, the size that T1 should have, a hit in B2 lowers it. Each policy decides how to use T1 and T2.

use crate::parts::ghost::{forget_in, forget_oldest};
use crate::parts::queue::{Alike, Places, Queue, Tag, Weights};
use crate::policy::{Effects, Slot};

/// Tag of T1.
pub const T1: Tag = 0;
/// Tag of T2.
pub const T2: Tag = 1;
/// Tag of B1.
pub const B1: Tag = 2;
/// Tag of B2.
pub const B2: Tag = 3;

/// The lists, their places and p. |T1| + |T2| and |T1| + |B1| are at most c, all four at most 2c.
#[derive(Debug)]
pub struct FourLists<W = Alike> {
    /// c, the blocks that may be resident.
    pub capacity: u32,
    /// p, the size that T1 should have: a real number from 0 to c.
    pub target: f64,
    /// Where each slot is.
    pub places: Places<W>,
    /// Resident, seen once.
    pub t1: Queue,
    /// Resident, seen again.
    pub t2: Queue,
    /// Ghosts from T1.
    pub b1: Queue,
    /// Ghosts from T2.
    pub b2: Queue,
}

impl<W: Weights> FourLists<W> {
    /// Empty lists.
    pub fn new(capacity: u32, slots: u32) -> FourLists<W> {
        let [t1, t2, b1, b2] = [T1, T2, B1, B2].map(|tag| Queue::new(tag, 0));
        let mut lists = FourLists { capacity, target: 0.0, places: Places::weighing(slots), t1, t2, b1, b2 };
        lists.fit_queues();
        lists
    }

    /// Blocks that lists for `capacity` may know, the one being referenced included.
    pub fn identities(capacity: u32) -> u64 {
        2 * u64::from(capacity) + 1
    }

    /// |T1| + |T2|.
    #[inline(always)]
    pub fn resident(&self) -> u32 {
        self.t1.len() + self.t2.len()
    }

    /// True if `slot` is in T1 or T2.
    pub fn contains(&self, slot: Slot) -> bool {
        matches!(self.places.tag(slot), T1 | T2)
    }

    /// A reference to `slot` in B1: T1 was too small. Counts the sizes with that block.
    #[inline(always)]
    pub fn raise_target(&mut self, slot: Slot) {
        let step = f64::from(self.b2.len()) / f64::from(self.b1.len());
        let step = step.max(1.0) * f64::from(self.places.weight(slot));
        self.target = (self.target + step).min(f64::from(self.capacity));
    }

    /// A reference to `slot` in B2: T2 was too small. Counts the sizes with that block.
    #[inline(always)]
    pub fn lower_target(&mut self, slot: Slot) {
        let step = f64::from(self.b1.len()) / f64::from(self.b2.len());
        let step = step.max(1.0) * f64::from(self.places.weight(slot));
        self.target = (self.target - step).max(0.0);
    }

    /// Drops ghosts until `slot` fits in T1.
    #[inline(always)]
    pub fn make_ghost_room(&mut self, slot: Slot, fx: &mut impl Effects) {
        let (weight, capacity) = (u64::from(self.places.weight(slot)), u64::from(self.capacity));
        while self.seen_once() + weight > capacity && !self.b1.is_empty() {
            forget_oldest(&mut self.b1, &mut self.places, fx);
            if W::ARE_ALIKE {
                return;
            }
        }
        while self.seen_once() + weight <= capacity && self.known() + weight > 2 * capacity {
            forget_oldest(&mut self.b2, &mut self.places, fx);
            if W::ARE_ALIKE {
                return;
            }
        }
    }

    /// Drops a block that became invalid.
    pub fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        forget_in([&mut self.t1, &mut self.t2, &mut self.b1, &mut self.b2], &mut self.places, slot, fx);
    }

    /// Sets the capacity; evicts by `replace` until the residents fit, then trims the ghosts.
    pub fn resize<E: Effects>(
        &mut self,
        capacity: u32,
        fx: &mut E,
        mut replace: impl FnMut(&mut FourLists<W>, &mut E),
    ) {
        self.capacity = capacity;
        self.target = self.target.min(f64::from(capacity));
        while self.resident() > capacity {
            replace(self, fx);
        }
        while self.seen_once() > u64::from(capacity) {
            forget_oldest(&mut self.b1, &mut self.places, fx);
        }
        while self.known() > 2 * u64::from(capacity) {
            forget_oldest(&mut self.b2, &mut self.places, fx);
        }
        self.fit_queues();
    }

    /// Grows to hold slots below `slots`.
    pub fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        self.fit_queues();
    }

    /// Panics on a broken invariant.
    pub fn validate(&self) {
        for list in [&self.t1, &self.t2, &self.b1, &self.b2] {
            list.validate(&self.places);
        }
        let capacity = u64::from(self.capacity);
        assert!(u64::from(self.resident()) <= capacity, "T1 and T2 exceed the capacity");
        assert!(self.seen_once() <= capacity, "T1 and B1 exceed the capacity");
        assert!(self.known() <= 2 * capacity, "the four lists exceed twice the capacity");
        assert!((0.0..=f64::from(self.capacity)).contains(&self.target), "p is not between 0 and the capacity");
    }

    fn seen_once(&self) -> u64 {
        u64::from(self.t1.len()) + u64::from(self.b1.len())
    }

    fn known(&self) -> u64 {
        self.seen_once() + u64::from(self.t2.len()) + u64::from(self.b2.len())
    }

    /// Rings large enough for all that the lists may come to hold.
    fn fit_queues(&mut self) {
        let once = self.capacity.min(self.places.slots());
        let twice = self.capacity.saturating_mul(2).min(self.places.slots());
        self.t1.grow(&mut self.places, once);
        self.t2.grow(&mut self.places, once);
        self.b1.grow(&mut self.places, once);
        self.b2.grow(&mut self.places, twice);
    }
}
