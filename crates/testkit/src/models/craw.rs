//! CRAW: two clocks and two lists of ghosts, all plain lists with the next to go in front.

use std::collections::{BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};

use crate::model::{Given, Model, ModelStep, share};

/// What there is for reads and once more for writes.
#[derive(Default)]
struct Area {
    /// Key and uses, from the hand on.
    clock: VecDeque<(u32, u32)>,
    ghosts: VecDeque<u32>,
    missed: usize,
}

impl Area {
    fn holds(&self, key: u32) -> bool {
        self.clock.iter().any(|entry| entry.0 == key)
    }

    fn remove(&mut self, key: u32) {
        self.clock.retain(|entry| entry.0 != key);
        self.ghosts.retain(|&other| other != key);
    }
}

pub(super) struct Craw {
    args: Args,
    capacity: usize,
    /// For reads, for writes.
    areas: [Area; 2],
    read_size: usize,
    references: usize,
}

impl Model for Craw {
    fn new(given: &Given<'_>) -> Craw {
        let capacity = given.capacity;
        let areas = [Area::default(), Area::default()];
        Craw { args: given.args.clone(), capacity, areas, read_size: (capacity / 2).max(1), references: 0 }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let kind = usize::from(reference.write);
        let hit = self.areas.iter().any(|area| area.holds(key));
        let mut evicted = Vec::new();
        if self.areas[kind].holds(key) {
            let most = if reference.write { 3 } else { 1 };
            let entry = self.areas[kind].clock.iter_mut().find(|entry| entry.0 == key).expect("it is held");
            entry.1 = (entry.1 + 1).min(most);
        } else {
            if self.areas[kind].ghosts.contains(&key) && !hit {
                self.areas[kind].missed += 1;
            }
            self.areas[kind].remove(key);
            if !hit {
                evicted = self.shrink_to(self.capacity - 1, kind);
            }
            self.areas[kind].clock.push_back((key, 0));
        }
        self.references += 1;
        if self.references >= self.capacity {
            self.adapt();
        }
        if hit { ModelStep::hit() } else { ModelStep::admitted(evicted) }
    }

    fn remove(&mut self, key: u32) {
        self.areas.iter_mut().for_each(|area| area.remove(key));
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.read_size = self.read_size * capacity / self.capacity;
        self.capacity = capacity;
        self.move_bound(0);
        let evicted = self.shrink_to(capacity, 0);
        self.trim();
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.areas.iter().flat_map(|area| &area.clock).map(|entry| entry.0).collect()
    }
}

impl Craw {
    fn sizes(&self) -> [usize; 2] {
        [self.read_size, self.capacity - self.read_size]
    }

    /// Gives the read area this many blocks more.
    fn move_bound(&mut self, by: isize) {
        self.read_size = self.read_size.saturating_add_signed(by).clamp(1, (self.capacity - 1).max(1));
    }

    fn shrink_to(&mut self, len: usize, kind: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.resident().len() > len {
            evicted.extend(self.take_out(kind));
        }
        evicted
    }

    /// Takes a node out; gives its key if the block has left with it.
    fn take_out(&mut self, kind: usize) -> Option<u32> {
        let sizes = self.sizes();
        let excess = |kind: usize| self.areas[kind].clock.len() as isize - sizes[kind] as isize;
        let mut gives = if excess(1 - kind) > excess(kind) { 1 - kind } else { kind };
        if self.areas[gives].clock.is_empty() {
            gives = 1 - gives;
        }
        let area = &mut self.areas[gives];
        loop {
            let (key, uses) = area.clock.pop_front().expect("one of the clocks holds a block");
            if uses > 0 {
                area.clock.push_back((key, uses - 1));
                continue;
            }
            area.ghosts.push_back(key);
            self.trim();
            return (!self.areas[1 - gives].holds(key)).then_some(key);
        }
    }

    fn trim(&mut self) {
        for (area, size) in self.areas.iter_mut().zip([self.read_size, self.capacity - self.read_size]) {
            let surplus = area.ghosts.len().saturating_sub(self.capacity - size);
            area.ghosts.drain(..surplus);
        }
    }

    fn adapt(&mut self) {
        let worth =
            |area: &Area, cost: &str| area.missed as f64 * self.args.real(cost) / area.ghosts.len().max(1) as f64;
        let (reads, writes) = (worth(&self.areas[0], "read_cost"), worth(&self.areas[1], "write_cost"));
        let step = share(&self.args, "step", self.capacity).max(1) as isize;
        if reads != writes {
            self.move_bound(if reads > writes { step } else { -step });
        }
        self.areas.iter_mut().for_each(|area| area.missed = 0);
        self.references = 0;
        self.trim();
    }
}
