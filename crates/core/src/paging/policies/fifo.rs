//! FIFO: evict the page that was fetched first.
//!
//! Idea: the order of faults is all that is needed, access bits are never read.
//!
//! Paper: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 1966.
//!
//! Deviations: none.
//!
//! Cost: O(1) a fault. Memory: 9 bytes a page.
//!
//! When not to use it: wherever a page is used again and again, which is nearly always.

use super::PLAIN;
use crate::paging::{Fault, Links, List, Machine, Page, PagingPolicy, Setup};
use crate::policy::Info;
use crate::spec::SpecError;

/// The FIFO policy.
#[derive(Debug)]
pub struct Fifo {
    frames: u32,
    links: Links,
    queue: List,
    resident: Vec<bool>,
}

impl PagingPolicy for Fifo {
    const INFO: Info = Info { name: "fifo", summary: "evict the page that was fetched first", ..PLAIN };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let pages = setup.pages();
        Ok(Fifo {
            frames: setup.frames,
            links: Links::new(pages),
            queue: List::default(),
            resident: vec![false; pages as usize],
        })
    }

    fn fault(&mut self, fault: Fault, _: &mut impl Machine) -> Option<Page> {
        let full = self.queue.len() == self.frames;
        let victim = if full { self.queue.pop_oldest(&mut self.links) } else { None };
        if let Some(victim) = victim {
            self.resident[victim as usize] = false;
        }
        self.queue.push(&mut self.links, fault.page);
        self.resident[fault.page as usize] = true;
        victim
    }

    fn free(&mut self, page: Page) {
        if std::mem::take(&mut self.resident[page as usize]) {
            self.queue.take(&mut self.links, page);
        }
    }

    fn contains(&self, page: Page) -> bool {
        self.resident[page as usize]
    }

    fn len(&self) -> u32 {
        self.queue.len()
    }

    fn validate(&self) {
        self.queue.validate(&self.links);
        assert!(self.queue.len() <= self.frames);
        assert!(self.queue.iter(&self.links).all(|page| self.contains(page)));
        assert_eq!(self.resident.iter().filter(|&&resident| resident).count(), self.queue.len() as usize);
    }
}
