//! OPT: evict the page used again farthest in the future. The bound that no paging policy beats.
//!
//! Idea: the simulator knows the trace. Residents are kept in the order of their next uses. A page whose next use has passed was
//! used meanwhile, for its next use is known exactly; so at a fault those are looked up again, and no reference to a resident
//! page has to be watched.
//!
//! Paper: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 1966; optimality: Mattson and others 1970.
//!
//! Deviations and readings: of several pages never used again the one with the lowest number leaves first. Frees are not foreseen:
//! a freed page gives its frame back when it is freed, so with frees this is OPT for the uses alone.
//!
//! Cost: O(log frames) for every page used between two faults. Memory: about 30 bytes a frame.
//!
//! When not to use it: it cannot run on a machine.

use std::collections::BTreeSet;

use super::PLAIN;
use crate::paging::{Fault, Machine, Page, PagingPolicy, Setup};
use crate::policy::Info;
use crate::spec::SpecError;

/// Not used again.
const NEVER: u64 = u64::MAX;

/// The OPT policy.
#[derive(Debug)]
pub struct Opt {
    frames: u32,
    /// Next use and page, of the residents.
    order: BTreeSet<(u64, Page)>,
    /// By page: the next use under which it stands in `order`; `None` if it is not resident.
    next_uses: Vec<Option<u64>>,
}

impl PagingPolicy for Opt {
    const INFO: Info = Info {
        name: "opt",
        aliases: &["belady", "min"],
        family: "optimal",
        summary: "evict the page used again farthest in the future: the bound of all paging policies",
        offline: true,
        ..PLAIN
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let next_uses = vec![None; setup.pages() as usize];
        Ok(Opt { frames: setup.frames, order: BTreeSet::new(), next_uses })
    }

    fn fault(&mut self, fault: Fault, machine: &mut impl Machine) -> Option<Page> {
        let full = self.len() == self.frames;
        let victim = full.then(|| {
            self.catch_up(fault.time, machine);
            self.last()
        });
        if let Some(victim) = victim {
            self.free(victim);
        }
        self.put(fault.page, machine);
        victim
    }

    fn free(&mut self, page: Page) {
        if let Some(next_use) = self.next_uses[page as usize].take() {
            self.order.remove(&(next_use, page));
        }
    }

    fn contains(&self, page: Page) -> bool {
        self.next_uses[page as usize].is_some()
    }

    fn len(&self) -> u32 {
        self.order.len() as u32
    }

    fn validate(&self) {
        assert!(self.len() <= self.frames);
        assert_eq!(self.next_uses.iter().flatten().count(), self.order.len());
        assert!(self.order.iter().all(|&(next_use, page)| self.next_uses[page as usize] == Some(next_use)));
    }
}

impl Opt {
    fn put(&mut self, page: Page, machine: &mut impl Machine) {
        let next_use = machine.next_use(page).unwrap_or(NEVER);
        self.next_uses[page as usize] = Some(next_use);
        self.order.insert((next_use, page));
    }

    /// Looks up again the pages whose next use has passed.
    fn catch_up(&mut self, time: u64, machine: &mut impl Machine) {
        while let Some(&(next_use, page)) = self.order.first()
            && next_use < time
        {
            self.free(page);
            self.put(page, machine);
        }
    }

    /// The page used again last; of those never used again, the one with the lowest number.
    fn last(&self) -> Page {
        let done = self.order.range((NEVER, 0)..).next();
        done.or(self.order.last()).expect("memory is full, so pages are resident").1
    }
}
