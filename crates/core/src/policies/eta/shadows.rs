//! The pages that CLOCK and ETA would each hold in a memory of the same size.

use super::history::{History, IN_USE};
use crate::parts::queue::{ABSENT, Places, Queue};
use crate::parts::table::Table;
use crate::policy::Slot;

/// The shadow of CLOCK: a ring whose marks are the access bits in software.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) places: Places,
    pub(super) ring: Queue,
}

impl Clock {
    pub(super) fn new(slots: u32, frames: u32) -> Clock {
        let places = Places::new(slots);
        Clock { ring: Queue::within(0, frames, &places), places }
    }

    pub(super) fn grow(&mut self, slots: u32, frames: u32) {
        self.places.grow(slots);
        self.ring.grow(&mut self.places, frames);
    }

    #[inline(always)]
    pub(super) fn contains(&self, page: Slot) -> bool {
        self.places.tag(page) != ABSENT
    }
}

/// The shadow of ETA, with the next victims in order.
#[derive(Debug)]
pub(super) struct Foretold {
    /// The pages; true if a page is on the list.
    pub(super) pages: Table<bool>,
    /// Victims from `at` on, as far as they are still listed in `pages`.
    list: Vec<Slot>,
    at: usize,
    /// The list is of pages in use, since too few others were left.
    spares_none: bool,
    /// Pages to rank: how much a page is to be spared, in the high half, and its row in `pages`.
    keys: Vec<u64>,
}

impl Foretold {
    pub(super) fn new(slots: u32, frames: u32) -> Foretold {
        let pages = Table::new(slots, frames);
        let mut shadow = Foretold { pages, list: Vec::new(), at: 0, spares_none: false, keys: Vec::new() };
        shadow.grow(slots, frames);
        shadow
    }

    pub(super) fn grow(&mut self, slots: u32, frames: u32) {
        self.pages.grow(slots, frames);
        let bound = self.pages.slots().min(frames) as usize;
        self.keys.reserve_exact(bound.saturating_sub(self.keys.len()));
        self.list.reserve_exact(bound.saturating_sub(self.list.len()));
    }

    /// Lists the `most` pages whose predicted uses are farthest away among those not in use; where fewer than half as
    /// many are left, the least recently used ones of all.
    pub(super) fn rank(&mut self, history: &History, most: usize) {
        self.fill_keys(|page| (history.epochs_idle(page) >= IN_USE).then(|| history.distance(page).to_bits()));
        self.spares_none = self.keys.len() < most / 2;
        if self.spares_none {
            self.fill_keys(|page| Some(history.age(page)));
        }
        if self.keys.len() > most {
            self.keys.select_nth_unstable(most);
            self.keys.truncate(most);
        }
        self.keys.sort_unstable();
        while let Some(page) = self.next_listed() {
            self.unlist(page);
        }
        self.list.clear();
        self.at = 0;
        for &key in &self.keys {
            let page = self.pages.row(key as u32).0;
            self.list.push(page);
            *self.pages.get_mut(page).expect("a row of the table") = true;
        }
    }

    /// Keys of the pages with an explanation, the largest first.
    fn fill_keys(&mut self, told: impl Fn(Slot) -> Option<u32>) {
        self.keys.clear();
        for row in 0..self.pages.len() {
            if let Some(weight) = told(self.pages.row(row).0) {
                self.keys.push(u64::from(!weight) << 32 | u64::from(row));
            }
        }
    }

    fn unlist(&mut self, page: Slot) {
        *self.pages.get_mut(page).expect("a listed page") = false;
    }

    /// The next page of the list, which loses its place there; `None` if the list has run dry.
    pub(super) fn next_listed(&mut self) -> Option<Slot> {
        while let Some(&page) = self.list.get(self.at) {
            self.at += 1;
            if self.pages.get(page) == Some(&true) {
                return Some(page);
            }
        }
        None
    }

    /// True if a listed page may leave.
    pub(super) fn lets_go(&self, page: Slot, history: &History) -> bool {
        self.spares_none || history.epochs_idle(page) >= IN_USE
    }
}
