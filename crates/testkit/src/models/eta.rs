//! ETA: two paper memories and the real one as vectors, all that is known of pages as sorted maps.

use std::collections::{BTreeMap, BTreeSet};

use hotset_core::policy::Reference;

use crate::model::{Given, Model, ModelStep};

const CLOCK: usize = 0;
const ETA: usize = 1;

/// The default object is `None`.
type Owner = Option<u32>;

#[derive(Clone, Copy)]
struct Uses {
    last: u32,
    epoch: u32,
    gap: Option<u32>,
    owner: Owner,
}

pub(super) struct Eta {
    frames: usize,
    lead: usize,
    may_change: bool,
    was_full: bool,
    /// Real memory; a page that comes takes the last place, one that leaves has it filled by the last.
    memory: Vec<u32>,
    accessed: BTreeSet<u32>,
    /// The ring from the hand on, with the bits in software.
    ring: Vec<(u32, bool)>,
    /// ETA's pages, in places as those of `memory`.
    foretold: Vec<u32>,
    /// Its next victims, and whether they may be in use.
    list: Vec<u32>,
    spares_none: bool,
    /// Pages in memory that the leader lacks, in the order in which it gave them up.
    outsiders: Vec<u32>,
    owed: Vec<(u32, [bool; 2])>,
    uses: BTreeMap<u32, Uses>,
    means: BTreeMap<Owner, f32>,
    now: u32,
    epoch: u32,
    faults: usize,
    next_scan: usize,
    length: usize,
    shadow_faults: [u32; 2],
    decided: [u32; 2],
    gain: f64,
}

impl Model for Eta {
    fn new(given: &Given<'_>) -> Eta {
        let word = given.args.word("use");
        Eta {
            frames: given.capacity,
            lead: if word == "eta" { ETA } else { CLOCK },
            may_change: word == "both",
            was_full: false,
            memory: Vec::new(),
            accessed: BTreeSet::new(),
            ring: Vec::new(),
            foretold: Vec::new(),
            list: Vec::new(),
            spares_none: false,
            outsiders: Vec::new(),
            owed: Vec::new(),
            uses: BTreeMap::new(),
            means: BTreeMap::new(),
            now: 0,
            epoch: 1,
            faults: 0,
            next_scan: 0,
            length: (given.capacity / 16).max(1),
            shadow_faults: [0; 2],
            decided: [0; 2],
            gain: 0.0,
        }
    }

    fn access(&mut self, page: u32, reference: Reference) -> ModelStep {
        if self.memory.contains(&page) {
            self.accessed.insert(page);
            return ModelStep::hit();
        }
        self.faults += 1;
        let is_own = reference.object.filter(|object| object.bytes >= 40 << 10 && !object.is_global);
        self.note_fault(page, is_own.map(|object| object.id));
        self.refer(page, [true; 2]);
        self.pay();
        let mut evicted = None;
        if self.memory.len() == self.frames {
            if self.faults >= self.next_scan {
                self.scan();
            }
            while evicted.is_none() {
                if self.outsiders.is_empty() {
                    self.refer(page, [true; 2]);
                    self.pay();
                } else {
                    evicted = self.replace();
                }
            }
        }
        self.memory.push(page);
        if !self.holds(self.lead, page) {
            self.outsiders.push(page);
        }
        if self.memory.len() == self.frames && !self.was_full {
            self.was_full = true;
            self.shadow_faults = [0; 2];
            self.decided = [0; 2];
            self.next_scan = self.faults + self.length;
        }
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, page: u32) {
        take_place(&mut self.memory, page);
        take_place(&mut self.foretold, page);
        self.accessed.remove(&page);
        self.outsiders.retain(|&other| other != page);
        self.ring.retain(|&(other, _)| other != page);
        self.list.retain(|&other| other != page);
        self.uses.remove(&page);
    }

    fn resize(&mut self, frames: usize) -> Vec<u32> {
        self.frames = frames;
        self.length = (frames / 16).max(1);
        self.next_scan = self.next_scan.min(self.faults + self.length);
        self.shrink_ring(frames);
        self.shrink_foretold(frames);
        self.pay();
        let mut evicted = Vec::new();
        while self.memory.len() > frames {
            evicted.extend(self.replace());
        }
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.memory.iter().copied().collect()
    }
}

/// Takes a page out; the last one fills its place.
fn take_place(pages: &mut Vec<u32>, page: u32) {
    if let Some(place) = pages.iter().position(|&other| other == page) {
        pages.swap_remove(place);
    }
}

impl Eta {
    fn holds(&self, side: usize, page: u32) -> bool {
        if side == CLOCK { self.ring.iter().any(|&(other, _)| other == page) } else { self.foretold.contains(&page) }
    }

    fn note_fault(&mut self, page: u32, owner: Owner) {
        match self.uses.get_mut(&page) {
            Some(uses) => {
                uses.owner = owner;
                self.stamp(page);
            }
            None => {
                self.now += 1;
                self.uses.insert(page, Uses { last: self.now, epoch: self.epoch, gap: None, owner });
            }
        }
    }

    fn stamp(&mut self, page: u32) {
        let uses = self.uses.get_mut(&page).expect("a page that faulted");
        if self.epoch - uses.epoch > 2 {
            // Time may have stood still.
            let gap = (self.now - uses.last).max(1);
            uses.gap = Some(gap);
            self.now += 1;
            let news = gap as f32;
            let mean = self.means.get(&uses.owner).map_or(news, |mean| (1.0f32 - 0.02) * mean + 0.02 * news);
            self.means.insert(uses.owner, mean);
        }
        uses.last = self.now;
        uses.epoch = self.epoch;
    }

    fn age(&self, page: u32) -> u32 {
        self.now - self.uses[&page].last
    }

