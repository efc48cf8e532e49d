//! The rendering buffer cache as it is stated: three areas and three shadows, each a list; the last one is the
//! youngest.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hotset_core::classify::builtin;
use hotset_core::policy::{Args, Reference};

use crate::model::{Given, Model, ModelStep, share};

pub(super) struct Render {
    args: Args,
    capacity: usize,
    room: Rooms,
    t1: VecDeque<u32>,
    c1: VecDeque<u32>,
    o1: VecDeque<u32>,
    t2: VecDeque<u32>,
    c2: VecDeque<u32>,
    o2: VecDeque<u32>,
    /// Blocks in O1 whose stay in T2 has been counted.
    counted: BTreeSet<u32>,
    /// Blocks that have left their areas and stay in free frames.
    spare: Vec<u32>,
    evicted: Vec<u32>,
    /// When each block was referenced last.
    uses: BTreeMap<u32, u64>,
    /// For each area with a shadow that was hit: the mean period of its loop, and the part of a block that it is owed.
    loops: BTreeMap<&'static str, (f64, f64)>,
}

/// Sizes of T1, C1 and O1.
#[derive(Clone, Copy)]
struct Rooms {
    t1: usize,
    c1: usize,
    o1: usize,
}

impl Rooms {
    /// Each has a block if there are so many, T1 first, then C1; T1 has what the others leave.
    fn bounded(capacity: usize, c1: usize, o1: usize) -> Rooms {
        match capacity {
            1 => Rooms { t1: 1, c1: 0, o1: 0 },
            2 => Rooms { t1: 1, c1: 1, o1: 0 },
            _ => {
                let o1 = o1.min(capacity - 2);
                let c1 = c1.clamp(1, capacity - o1 - 1);
                Rooms { t1: capacity - o1 - c1, c1, o1 }
            }
        }
    }

    fn first(args: &Args, capacity: usize) -> Rooms {
        let o1 = if args.is_given("random") { share(args, "random", capacity) } else { 16.min((capacity / 10).max(1)) };
        let rest = capacity - o1.min(capacity.saturating_sub(2));
        let t1 = share(args, "texture", rest).min(rest);
        Rooms::bounded(capacity, rest - t1, o1)
    }
}

