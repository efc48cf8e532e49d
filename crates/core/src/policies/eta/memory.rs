//! The pages in memory, which follow one of the shadows.

use super::guard::{Guard, Side};
use super::history::History;
use super::shadows::{Clock, Foretold};
use crate::parts::queue::{Places, Queue};
use crate::parts::table::Table;
use crate::policy::{Effects, Slot};

/// Bits of all pages are read every so many parts of the memory's size in faults.
const EPOCHS: u32 = 16;
/// At most so many times as often while much is new.
const HURRY: u32 = 8;

/// A use, seen by a bit, of a page that a shadow did not hold then.
#[derive(Clone, Copy, Debug)]
struct Owed {
    page: Slot,
    to: [bool; 2],
}

/// Memory, both shadows, and what is known of all pages.
#[derive(Debug)]
pub(super) struct Memory {
    frames: u32,
    /// Pages in memory; true if one was used, as far as the host has not noted that itself.
    pub(super) resident: Table<bool>,
    pub(super) history: History,
    clock: Clock,
    foretold: Foretold,
    guard: Guard,
    was_full: bool,
    /// Pages in memory that the leader does not hold, in the order in which it gave them up.
    outsiders: Queue,
    outsider_places: Places,
    /// Pages in memory that each shadow does not hold.
    apart: [u32; 2],
    owed: Vec<Owed>,
    faults: u64,
    next_scan: u64,
    epoch_faults: u32,
    /// Pages that a scan found used: time since the use before, complemented, and the row in `resident`.
    used: Vec<u64>,
}

impl Memory {
    pub(super) fn new(slots: u32, frames: u32, guard: Guard) -> Memory {
        let outsider_places = Places::new(slots);
        let mut memory = Memory {
            frames,
            resident: Table::new(slots, frames),
            history: History::new(slots),
            clock: Clock::new(slots, frames),
            foretold: Foretold::new(slots, frames),
            guard,
            was_full: false,
            outsiders: Queue::within(0, frames, &outsider_places),
            outsider_places,
            apart: [0; 2],
            owed: Vec::new(),
            faults: 0,
            next_scan: 0,
            epoch_faults: epoch_most(frames),
            used: Vec::new(),
        };
        memory.fit();
        memory
    }

    pub(super) fn grow(&mut self, slots: u32) {
        self.history.grow(slots);
        self.outsider_places.grow(slots);
        self.resident.grow(slots, self.frames);
        self.clock.grow(slots, self.frames);
        self.foretold.grow(slots, self.frames);
        self.fit();
    }

    /// Capacity for the work that a call may leave.
    fn fit(&mut self) {
        self.outsiders.grow(&mut self.outsider_places, self.frames);
        let bound = self.frames.min(self.resident.slots()) as usize;
        self.owed.reserve_exact(bound.saturating_sub(self.owed.len()));
        self.used.reserve_exact(bound.saturating_sub(self.used.len()));
    }

    /// `page` is fetched, after another has left if memory is full.
    pub(super) fn fault(&mut self, page: Slot, object: Option<u32>, fx: &mut impl Effects) {
        self.faults += 1;
        self.history.fault(page, object);
        self.give(page, [true; 2], fx);
        self.settle(fx);
        if self.resident.len() == self.frames {
            if self.faults >= self.next_scan {
                self.scan(fx);
            }
            while self.outsiders.is_empty() || !self.evict(fx) {
                if self.outsiders.is_empty() {
                    self.give(page, [true; 2], fx);
                    self.settle(fx);
                }
            }
        }
        self.resident.push(page, false);
        self.count_resident(page, true);
        if !self.was_full && self.resident.len() == self.frames {
            self.was_full = true;
            self.guard.begin();
            self.next_scan = self.faults + u64::from(self.epoch_faults);
        }
    }

    /// Evicts the first page that the leader does not hold, unless it was used since the leader gave it up: then the
    /// leader takes it back.
    fn evict(&mut self, fx: &mut impl Effects) -> bool {
        let page = self.outsiders.oldest(&self.outsider_places).expect("memory holds more than its leader");
        if self.look(page, fx) {
            self.settle(fx);
            return false;
        }
        self.leave(page);
        fx.evict(page);
        true
    }

