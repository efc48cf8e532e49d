//! The pages that APR knows: the global ring, a stack an object, and the ghosts.

use std::collections::HashMap;

use super::super::lifo_plus::Stack;
use super::scores::{Record, Scores, Side};
use crate::paging::{Links, List, Machine, Page};

/// The object of all pages that belong to none large enough.
pub(super) const DEFAULT: u32 = 0;

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    pub(super) resident: bool,
    /// In the clock's ring.
    pub(super) in_ring: bool,
    /// On the stack of its object.
    pub(super) on_stack: bool,
    /// The clock's copy of the access bit.
    pub(super) global_bit: bool,
    /// The stack's copy of the access bit.
    pub(super) local_bit: bool,
    pub(super) object: u32,
    /// The choice it was subject to, at most one.
    pub(super) record: Option<Record>,
}

impl Known {
    pub(super) fn is_ghost(&self) -> bool {
        !self.resident && (self.in_ring || self.on_stack)
    }

    pub(super) fn is_chosen_by(&self, side: Side) -> bool {
        self.record.is_some_and(|record| record.by == side)
    }
}

/// A memory object.
#[derive(Clone, Debug, Default)]
pub(super) struct Object {
    pub(super) stack: Stack,
    pub(super) scores: Scores,
}

/// All pages and objects.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) decay: f64,
    pub(super) resident: u32,
    pub(super) pages: Vec<Known>,
    pub(super) ring: List,
    pub(super) ring_links: Links,
    pub(super) objects: Vec<Object>,
    pub(super) stack_links: Links,
    /// Index of an object in `objects`, by its number.
    numbers: HashMap<u32, u32>,
    /// In the order in which they were evicted.
    pub(super) ghosts: List,
    ghost_links: Links,
}

impl Memory {
    pub(super) fn new(pages: u32, decay: f64) -> Memory {
        Memory {
            decay,
            resident: 0,
            pages: vec![Known::default(); pages as usize],
            ring: List::default(),
            ring_links: Links::new(pages),
            objects: vec![Object::default()],
            stack_links: Links::new(pages),
            numbers: HashMap::new(),
            ghosts: List::default(),
            ghost_links: Links::new(pages),
        }
    }

    pub(super) fn page(&mut self, page: Page) -> &mut Known {
        &mut self.pages[page as usize]
    }

    /// The index of the object with this number.
    pub(super) fn object(&mut self, number: u32) -> u32 {
        *self.numbers.entry(number).or_insert_with(|| {
            self.objects.push(Object::default());
            self.objects.len() as u32 - 1
        })
    }

    pub(super) fn scores(&mut self, page: Page) -> &mut Scores {
        let object = self.pages[page as usize].object;
        &mut self.objects[object as usize].scores
    }

    /// Moves the machine's bit of a resident page into both copies. A page that was used since it was chosen tells against its chooser.
    pub(super) fn harvest(&mut self, page: Page, machine: &mut impl Machine) {
        if machine.test_and_clear(page) {
            let known = self.page(page);
            (known.global_bit, known.local_bit) = (true, true);
            self.punish(page);
        }
    }

    /// `page` is used: if it had been chosen, its chooser was wrong.
    pub(super) fn punish(&mut self, page: Page) {
        if let Some(record) = self.page(page).record.take() {
            let decay = self.decay;
            self.scores(page).punish(record, decay);
        }
    }

    /// Takes in a page that was fetched.
    pub(super) fn enter(&mut self, page: Page, object: u32, machine: &mut impl Machine) {
        self.resident += 1;
        let fresh = Known { resident: true, in_ring: true, on_stack: true, object, ..Known::default() };
        *self.page(page) = fresh;
        self.ring.push(&mut self.ring_links, page);
        let second = self.objects[object as usize].stack.push(&mut self.stack_links, page);
        if let Some(second) = second {
            if self.pages[second as usize].resident {
                self.harvest(second, machine);
            }
            self.page(second).local_bit = false;
        }
    }

    /// Takes the frame of `page` away; out of memory it counts as idle. It stays as a ghost where `keep` says, with at most `bound` ghosts in all.
    pub(super) fn evict(&mut self, page: Page, keep: Option<Side>, bound: u32) {
        let known = self.page(page);
        (known.resident, known.global_bit, known.local_bit) = (false, false, false);
        self.resident -= 1;
        if keep != Some(Side::Clock) {
            self.leave_ring(page);
        }
        if keep != Some(Side::LifoPlus) {
            self.leave_stack(page);
        }
        if keep.is_some() {
            self.ghosts.push(&mut self.ghost_links, page);
            while self.ghosts.len() > bound
                && let Some(oldest) = self.ghosts.oldest()
            {
                self.forget(oldest);
            }
        }
    }

    /// Drops everything that is known of a ghost.
    pub(super) fn forget(&mut self, page: Page) {
        self.ghosts.take(&mut self.ghost_links, page);
        self.leave_ring(page);
        self.leave_stack(page);
        self.page(page).record = None;
    }

    /// The memory of `page` was freed.
    pub(super) fn free(&mut self, page: Page) {
        if self.pages[page as usize].resident {
            self.evict(page, None, 0);
            self.page(page).record = None;
        } else if self.pages[page as usize].is_ghost() {
            self.forget(page);
        }
    }

    fn leave_ring(&mut self, page: Page) {
        if std::mem::take(&mut self.page(page).in_ring) {
            self.ring.take(&mut self.ring_links, page);
        }
    }

    fn leave_stack(&mut self, page: Page) {
        let known = self.page(page);
        let object = known.object as usize;
        if std::mem::take(&mut known.on_stack) {
            self.objects[object].stack.take(&mut self.stack_links, page);
        }
    }

    pub(super) fn validate(&self) {
        self.ring.validate(&self.ring_links);
        self.ghosts.validate(&self.ghost_links);
        let count = |fits: fn(&Known) -> bool| self.pages.iter().filter(|known| fits(known)).count();
        assert_eq!(count(|known| known.resident), self.resident as usize);
        assert_eq!(count(|known| known.in_ring), self.ring.len() as usize);
        assert_eq!(count(Known::is_ghost), self.ghosts.len() as usize);
        let mut stacked = 0;
        for (number, object) in self.objects.iter().enumerate() {
            object.stack.validate(&self.stack_links);
            let owned = |page: Page| self.pages[page as usize].object as usize == number;
            assert!(object.stack.iter(&self.stack_links).all(owned), "a page on a stack that is not its own");
            stacked += object.stack.len() as usize;
            let bound = 2.0 / (1.0 - self.decay).max(f64::MIN_POSITIVE);
            assert!(object.scores.clock <= bound && object.scores.lifo_plus <= bound, "a score beyond its bound");
        }
        assert_eq!(count(|known| known.on_stack), stacked);
        for known in &self.pages {
            assert!(!known.resident || (known.in_ring && known.on_stack), "a resident page is in both lists");
            let loser = if known.in_ring { Side::LifoPlus } else { Side::Clock };
            assert!(
                !known.is_ghost() || known.is_chosen_by(loser),
                "a ghost remembers who chose it, in the other's list"
            );
            assert!(known.record.is_none() || known.resident || known.is_ghost(), "a record of a page nobody knows");
        }
    }
}
