//! CLOCK-Pro: a clock of hot and cold pages that remembers pages for a while after they left.
//!
//! Idea: LIRS for an operating system. A page is hot if its last reuse was short, otherwise cold, and only cold pages are evicted. A new page is
//! cold and in its test period: if it is used again before the period ends, resident or not, it becomes hot. Three hands go round one ring:
//! the cold one looks for victims, the hot one for hot pages that cooled down, the test one ends the test periods of pages that left.
//! The share of cold pages grows with every page that comes back during its test and shrinks with every one that does not.
//!
//! Paper: Jiang, Chen, Zhang, "CLOCK-Pro: an effective improvement of the CLOCK replacement", USENIX 2005.
//!
//! Deviations and readings: the bit of a fetched page is cleared, as in the paper. The share of cold pages begins at 1 page and lies between 1 page
//! and all but one. It grows also when a resident cold page is accessed during its test. It shrinks only for pages that had left.
//! At most as many pages that left are remembered as there are frames.
//!
//! Cost: O(1) amortised a fault. Memory: 9 bytes a page.
//!
//! When not to use it: programs whose reuse distances change all the time: what was hot is let go of late.

use super::PLAIN;
use crate::paging::{Fault, Links, List, Machine, Page, PagingPolicy, Setup};
use crate::policy::Info;
use crate::spec::SpecError;

/// What a page is to the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Unknown,
    Hot,
    Cold,
    /// Cold and in its test period.
    Tested,
    /// Not resident, still in its test period.
    Gone,
}

/// The CLOCK-Pro policy.
#[derive(Debug)]
pub struct ClockPro {
    frames: u32,
    /// How many resident pages should be cold.
    cold_target: u32,
    hot: u32,
    cold: u32,
    gone: u32,
    status: Vec<Status>,
    links: Links,
    /// The pages in a circle.
    ring: List,
    hands: [Option<Page>; 3],
}

const HOT: usize = 0;
const COLD: usize = 1;
const TEST: usize = 2;

impl PagingPolicy for ClockPro {
    const INFO: Info = Info {
        name: "clock-pro",
        aliases: &["clockpro"],
        summary: "hot and cold pages on one clock, remembered for a while after they left",
        ..PLAIN
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let pages = setup.pages();
        Ok(ClockPro {
            frames: setup.frames,
            cold_target: 1,
            hot: 0,
            cold: 0,
            gone: 0,
            status: vec![Status::Unknown; pages as usize],
            links: Links::new(pages),
            ring: List::default(),
            hands: [None; 3],
        })
    }

    fn fault(&mut self, fault: Fault, machine: &mut impl Machine) -> Option<Page> {
        let came_back = self.status[fault.page as usize] == Status::Gone;
        if came_back {
            self.raise_cold_target();
            self.drop_page(fault.page);
        }
        let victim = if self.len() == self.frames { Some(self.run_cold(machine)) } else { None };
        machine.test_and_clear(fault.page);
        self.enter(fault.page, if came_back { Status::Hot } else { Status::Tested });
        self.cool_down(machine);
        victim
    }

    fn free(&mut self, page: Page) {
        if self.status[page as usize] != Status::Unknown {
            self.drop_page(page);
        }
    }

    fn contains(&self, page: Page) -> bool {
        matches!(self.status[page as usize], Status::Hot | Status::Cold | Status::Tested)
    }

    fn len(&self) -> u32 {
        self.hot + self.cold
    }

    fn validate(&self) {
        self.ring.validate(&self.links);
        let count = |wanted: &[Status]| self.status.iter().filter(|status| wanted.contains(status)).count() as u32;
        assert_eq!(self.hot, count(&[Status::Hot]));
        assert_eq!(self.cold, count(&[Status::Cold, Status::Tested]));
        assert_eq!(self.gone, count(&[Status::Gone]));
        assert_eq!(self.ring.len(), self.hot + self.cold + self.gone);
        assert!(self.len() <= self.frames && self.gone <= self.frames && self.hot <= self.most_hot());
        assert!((1..=self.most_cold()).contains(&self.cold_target));
        assert!(self.hands.iter().all(|hand| hand.is_some() != self.ring.is_empty()));
    }
}