    /// Reads and clears the bit of a page in memory. If it was set the page was used.
    fn look(&mut self, page: Slot, fx: &mut impl Effects) -> bool {
        let Some(accessed) = self.resident.get_mut(page) else { return false };
        let was_used = std::mem::take(accessed) | fx.take_accessed(page);
        if was_used {
            self.history.stamp(page);
            let to = [!self.clock.contains(page), !self.foretold.pages.contains(page)];
            if !to[0] {
                self.clock.places.mark(page);
            }
            if to[0] || to[1] {
                self.owed.push(Owed { page, to });
            }
        }
        was_used
    }

    /// Refers both shadows to the pages whose uses were noticed meanwhile.
    fn settle(&mut self, fx: &mut impl Effects) {
        let mut done = 0;
        while let Some(&Owed { page, to }) = self.owed.get(done) {
            done += 1;
            self.give(page, to, fx);
        }
        self.owed.clear();
    }

    /// A reference to `page` for the shadows that `to` names.
    fn give(&mut self, page: Slot, to: [bool; 2], fx: &mut impl Effects) {
        if to[Side::Clock as usize] {
            if !self.clock.contains(page) {
                self.guard.faults[0] += 1;
                self.shrink_clock(self.frames - 1, fx);
                self.clock.ring.push(&mut self.clock.places, page);
                self.count_shadow(page, Side::Clock, true);
            }
            self.clock.places.mark(page);
        }
        if to[Side::Eta as usize] && !self.foretold.pages.contains(page) {
            self.guard.faults[1] += 1;
            self.shrink_foretold(self.frames - 1, fx);
            self.foretold.pages.push(page, false);
            self.count_shadow(page, Side::Eta, true);
        }
    }

    /// Moves CLOCK's hand until its shadow holds no more than so many pages.
    fn shrink_clock(&mut self, most: u32, fx: &mut impl Effects) {
        while self.clock.ring.len() > most {
            let page = self.clock.ring.oldest(&self.clock.places).expect("pages beyond the most");
            self.look(page, fx);
            if self.clock.places.is_marked(page) {
                self.clock.ring.renew(&mut self.clock.places, page);
            } else {
                self.clock.ring.take(&mut self.clock.places, page);
                self.count_shadow(page, Side::Clock, false);
            }
        }
    }

    /// Has the farthest pages leave ETA's shadow until it holds no more than so many.
    fn shrink_foretold(&mut self, most: u32, fx: &mut impl Effects) {
        while self.foretold.pages.len() > most {
            let Some(page) = self.foretold.next_listed() else {
                self.rank();
                continue;
            };
            if !self.look(page, fx) && self.foretold.lets_go(page, &self.history) {
                self.foretold.pages.take(page);
                self.count_shadow(page, Side::Eta, false);
            } else {
                *self.foretold.pages.get_mut(page).expect("a page of the list") = false;
            }
        }
    }

    fn rank(&mut self) {
        self.foretold.rank(&self.history, 2 * epoch_most(self.frames) as usize);
    }

    /// Ends an epoch: reads all bits, refers the shadows to what was used, in the order of the uses before, and lets
    /// the leader change.
    fn scan(&mut self, fx: &mut impl Effects) {
        self.history.begin_epoch();
        self.used.clear();
        let mut fresh = 0;
        for row in 0..self.resident.len() {
            let page = self.resident.row(row).0;
            let accessed = self.resident.get_mut(page).expect("a row of the table");
            if std::mem::take(accessed) | fx.take_accessed(page) {
                fresh += u32::from(self.history.epochs_idle(page) > 1);
                self.used.push(u64::from(!self.history.age(page)) << 32 | u64::from(row));
            }
        }
        self.used.sort_unstable();
        for &key in &self.used {
            self.history.stamp(self.resident.row(key as u32).0);
        }
        self.pace(fresh);
        self.rank();
        for at in 0..self.used.len() {
            let page = self.resident.row(self.used[at] as u32).0;
            self.give(page, [true; 2], fx);
        }
        self.settle(fx);
        if self.guard.decide(self.frames, self.apart) {
            self.follow();
        }
    }

