//! LIFO+: evict the page fetched last that has not been accessed since the scan last passed it.
//!
//! Idea: MRU for an operating system, which does not see uses but knows the order of fetches. On a loop
//! longer than memory the page fetched last is the one wanted farthest in the future. The pages lie on a stack. A
//! pointer goes from near the top towards the bottom, clears bits, and evicts the first page whose bit is clear.
//!
//! Paper: Lee, Seoul National University M.S. thesis 2020, where it is the second policy of `apr` and runs on the pages
//! of one memory object.
//!
//! Provenance: not compared with another program.
//!
//! Deviations and readings: here all pages lie on one stack; `apr(use=lifo+)` has one an object. When a page is
//! fetched, the bit of the one that was on top is cleared and the pointer goes there: it has just been used for the
//! first time, which says nothing.
//!
//! Cost: a hit sets a bit; a fault looks at the pages the pointer passes, at most two rounds. Memory: 9 bytes a page.
//!
//! When not to use it: alone, outside of loops: old pages stay.

use crate::parts::large;
use crate::parts::links::{Links, List};
use crate::parts::prefetch::prefetch;
use crate::policy::{
    Args, Discard, Effects, Hits, Info, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

/// Whether the access that faults counts as one.
pub(super) const INITIAL: Param = Param {
    key: "initial",
    kind: ParamKind::Count { min: 0, max: 1 },
    default: "1",
    doc: "access bit of a page that was just fetched; 0 leaves the access that faults out",
};

/// The known facts of a page: nothing, or that it is resident, and whether it was accessed as far as the host has not
/// noted that.
const ABSENT: u8 = 0;
const IDLE: u8 = 1;
const ACCESSED: u8 = 2;

/// The LIFO+ policy on one stack.
#[derive(Debug)]
pub struct LifoPlus {
    capacity: u32,
    /// The state of a page that was just fetched.
    initial: u8,
    links: Links,
    stack: Stack,
    /// By slot.
    states: Vec<u8>,
}

/// A stack of pages with its pointer.
#[derive(Clone, Debug, Default)]
pub(super) struct Stack {
    /// The top is the youngest.
    list: List,
    /// Where the next scan begins; `None` if the stack is empty.
    pointer: Option<Slot>,
}

impl Policy for LifoPlus {
    const INFO: Info = Info {
        name: "lifo+",
        family: "paging",
        summary: "evict the page fetched last that was not accessed since the scan last passed it",
        params: &[INITIAL],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Ok(LifoPlus {
            capacity: setup.capacity,
            initial: if setup.args.count("initial") == 1 { ACCESSED } else { IDLE },
            links: Links::new(setup.slots),
            stack: Stack::default(),
            states: large::filled(ABSENT, setup.slots as usize),
        })
    }

    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements { hits: Hits::Bit, ..Requirements::of(capacity) })
    }

    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        if self.contains(slot) {
            self.states[slot as usize] = ACCESSED;
            return Outcome::Hit;
        }
        if self.len() == self.capacity {
            self.evict(fx);
        }
        self.states[slot as usize] = self.initial;
        if let Some(second) = self.stack.push(&mut self.links, slot) {
            take_accessed(&mut self.states, second, fx);
        }
        Outcome::Admitted
    }

    fn prefetch(&self, slot: Slot) {
        prefetch(&self.states, slot as usize);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.contains(slot) {
            self.leave(slot);
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.len() > capacity {
            self.evict(fx);
        }
    }

    fn grow(&mut self, slots: u32) {
        self.links.grow(slots);
        self.states.resize((slots as usize).max(self.states.len()), ABSENT);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.states[slot as usize] != ABSENT
    }

    fn len(&self) -> u32 {
        self.stack.len()
    }

    fn validate(&self) {
        self.stack.validate(&self.links);
        assert!(self.len() <= self.capacity);
        assert_eq!(self.states.iter().filter(|&&state| state != ABSENT).count(), self.len() as usize);
    }
}

impl LifoPlus {
    fn evict(&mut self, fx: &mut impl Effects) {
        let LifoPlus { links, stack, states, .. } = self;
        if let Some(victim) = stack.scan(links, |page| !take_accessed(states, page, fx)) {
            self.leave(victim);
            fx.discard(victim);
        }
    }