impl ClockPro {
    fn most_cold(&self) -> u32 {
        (self.frames - 1).max(1)
    }

    fn most_hot(&self) -> u32 {
        self.frames - self.cold_target
    }

    fn raise_cold_target(&mut self) {
        self.cold_target = (self.cold_target + 1).min(self.most_cold());
    }

    fn lower_cold_target(&mut self) {
        self.cold_target = (self.cold_target - 1).max(1);
    }

    fn count(&mut self, status: Status) -> &mut u32 {
        match status {
            Status::Hot => &mut self.hot,
            Status::Cold | Status::Tested => &mut self.cold,
            Status::Gone => &mut self.gone,
            Status::Unknown => unreachable!("pages that are not known are not counted"),
        }
    }

    fn set(&mut self, page: Page, status: Status) {
        let before = std::mem::replace(&mut self.status[page as usize], status);
        *self.count(before) -= 1;
        *self.count(status) += 1;
    }

    /// Puts `page` just behind the hot hand, where it is passed last.
    fn enter(&mut self, page: Page, status: Status) {
        self.status[page as usize] = status;
        *self.count(status) += 1;
        self.place(page);
    }

    fn place(&mut self, page: Page) {
        match self.hands[HOT] {
            Some(hand) => self.ring.insert_before(&mut self.links, page, hand),
            None => {
                self.ring.push(&mut self.links, page);
                self.hands = [Some(page); 3];
            }
        }
    }

    /// Takes `page` out of the ring; hands on it go on to the next.
    fn unplace(&mut self, page: Page) {
        let next = Some(self.after(page)).filter(|&next| next != page);
        for hand in self.hands.iter_mut().filter(|hand| **hand == Some(page)) {
            *hand = next;
        }
        self.ring.take(&mut self.links, page);
    }

    fn drop_page(&mut self, page: Page) {
        let status = std::mem::replace(&mut self.status[page as usize], Status::Unknown);
        *self.count(status) -= 1;
        self.unplace(page);
    }

    fn move_to_head(&mut self, page: Page) {
        self.unplace(page);
        self.place(page);
    }

    fn after(&self, page: Page) -> Page {
        self.links.newer(page).or(self.ring.oldest()).expect("a page of the ring")
    }

    /// The page under a hand, which goes on.
    fn turn(&mut self, hand: usize) -> Page {
        let page = self.hands[hand].expect("hands turn only while there are pages");
        self.hands[hand] = Some(self.after(page));
        page
    }

    /// Finds a victim: a cold page that was not accessed. There is one, for not all frames are hot.
    fn run_cold(&mut self, machine: &mut impl Machine) -> Page {
        loop {
            let page = self.turn(COLD);
            let status = self.status[page as usize];
            match (status, matches!(status, Status::Cold | Status::Tested) && machine.test_and_clear(page)) {
                (Status::Tested, true) => {
                    self.raise_cold_target();
                    self.set(page, Status::Hot);
                    self.move_to_head(page);
                    self.cool_down(machine);
                }
                (Status::Cold, true) => {
                    self.set(page, Status::Tested);
                    self.move_to_head(page);
                }
                (Status::Tested, false) => {
                    self.set(page, Status::Gone);
                    while self.gone > self.frames {
                        self.run_test();
                    }
                    return page;
                }
                (Status::Cold, false) => {
                    self.drop_page(page);
                    return page;
                }
                _ => {}
            }
        }
    }

    /// Turns the hot hand until there are not more hot pages than should be.
    fn cool_down(&mut self, machine: &mut impl Machine) {
        while self.hot > self.most_hot() {
            let page = self.turn(HOT);
            match self.status[page as usize] {
                Status::Hot if !machine.test_and_clear(page) => self.set(page, Status::Cold),
                Status::Hot => {}
                _ => self.end_test(page),
            }
        }
    }

    /// Turns the test hand by one page.
    fn run_test(&mut self) {
        let page = self.turn(TEST);
        self.end_test(page);
    }

    /// Ends the test period of a page that is in one.
    fn end_test(&mut self, page: Page) {
        match self.status[page as usize] {
            Status::Tested => self.set(page, Status::Cold),
            Status::Gone => {
                self.drop_page(page);
                self.lower_cold_target();
            }
            _ => {}
        }
    }
}