    fn idle(&self, page: u32) -> u32 {
        self.epoch - self.uses[&page].epoch
    }

    fn distance(&self, page: u32) -> f32 {
        let (uses, age) = (self.uses[&page], self.age(page));
        match (uses.gap, self.means.get(&uses.owner)) {
            (Some(gap), _) => (i64::from(gap) - i64::from(age)).unsigned_abs() as f32,
            (None, Some(mean)) => (mean - age as f32).abs(),
            (None, None) => age as f32,
        }
    }

    /// Reads a bit; true if it was set.
    fn look(&mut self, page: u32) -> bool {
        if !self.memory.contains(&page) || !self.accessed.remove(&page) {
            return false;
        }
        self.stamp(page);
        let lacking = [CLOCK, ETA].map(|side| !self.holds(side, page));
        for entry in self.ring.iter_mut().filter(|entry| entry.0 == page) {
            entry.1 = true;
        }
        self.owed.push((page, lacking));
        true
    }

    fn pay(&mut self) {
        while !self.owed.is_empty() {
            let (page, to) = self.owed.remove(0);
            self.refer(page, to);
        }
    }

    fn refer(&mut self, page: u32, to: [bool; 2]) {
        if to[CLOCK] && self.holds(CLOCK, page) {
            for entry in self.ring.iter_mut().filter(|entry| entry.0 == page) {
                entry.1 = true;
            }
        } else if to[CLOCK] {
            self.shadow_faults[CLOCK] += 1;
            self.shrink_ring(self.frames - 1);
            self.ring.push((page, true));
            self.taken(CLOCK, page);
        }
        if to[ETA] && !self.holds(ETA, page) {
            self.shadow_faults[ETA] += 1;
            self.shrink_foretold(self.frames - 1);
            self.foretold.push(page);
            self.taken(ETA, page);
        }
    }

    fn taken(&mut self, side: usize, page: u32) {
        if side == self.lead {
            self.outsiders.retain(|&other| other != page);
        }
    }

    fn given_up(&mut self, side: usize, page: u32) {
        if side == self.lead && self.memory.contains(&page) {
            self.outsiders.push(page);
        }
    }

    fn shrink_ring(&mut self, most: usize) {
        while self.ring.len() > most {
            self.look(self.ring[0].0);
            let (page, bit) = self.ring.remove(0);
            if bit {
                self.ring.push((page, false));
            } else {
                self.given_up(CLOCK, page);
            }
        }
    }

    fn shrink_foretold(&mut self, most: usize) {
        while self.foretold.len() > most {
            if self.list.is_empty() {
                self.rank();
                continue;
            }
            let page = self.list.remove(0);
            if !self.look(page) && (self.spares_none || self.idle(page) >= 2) {
                take_place(&mut self.foretold, page);
                self.given_up(ETA, page);
            }
        }
    }

    fn rank(&mut self) {
        let least = (self.frames / 16).max(1);
        // The farthest first; `sort_by` keeps the order of places among equals.
        let mut list: Vec<u32> = self.foretold.iter().copied().filter(|&page| self.idle(page) >= 2).collect();
        list.sort_by(|&one, &other| self.distance(other).total_cmp(&self.distance(one)));
        self.spares_none = list.len() < least;
        if self.spares_none {
            list = self.foretold.clone();
            list.sort_by_key(|&page| self.uses[&page].last);
        }
        list.truncate(2 * least);
        self.list = list;
    }

    fn scan(&mut self) {
        self.epoch += 1;
        let mut used: Vec<u32> = self.memory.iter().copied().filter(|page| self.accessed.contains(page)).collect();
        self.accessed.clear();
        used.sort_by_key(|page| self.uses[page].last);
        let fresh = used.iter().filter(|&&page| self.idle(page) > 1).count();
        for &page in &used {
            self.stamp(page);
        }
        let longest = (self.frames / 16).max(1);
        if fresh * 8 > self.frames {
            self.length = [self.length / 2, longest / 8, 1].into_iter().max().expect("three lengths");
        } else if fresh * 100 < self.frames * 3 {
            self.length = (self.length * 2).min(longest);
        }
        self.next_scan = self.faults + self.length;
        self.rank();
        for page in used {
            self.refer(page, [true; 2]);
        }
        self.pay();
        self.decide();
    }

    fn decide(&mut self) {
        let [clock, eta] = [CLOCK, ETA].map(|side| f64::from(self.shadow_faults[side] - self.decided[side]));
        self.decided = self.shadow_faults;
        if !self.may_change {
            return;
        }
        let least = 0.06 * self.frames as f64;
        let lacking = |side: usize| self.memory.iter().filter(|&&page| !self.holds(side, page)).count() as f64;
        let (gained, price) = if self.lead == CLOCK {
            let pages = lacking(ETA);
            let factor = if pages > 0.05 * f64::from(self.shadow_faults[CLOCK]) { 2.5 } else { 1.0 };
            (clock - eta - 0.02 * clock, pages.max(least) * factor)
        } else {
            (eta - clock, 0.5 * lacking(CLOCK).max(least))
        };
        self.gain = (self.gain + gained).max(0.0);
        if self.gain > price {
            self.gain = 0.0;
            self.lead = 1 - self.lead;
            self.outsiders = self.memory.iter().copied().filter(|&page| !self.holds(self.lead, page)).collect();
            let uses = &self.uses;
            self.outsiders.sort_by_key(|page| uses[page].last);
        }
    }

    /// Evicts the first of the outsiders, unless it was used.
    fn replace(&mut self) -> Option<u32> {
        let page = self.outsiders[0];
        if self.look(page) {
            self.pay();
            return None;
        }
        self.outsiders.remove(0);
        take_place(&mut self.memory, page);
        Some(page)
    }
}
