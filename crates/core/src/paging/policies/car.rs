//! CAR: clock with adaptive replacement.
//!
//! Idea: two clocks, T1 of pages used once lately and T2 of pages used again, and two lists of pages that left them. A fault on a
//! page that left T1 says that T1 was too small, one on a page that left T2 the opposite. Accesses are seen by the bits alone, so it needs
//! nothing that an operating system does not have.
//!
//! Paper: Bansal, Modha, "CAR: clock with adaptive replacement", FAST 2004.
//!
//! Deviations and readings: the bit of a fetched page is cleared, so that the access that faults does not count, as in the paper. The lists, their
//! bounds and the real-valued target are those of `car` for caches.
//!
//! Cost: O(1) amortised a fault, one turn of a hand for each bit met. Memory: 4 bytes a page, 40 bytes a frame.
//!
//! When not to use it: loops longer than memory.

use super::PLAIN;
use crate::families::four_lists::{B1, B2, FourLists};
use crate::paging::{Fault, Machine, Page, PagingPolicy, Setup};
use crate::policy::{Effects, Extra, Info};
use crate::spec::SpecError;

/// The CAR policy.
#[derive(Debug)]
pub struct Car(FourLists);

/// Pages keep their numbers, so nobody needs to hear that one was forgotten.
struct Unheard;

impl Effects for Unheard {
    fn evict(&mut self, _: Page) {}
    fn forget(&mut self, _: Page) {}
    fn fetch(&mut self, _: Page, _: Extra) {}
}

impl PagingPolicy for Car {
    const INFO: Info = Info {
        name: "car",
        summary: "two clocks, used once and used again, sized by faults on what left them",
        ..PLAIN
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Ok(Car(FourLists::new(setup.frames, setup.pages())))
    }

    fn fault(&mut self, fault: Fault, machine: &mut impl Machine) -> Option<Page> {
        let lists = &mut self.0;
        let tag = lists.places.tag(fault.page);
        let victim = if lists.resident() == lists.capacity { replace(lists, machine) } else { None };
        match tag {
            B1 => {
                lists.raise_target();
                lists.b1.take(&mut lists.places, fault.page);
                lists.t2.push(&mut lists.places, fault.page);
            }
            B2 => {
                lists.lower_target();
                lists.b2.take(&mut lists.places, fault.page);
                lists.t2.push(&mut lists.places, fault.page);
            }
            _ => {
                lists.make_ghost_room(&mut Unheard);
                lists.t1.push(&mut lists.places, fault.page);
            }
        }
        machine.test_and_clear(fault.page);
        victim
    }

    fn free(&mut self, page: Page) {
        self.0.remove(page, &mut Unheard);
    }

    fn contains(&self, page: Page) -> bool {
        self.0.contains(page)
    }

    fn len(&self) -> u32 {
        self.0.resident()
    }

    fn validate(&self) {
        self.0.validate();
    }
}

/// Turns the hands until one meets a page that was not accessed, which becomes a ghost.
fn replace(lists: &mut FourLists, machine: &mut impl Machine) -> Option<Page> {
    let FourLists { t1, t2, b1, b2, places, target, .. } = lists;
    loop {
        let from_t1 = f64::from(t1.len()) >= target.max(1.0);
        let (clock, ghosts) = if from_t1 { (&mut *t1, &mut *b1) } else { (&mut *t2, &mut *b2) };
        let page = clock.oldest(places)?;
        clock.take(places, page);
        if !machine.test_and_clear(page) {
            ghosts.push(places, page);
            return Some(page);
        }
        t2.push(places, page);
    }
}