impl Model for Render {
    fn new(given: &Given<'_>) -> Render {
        Render {
            args: given.args.clone(),
            capacity: given.capacity,
            room: Rooms::first(given.args, given.capacity),
            t1: VecDeque::new(),
            c1: VecDeque::new(),
            o1: VecDeque::new(),
            t2: VecDeque::new(),
            c2: VecDeque::new(),
            o2: VecDeque::new(),
            counted: BTreeSet::new(),
            spare: Vec::new(),
            evicted: Vec::new(),
            uses: BTreeMap::new(),
            loops: BTreeMap::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let rules = builtin::render();
        let class = &rules.classes()[usize::from(reference.class)];
        if class == "output" {
            let evicted = self.resident().contains(&key).then_some(key);
            self.remove(key);
            return ModelStep { evicted: evicted.into_iter().collect(), ..ModelStep::bypassed() };
        }
        let hit = self.resident().contains(&key);
        let is_in_area = hit && !self.spare.contains(&key);
        self.adapt(key, reference.time);
        self.uses.insert(key, reference.time);
        if !is_in_area {
            self.leave_shadows(key);
        }
        self.cut();
        let bypassed = !is_in_area && !self.insert(key, class == "config") && !hit;
        if is_in_area {
            let area = [&mut self.t1, &mut self.c1, &mut self.o1].into_iter().find(|area| area.contains(&key));
            let area = area.expect("the block that is hit is safe");
            area.retain(|&other| other != key);
            area.push_back(key);
        }
        ModelStep { hit, bypassed, evicted: std::mem::take(&mut self.evicted), ..ModelStep::default() }
    }

    fn remove(&mut self, key: u32) {
        for area in [&mut self.t1, &mut self.c1, &mut self.o1] {
            area.retain(|&other| other != key);
        }
        self.spare.retain(|&other| other != key);
        self.leave_shadows(key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        let (before, after) = (Rooms::first(&self.args, self.capacity), Rooms::first(&self.args, capacity));
        let c1 = (self.room.c1 + after.c1).saturating_sub(before.c1);
        let o1 = (self.room.o1 + after.o1).saturating_sub(before.o1);
        self.room = Rooms::bounded(capacity, c1, o1);
        self.capacity = capacity;
        self.cut();
        self.free_frames(capacity);
        std::mem::take(&mut self.evicted)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.t1.iter().chain(&self.c1).chain(&self.o1).chain(&self.spare).copied().collect()
    }
}

impl Render {
    /// Moves room if shadows remember `key`.
    fn adapt(&mut self, key: u32, time: u64) {
        let is_in_o1 = self.o1.contains(&key);
        let counts = self.t2.contains(&key) && !(is_in_o1 && self.counted.contains(&key));
        let mut fired = 0;
        for (area, counts) in [("t1", counts), ("c1", self.c2.contains(&key)), ("o1", self.o2.contains(&key))] {
            if counts && (fired == 0 || self.args.word("hits") == "all") {
                let blocks = self.worth(area, time - self.uses[&key]);
                self.enlarge(area, blocks);
                fired += 1;
            }
        }
        if counts && is_in_o1 {
            if self.args.word("shadow") == "dedupe" {
                self.counted.insert(key);
            } else {
                self.t2.retain(|&other| other != key);
            }
        }
    }

    /// The worth of a hit in a shadow after so many references, in blocks of room.
    fn worth(&mut self, area: &'static str, period: u64) -> usize {
        let step = self.args.count("step");
        if self.args.word("weight") == "step" {
            return step as usize;
        }
        let (mean, owed) = self.loops.get(area).copied().unwrap_or((period as f64, 0.0));
        let mean = mean + (period as f64 - mean) / 16.0;
        self.loops.insert(area, (mean, owed));
        let shortest = self.loops.values().map(|(mean, _)| *mean).fold(f64::INFINITY, f64::min);
        let owed = owed + step as f64 * shortest / mean;
        self.loops.insert(area, (mean, owed.fract()));
        owed as usize
    }

    fn enlarge(&mut self, area: &str, step: usize) {
        let least = share(&self.args, "min_frac", self.capacity).max(1);
        let Rooms { t1, c1, o1 } = &mut self.room;
        let (wins, gives) = match area {
            "t1" => (t1, c1),
            "c1" => (c1, t1),
            _ => (o1, t1),
        };
        if *gives >= step + least {
            *wins += step;
            *gives -= step;
        }
    }

    /// Puts a missed block into its area; `false` if that has no room at all.
    fn insert(&mut self, key: u32, is_config: bool) -> bool {
        let room = if is_config { self.room.c1 } else { self.room.t1 };
        if room == 0 {
            return false;
        }
        while is_config && self.c1.len() >= room {
            self.evict_config();
        }
        while !is_config && self.t1.len() >= room {
            self.evict_texture();
        }
        self.spare.retain(|&other| other != key);
        self.free_frames(self.capacity - 1);
        let area = if is_config { &mut self.c1 } else { &mut self.t1 };
        area.push_back(key);
        true
    }

    /// Blocks in free frames are evicted, the last to come first, until the cache has at most so many blocks.
    fn free_frames(&mut self, most: usize) {
        while self.resident().len() > most {
            self.evicted.push(self.spare.pop().expect("the areas together fit"));
        }
    }

    fn evict_texture(&mut self) {
        let victim = self.t1.pop_back().expect("T1 is full");
        self.t2.push_back(victim);
        self.o1.push_back(victim);
        self.trim("t2");
        while self.o1.len() > self.room.o1 {
            self.evict_random();
        }
    }

    fn evict_config(&mut self) {
        let victim = self.c1.pop_back().expect("C1 is full");
        self.spare.push(victim);
        self.c2.push_back(victim);
        self.trim("c2");
    }

    fn evict_random(&mut self) {
        let victim = self.o1.pop_front().expect("O1 is full");
        self.spare.push(victim);
        self.counted.remove(&victim);
        if self.args.word("shadow") != "dedupe" || !self.t2.contains(&victim) {
            self.o2.push_back(victim);
        }
        self.trim("o2");
    }

    fn leave_shadows(&mut self, key: u32) {
        for shadow in [&mut self.t2, &mut self.c2, &mut self.o2] {
            shadow.retain(|&other| other != key);
        }
        self.counted.remove(&key);
    }

    /// Cuts everything to its room.
    fn cut(&mut self) {
        while self.t1.len() > self.room.t1 {
            self.evict_texture();
        }
        while self.c1.len() > self.room.c1 {
            self.evict_config();
        }
        while self.o1.len() > self.room.o1 {
            self.evict_random();
        }
        ["t2", "c2", "o2"].into_iter().for_each(|shadow| self.trim(shadow));
    }

    /// Drops the oldest entries of a shadow that is too long. Area and shadow share the size of the whole cache.
    fn trim(&mut self, shadow: &str) {
        let (shadow, room) = match shadow {
            "t2" => (&mut self.t2, self.capacity - self.room.t1),
            "c2" => (&mut self.c2, self.capacity - self.room.c1),
            _ if self.args.word("shadow") == "fixed" => (&mut self.o2, 16),
            _ => (&mut self.o2, self.capacity - self.room.o1),
        };
        let room = if self.args.switch("adapt") { room } else { 0 };
        shadow.drain(..shadow.len().saturating_sub(room));
    }
}