    fn leave(&mut self, slot: Slot) {
        self.states[slot as usize] = ABSENT;
        self.stack.take(&mut self.links, slot);
    }
}

/// Tells whether a resident page was accessed, and takes that back.
fn take_accessed(states: &mut [u8], slot: Slot, fx: &mut impl Effects) -> bool {
    let before = std::mem::replace(&mut states[slot as usize], IDLE);
    (before == ACCESSED) | fx.take_accessed(slot)
}

impl Stack {
    /// Slots on the stack.
    pub(super) fn len(&self) -> u32 {
        self.list.len()
    }

    /// Puts `page` on top. Gives the page that was on top before; the pointer goes there, or to `page` if there was
    /// none.
    pub(super) fn push(&mut self, links: &mut Links, page: Slot) -> Option<Slot> {
        let second = self.list.youngest();
        self.list.push(links, page);
        self.pointer = second.or(Some(page));
        second
    }

    /// Takes `page`, which is on the stack, off it.
    pub(super) fn take(&mut self, links: &mut Links, page: Slot) {
        if self.pointer == Some(page) {
            let below = self.below(links, page);
            self.pointer = (below != page).then_some(below);
        }
        self.list.take(links, page);
    }

    /// Moves the pointer down, and from the bottom to the top, until `fits` holds for a page; the pointer stops below
    /// it. `fits` clears the bits it looks at, so after two rounds nothing fits.
    pub(super) fn scan(&mut self, links: &Links, mut fits: impl FnMut(Slot) -> bool) -> Option<Slot> {
        for _ in 0..2 * u64::from(self.len()) {
            let page = self.pointer?;
            self.pointer = Some(self.below(links, page));
            if fits(page) {
                return Some(page);
            }
        }
        None
    }

    /// The page below `page`; the top if it is the bottom.
    fn below(&self, links: &Links, page: Slot) -> Slot {
        self.list.older(links, page).or(self.list.youngest()).unwrap_or(page)
    }

    /// The pages from bottom to top.
    pub(super) fn iter<'a>(&'a self, links: &'a Links) -> impl Iterator<Item = Slot> + 'a {
        self.list.iter(links)
    }

    pub(super) fn validate(&self, links: &Links) {
        self.list.validate(links);
        match self.pointer {
            Some(pointer) => assert!(self.iter(links).any(|page| page == pointer), "the pointer is off the stack"),
            None => assert!(self.list.is_empty(), "a stack without pointer"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 3.3 of the thesis, with page n standing for p(n).
    #[test]
    fn the_pointer_does_as_in_the_figure() {
        let (mut links, mut stack) = (Links::new(7), Stack::default());
        for page in 1..=5 {
            stack.push(&mut links, page);
        }
        assert_eq!(stack.pointer, Some(4));
        let mut bits = [false, false, false, true, true, false, false];
        let victim = stack.scan(&links, |page| !std::mem::take(&mut bits[page as usize]));
        assert_eq!((victim, stack.pointer, bits), (Some(2), Some(1), [false; 7]));
        stack.take(&mut links, 2);
        assert_eq!(stack.push(&mut links, 6), Some(5), "the page whose bit is cleared");
        assert_eq!(stack.iter(&links).collect::<Vec<_>>(), [1, 3, 4, 5, 6]);
        assert_eq!(stack.pointer, Some(5));
        stack.validate(&links);
    }

    #[test]
    fn the_pointer_never_stays_on_a_page_that_left() {
        let (mut links, mut stack) = (Links::new(3), Stack::default());
        assert_eq!(stack.scan(&links, |_| true), None);
        for page in 0..3 {
            stack.push(&mut links, page);
        }
        stack.take(&mut links, 1);
        assert_eq!(stack.pointer, Some(0));
        stack.take(&mut links, 0);
        assert_eq!(stack.pointer, Some(2), "from the bottom to the top");
        stack.take(&mut links, 2);
        assert_eq!(stack.pointer, None);
        stack.validate(&links);
    }
}
