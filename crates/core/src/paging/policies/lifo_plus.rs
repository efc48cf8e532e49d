//! LIFO+: evict the page fetched last that has not been accessed since the scan last passed it.
//!
//! Idea: MRU for an operating system, which is not told what was used last but knows what was fetched last. On a loop longer than
//! memory the page fetched last is the one wanted farthest in the future. The pages lie on a stack. A pointer goes from near the top
//! towards the bottom, clears bits, and evicts the first page whose bit is clear.
//!
//! Paper: Lee, Seoul National University M.S. thesis 2020, where it is the second policy of `apr` and runs on the pages of one memory object.
//!
//! Deviations and readings: here all pages lie on one stack; `apr(use=lifo+)` has one an object. When a page is fetched, the bit of the one
//! that was on top is cleared and the pointer goes there: it has just been used for the first time, which says nothing.
//!
//! Cost: a fault looks at the pages the pointer passes, at most two rounds. Memory: 9 bytes a page.
//!
//! When not to use it: alone, outside of loops: what is old stays.

use super::{INITIAL, PLAIN};
use crate::paging::{Fault, Links, List, Machine, Page, PagingPolicy, Setup};
use crate::policy::Info;
use crate::spec::SpecError;

/// The LIFO+ policy on one stack.
#[derive(Debug)]
pub struct LifoPlus {
    frames: u32,
    counts_fault: bool,
    links: Links,
    stack: Stack,
    resident: Vec<bool>,
}

/// A stack of pages with its pointer.
#[derive(Clone, Debug, Default)]
pub(super) struct Stack {
    /// The top is the newest.
    list: List,
    /// Where the next scan begins; `None` if the stack is empty.
    pointer: Option<Page>,
}

impl PagingPolicy for LifoPlus {
    const INFO: Info = Info {
        name: "lifo+",
        summary: "evict the page fetched last that was not accessed since the scan last passed it",
        params: &[INITIAL],
        ..PLAIN
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let pages = setup.pages();
        Ok(LifoPlus {
            frames: setup.frames,
            counts_fault: setup.args.count("initial") == 1,
            links: Links::new(pages),
            stack: Stack::default(),
            resident: vec![false; pages as usize],
        })
    }

    fn fault(&mut self, fault: Fault, machine: &mut impl Machine) -> Option<Page> {
        let full = self.len() == self.frames;
        let victim = if full { self.stack.scan(&self.links, |page| !machine.test_and_clear(page)) } else { None };
        if let Some(victim) = victim {
            self.free(victim);
        }
        if !self.counts_fault {
            machine.test_and_clear(fault.page);
        }
        if let Some(second) = self.stack.push(&mut self.links, fault.page) {
            machine.test_and_clear(second);
        }
        self.resident[fault.page as usize] = true;
        victim
    }

    fn free(&mut self, page: Page) {
        if std::mem::take(&mut self.resident[page as usize]) {
            self.stack.take(&mut self.links, page);
        }
    }

    fn contains(&self, page: Page) -> bool {
        self.resident[page as usize]
    }

    fn len(&self) -> u32 {
        self.stack.len()
    }

    fn validate(&self) {
        self.stack.validate(&self.links);
        assert!(self.len() <= self.frames);
        assert_eq!(self.resident.iter().filter(|&&resident| resident).count(), self.len() as usize);
    }
}

impl Stack {
    /// Pages on the stack.
    pub(super) fn len(&self) -> u32 {
        self.list.len()
    }

    /// Puts `page` on top. Gives the page that was on top before; the pointer goes there, or to `page` if there was none.
    pub(super) fn push(&mut self, links: &mut Links, page: Page) -> Option<Page> {
        let second = self.list.newest();
        self.list.push(links, page);
        self.pointer = second.or(Some(page));
        second
    }

    /// Takes `page`, which is on the stack, off it.
    pub(super) fn take(&mut self, links: &mut Links, page: Page) {
        if self.pointer == Some(page) {
            let below = self.below(links, page);
            self.pointer = (below != page).then_some(below);
        }
        self.list.take(links, page);
    }

    /// Moves the pointer down, and from the bottom to the top, until `fits` holds for a page; the pointer stops below it. `fits` clears
    /// the bits it looks at, so after two rounds nothing fits.
    pub(super) fn scan(&mut self, links: &Links, mut fits: impl FnMut(Page) -> bool) -> Option<Page> {
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
    fn below(&self, links: &Links, page: Page) -> Page {
        links.older(page).or(self.list.newest()).unwrap_or(page)
    }

    /// The pages from bottom to top.
    pub(super) fn iter<'a>(&'a self, links: &'a Links) -> impl Iterator<Item = Page> + 'a {
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
