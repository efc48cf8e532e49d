//! CLOCK, or second chance: FIFO that spares pages accessed since the hand last passed.
//!
//! Idea: the hand looks at the page fetched longest ago. If its access bit is set, the bit is cleared and the page is passed by, otherwise
//! it is the victim; the new page goes in just behind the hand. This is the base of what most operating systems do.
//!
//! Paper: Corbato, "A paging experiment with the Multics system", MIT Project MAC 1968.
//!
//! Deviations and readings: a fetched page has its bit set, since the access that faults is an access; `initial=0` clears it.
//!
//! Cost: a fault looks at one page, and at one more for each that is spared; at most two rounds. Memory: 9 bytes a page.
//!
//! When not to use it: loops longer than memory, where it evicts every page just before its use.

use super::{INITIAL, PLAIN};
use crate::paging::{Fault, Links, List, Machine, Page, PagingPolicy, Setup};
use crate::policy::Info;
use crate::spec::SpecError;

/// The CLOCK policy.
#[derive(Debug)]
pub struct Clock {
    frames: u32,
    counts_fault: bool,
    ring: Ring,
}

/// The pages in a circle, with a hand. The circle is cut open at the hand: the page under it is the oldest of a list, the place
/// behind it is the new end. Shared with SEQ.
#[derive(Debug)]
pub(super) struct Ring {
    links: Links,
    list: List,
    resident: Vec<bool>,
}

impl PagingPolicy for Clock {
    const INFO: Info = Info {
        name: "clock",
        aliases: &["second-chance"],
        summary: "FIFO that spares pages accessed since the hand last passed",
        params: &[INITIAL],
        ..PLAIN
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let counts_fault = setup.args.count("initial") == 1;
        Ok(Clock { frames: setup.frames, counts_fault, ring: Ring::new(setup.pages()) })
    }

    fn fault(&mut self, fault: Fault, machine: &mut impl Machine) -> Option<Page> {
        let full = self.ring.len() == self.frames;
        let victim = if full { self.ring.evict(machine) } else { None };
        if !self.counts_fault {
            machine.test_and_clear(fault.page);
        }
        self.ring.push(fault.page);
        victim
    }

    fn free(&mut self, page: Page) {
        self.ring.take(page);
    }

    fn contains(&self, page: Page) -> bool {
        self.ring.contains(page)
    }

    fn len(&self) -> u32 {
        self.ring.len()
    }

    fn validate(&self) {
        self.ring.validate();
        assert!(self.len() <= self.frames);
    }
}

impl Ring {
    /// No page is resident.
    pub(super) fn new(pages: u32) -> Ring {
        Ring { links: Links::new(pages), list: List::default(), resident: vec![false; pages as usize] }
    }

    pub(super) fn len(&self) -> u32 {
        self.list.len()
    }

    pub(super) fn contains(&self, page: Page) -> bool {
        self.resident[page as usize]
    }

    /// Puts `page` just behind the hand.
    pub(super) fn push(&mut self, page: Page) {
        self.list.push(&mut self.links, page);
        self.resident[page as usize] = true;
    }

    /// Takes `page` out if it is resident.
    pub(super) fn take(&mut self, page: Page) {
        if std::mem::take(&mut self.resident[page as usize]) {
            self.list.take(&mut self.links, page);
        }
    }

    /// Moves the hand to a page that was not accessed, and takes that out.
    pub(super) fn evict(&mut self, machine: &mut impl Machine) -> Option<Page> {
        while let Some(page) = self.list.oldest() {
            if !machine.test_and_clear(page) {
                self.take(page);
                return Some(page);
            }
            self.list.renew(&mut self.links, page);
        }
        None
    }

    pub(super) fn validate(&self) {
        self.list.validate(&self.links);
        assert!(self.list.iter(&self.links).all(|page| self.contains(page)));
        assert_eq!(self.resident.iter().filter(|&&resident| resident).count(), self.list.len() as usize);
    }
}
