//! The pages that APR knows: the global ring, a stack an object, and the ghosts.

use std::collections::HashMap;

use super::scores::{Record, Scores, Side};
use crate::parts::links::{Links, List};
use crate::policies::lifo_plus::Stack;
use crate::policy::{Effects, Slot};

/// The object of all pages that belong to none large enough.
pub(super) const DEFAULT: u32 = 0;

/// The known facts of a page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    pub(super) resident: bool,
    /// It was accessed, as far as the host has not noted that itself.
    pub(super) accessed: bool,
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

    /// Moves accesses, noted here or by the host, into both copies of the bit. If the page had been chosen, its chooser
    /// was wrong.
    fn harvest(&mut self, scores: &mut Scores, decay: f64, noted: bool) {
        if std::mem::take(&mut self.accessed) | noted {
            (self.global_bit, self.local_bit) = (true, true);
            if let Some(record) = self.record.take() {
                scores.punish(record, decay);
            }
        }
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
    pub(super) fn new(slots: u32, decay: f64) -> Memory {
        Memory {
            decay,
            resident: 0,
            pages: vec![Known::default(); slots as usize],
            ring: List::default(),
            ring_links: Links::new(slots),
            objects: vec![Object::default()],
            stack_links: Links::new(slots),
            numbers: HashMap::new(),
            ghosts: List::default(),
            ghost_links: Links::new(slots),
        }
    }

    pub(super) fn page(&mut self, page: Slot) -> &mut Known {
        &mut self.pages[page as usize]
    }

    /// The index of the object with this number.
    pub(super) fn object(&mut self, number: u32) -> u32 {
        *self.numbers.entry(number).or_insert_with(|| {
            self.objects.push(Object::default());
            self.objects.len() as u32 - 1
        })
    }

    pub(super) fn scores(&mut self, page: Slot) -> &mut Scores {
        let object = self.pages[page as usize].object;
        &mut self.objects[object as usize].scores
    }

    /// Grows to hold slots below `slots`.
    pub(super) fn grow(&mut self, slots: u32) {
        self.pages.resize((slots as usize).max(self.pages.len()), Known::default());
        for links in [&mut self.ring_links, &mut self.stack_links, &mut self.ghost_links] {
            links.grow(slots);
        }
    }

    /// The page that the clock looks at next. There are resident pages, and those are in the ring.
    pub(super) fn clock_hand(&self) -> Slot {
        self.ring.oldest(&self.ring_links).expect("memory is full, so pages are in the ring")
    }

    /// Moves the accesses of a resident page into both copies of its bit. A page that was used since it was chosen
    /// tells against its chooser.
    pub(super) fn harvest(&mut self, page: Slot, fx: &mut impl Effects) {
        let (decay, known) = (self.decay, &mut self.pages[page as usize]);
        known.harvest(&mut self.objects[known.object as usize].scores, decay, fx.take_accessed(page));
    }

    /// `page` is used: if it had been chosen, its chooser was wrong.
    pub(super) fn punish(&mut self, page: Slot) {
        if let Some(record) = self.page(page).record.take() {
            let decay = self.decay;
            self.scores(page).punish(record, decay);
        }
    }

    /// What LIFO+ chooses on the stack of the object of `page`: a page that was not accessed and that it has not chosen
    /// already.
    pub(super) fn scan_stack(&mut self, page: Slot, fx: &mut impl Effects) -> Option<Slot> {
        let Memory { decay, pages, objects, stack_links, .. } = self;
        let Object { stack, scores } = &mut objects[pages[page as usize].object as usize];
        stack.scan(stack_links, |page| {
            let known = &mut pages[page as usize];
            if known.resident {
                known.harvest(scores, *decay, fx.take_accessed(page));
            }
            !std::mem::take(&mut known.local_bit) && !known.is_chosen_by(Side::LifoPlus)
        })
    }

    /// Takes in a page that was fetched.
    pub(super) fn enter(&mut self, page: Slot, object: u32, accessed: bool, fx: &mut impl Effects) {
        self.resident += 1;
        let fresh = Known { resident: true, accessed, in_ring: true, on_stack: true, object, ..Known::default() };
        *self.page(page) = fresh;
        self.ring.push(&mut self.ring_links, page);
        let second = self.objects[object as usize].stack.push(&mut self.stack_links, page);
        if let Some(second) = second {
            if self.pages[second as usize].resident {
                self.harvest(second, fx);
            }
            self.page(second).local_bit = false;
        }
    }

    /// Takes the place of `page` away; out of memory it counts as idle. It stays as a ghost where `keep` says, with at
    /// most `bound` ghosts in all.
    pub(super) fn evict(&mut self, page: Slot, keep: Option<Side>, bound: u32, fx: &mut impl Effects) {
        self.leave(page, keep);
        fx.evict(page);
        match keep {
            None => fx.forget(page),
            Some(_) => {
                self.ghosts.push(&mut self.ghost_links, page);
                self.trim_ghosts(bound, fx);
            }
        }
    }

    /// Forgets the oldest ghosts beyond `bound`.
    pub(super) fn trim_ghosts(&mut self, bound: u32, fx: &mut impl Effects) {
        while self.ghosts.len() > bound
            && let Some(oldest) = self.ghosts.oldest(&self.ghost_links)
        {
            self.forget(oldest, fx);
        }
    }

    /// Forgets a ghost.
    pub(super) fn forget(&mut self, page: Slot, fx: &mut impl Effects) {
        self.drop_ghost(page);
        fx.forget(page);
    }

    /// Drops everything that is known of a ghost.
    pub(super) fn drop_ghost(&mut self, page: Slot) {
        self.ghosts.take(&mut self.ghost_links, page);
        self.leave_ring(page);
        self.leave_stack(page);
        self.page(page).record = None;
    }

    /// The content of `page` became void.
    pub(super) fn free(&mut self, page: Slot, fx: &mut impl Effects) {
        let known = self.pages[page as usize];
        if known.resident {
            self.leave(page, None);
            self.page(page).record = None;
            fx.forget(page);
        } else if known.is_ghost() {
            self.forget(page, fx);
        }
    }

    /// A resident page is one no more; it stays where `keep` says.
    fn leave(&mut self, page: Slot, keep: Option<Side>) {
        let known = self.page(page);
        (known.resident, known.accessed, known.global_bit, known.local_bit) = (false, false, false, false);
        self.resident -= 1;
        if keep != Some(Side::Clock) {
            self.leave_ring(page);
        }
        if keep != Some(Side::LifoPlus) {
            self.leave_stack(page);
        }
    }

    fn leave_ring(&mut self, page: Slot) {
        if std::mem::take(&mut self.page(page).in_ring) {
            self.ring.take(&mut self.ring_links, page);
        }
    }

    fn leave_stack(&mut self, page: Slot) {
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
            let owned = |page: Slot| self.pages[page as usize].object as usize == number;
            assert!(object.stack.iter(&self.stack_links).all(owned), "a page on a stack that is not its own");
            stacked += object.stack.len() as usize;
            object.scores.validate();
        }
        assert_eq!(count(|known| known.on_stack), stacked);
        for known in &self.pages {
            assert!(!known.resident || (known.in_ring && known.on_stack), "a resident page is in both lists");
            let loser = if known.in_ring { Side::LifoPlus } else { Side::Clock };
            assert!(
                !known.is_ghost() || known.is_chosen_by(loser),
                "a ghost remembers who chose it, in the other's list"
            );
            assert!(known.record.is_none() || known.resident || known.is_ghost(), "a record of an unknown page");
        }
    }
}
