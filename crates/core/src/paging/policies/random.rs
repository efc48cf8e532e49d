//! Random: evict any page, each as likely as the others.
//!
//! Idea: no order is kept, so no pattern can be the worst case of it.
//!
//! Paper: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 1966.
//!
//! Deviations: none. The draw is from a seeded generator.
//!
//! Cost: O(1) a fault. Memory: 8 bytes a page.
//!
//! When not to use it: when access bits tell anything, which they mostly do.

use super::PLAIN;
use crate::paging::{Fault, Machine, Page, PagingPolicy, Setup};
use crate::parts::random::Random as Generator;
use crate::policy::Info;
use crate::spec::SpecError;

const ABSENT: u32 = u32::MAX;

/// The Random policy.
#[derive(Debug)]
pub struct Random {
    frames: u32,
    /// The resident pages, in no order that matters.
    resident: Vec<Page>,
    /// By page: its index in `resident`, or `ABSENT`.
    index: Vec<u32>,
    generator: Generator,
}

impl PagingPolicy for Random {
    const INFO: Info = Info { name: "random", summary: "evict any page, each as likely as the others", ..PLAIN };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let index = vec![ABSENT; setup.pages() as usize];
        Ok(Random { frames: setup.frames, resident: Vec::new(), index, generator: Generator::new(setup.seed) })
    }

    fn fault(&mut self, fault: Fault, _: &mut impl Machine) -> Option<Page> {
        let full = self.len() == self.frames;
        let victim = full.then(|| {
            let victim = self.resident[self.generator.below(self.len()) as usize];
            self.free(victim);
            victim
        });
        self.index[fault.page as usize] = self.len();
        self.resident.push(fault.page);
        victim
    }

    fn free(&mut self, page: Page) {
        let at = std::mem::replace(&mut self.index[page as usize], ABSENT);
        if at != ABSENT {
            self.resident.swap_remove(at as usize);
            if let Some(&moved) = self.resident.get(at as usize) {
                self.index[moved as usize] = at;
            }
        }
    }

    fn contains(&self, page: Page) -> bool {
        self.index[page as usize] != ABSENT
    }

    fn len(&self) -> u32 {
        self.resident.len() as u32
    }

    fn validate(&self) {
        assert!(self.len() <= self.frames);
        assert!(self.resident.iter().enumerate().all(|(at, &page)| self.index[page as usize] == at as u32));
        assert_eq!(self.index.iter().filter(|&&index| index != ABSENT).count(), self.resident.len());
    }
}