    /// Sets the length of the next epoch by the pages that were used in the last one and not in the one before.
    fn pace(&mut self, fresh: u32) {
        let most = epoch_most(self.frames);
        if u64::from(fresh) * 8 > u64::from(self.frames) {
            self.epoch_faults = (self.epoch_faults / 2).max(most / HURRY).max(1);
        } else if u64::from(fresh) * 100 < u64::from(self.frames) * 3 {
            self.epoch_faults = (self.epoch_faults * 2).min(most);
        }
        self.next_scan = self.faults + u64::from(self.epoch_faults);
    }

    /// Finds the pages that the new leader does not hold, the least recently used first.
    fn follow(&mut self) {
        while self.outsiders.pop_oldest(&mut self.outsider_places).is_some() {}
        self.used.clear();
        for row in 0..self.resident.len() {
            let page = self.resident.row(row).0;
            if !self.is_held(page, self.guard.lead) {
                self.used.push(u64::from(!self.history.age(page)) << 32 | u64::from(row));
            }
        }
        self.used.sort_unstable();
        for &key in &self.used {
            self.outsiders.push(&mut self.outsider_places, self.resident.row(key as u32).0);
        }
    }

    fn is_held(&self, page: Slot, by: Side) -> bool {
        match by {
            Side::Clock => self.clock.contains(page),
            Side::Eta => self.foretold.pages.contains(page),
        }
    }

    /// A shadow has taken in `page` or given it up.
    fn count_shadow(&mut self, page: Slot, side: Side, holds: bool) {
        if !self.resident.contains(page) {
            return;
        }
        self.count_apart(page, side, !holds);
    }

    /// `page` has come into memory, or is about to leave it.
    fn count_resident(&mut self, page: Slot, is_resident: bool) {
        for side in [Side::Clock, Side::Eta] {
            if !self.is_held(page, side) {
                self.count_apart(page, side, is_resident);
            }
        }
    }

    fn count_apart(&mut self, page: Slot, side: Side, is_apart: bool) {
        let count = &mut self.apart[side as usize];
        *count = if is_apart { *count + 1 } else { *count - 1 };
        match (side == self.guard.lead, is_apart) {
            (true, true) => self.outsiders.push(&mut self.outsider_places, page),
            (true, false) => self.outsiders.take(&mut self.outsider_places, page),
            (false, _) => {}
        }
    }

    /// Takes the place of a page in memory away.
    fn leave(&mut self, page: Slot) {
        self.count_resident(page, false);
        self.resident.take(page);
    }

    /// Drops all that is known of `page`.
    pub(super) fn free(&mut self, page: Slot) {
        if self.resident.contains(page) {
            self.leave(page);
        }
        if self.clock.contains(page) {
            self.clock.ring.take(&mut self.clock.places, page);
        }
        self.foretold.pages.take(page);
        self.history.forget(page);
    }

    pub(super) fn resize(&mut self, frames: u32, fx: &mut impl Effects) {
        self.frames = frames;
        self.epoch_faults = epoch_most(frames);
        self.next_scan = self.next_scan.min(self.faults + u64::from(self.epoch_faults));
        self.shrink_clock(frames, fx);
        self.shrink_foretold(frames, fx);
        self.settle(fx);
        while self.resident.len() > frames {
            self.evict(fx);
        }
        self.grow(self.resident.slots());
    }

    pub(super) fn validate(&self) {
        self.resident.validate();
        self.foretold.pages.validate();
        self.clock.ring.validate(&self.clock.places);
        self.outsiders.validate(&self.outsider_places);
        assert!(self.owed.is_empty(), "uses that no shadow was told");
        let held = [self.clock.ring.len(), self.foretold.pages.len(), self.resident.len()];
        assert!(held.into_iter().all(|len| len <= self.frames));
        let pages = || (0..self.resident.len()).map(|row| self.resident.row(row).0);
        for side in [Side::Clock, Side::Eta] {
            let apart = pages().filter(|&page| !self.is_held(page, side)).count();
            assert_eq!(apart, self.apart[side as usize] as usize, "pages that a shadow does not hold");
        }
        assert_eq!(self.outsiders.len(), self.apart[self.guard.lead as usize]);
        assert!(pages().all(|page| self.history.is_known(page)));
    }
}

/// Faults of the longest epoch.
fn epoch_most(frames: u32) -> u32 {
    (frames / EPOCHS).max(1)
}
