//! LHD with its counts in maps; the order of draws, of the table and of the sums is that of the policy's file.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};
use hotset_core::random::Rng;

use crate::model::{Given, Model, ModelStep, share};

#[derive(Clone, Copy)]
struct Block {
    key: u32,
    since: u64,
    last_age: u64,
    class: (u32, u32),
    explorer: bool,
    bytes: u32,
}

/// By application and class, then by age.
type Counts = BTreeMap<(u32, u32), BTreeMap<u64, f32>>;

pub(super) struct Lhd {
    capacity: usize,
    /// The capacity that sets the classes of ages.
    scaled_for: usize,
    args: Args,
    now: u64,
    /// References until densities are computed anew.
    left: u64,
    random: Rng,
    blocks: Vec<Block>,
    /// The last eight admissions; `None` where the block has left.
    newest: VecDeque<(u64, Option<u32>)>,
    admitted: u64,
    hits: Counts,
    evictions: Counts,
    densities: Counts,
}

impl Model for Lhd {
    fn new(given: &Given<'_>) -> Lhd {
        let mut model = Lhd {
            capacity: given.capacity,
            scaled_for: given.capacity,
            args: given.args.clone(),
            now: 0,
            left: 0,
            random: Rng::new(given.seed),
            blocks: Vec::new(),
            newest: VecDeque::new(),
            admitted: 0,
            hits: Counts::new(),
            evictions: Counts::new(),
            densities: Counts::new(),
        };
        model.left = model.period();
        model
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        self.now += 1;
        let step = match self.blocks.iter().position(|block| block.key == key) {
            Some(at) => {
                let Block { since, last_age, class, .. } = self.blocks[at];
                let bytes = reference.bytes.max(1);
                let age = self.age(since);
                *self.hits.entry(class).or_default().entry(age).or_default() += 1.0;
                self.blocks[at].explorer = false;
                let explorer = self.explores();
                let class = self.class(reference.app, age + last_age);
                self.blocks[at] = Block { key, since: self.now, last_age: age, class, explorer, bytes };
                ModelStep::hit()
            }
            None => {
                let evicted = (self.blocks.len() == self.capacity).then(|| self.evict());
                let (explorer, class) = (self.explores(), self.class(reference.app, self.ages()));
                let bytes = reference.bytes.max(1);
                self.blocks.push(Block { key, since: self.now, last_age: 0, class, explorer, bytes });
                self.newest.push_back((self.admitted % 8, Some(key)));
                self.newest.drain(..self.newest.len().saturating_sub(8));
                self.admitted += 1;
                ModelStep::admitted(evicted)
            }
        };
        self.left -= 1;
        if self.left == 0 {
            self.left = self.period();
            self.learn();
        }
        step
    }

    fn remove(&mut self, key: u32) {
        if let Some(at) = self.blocks.iter().position(|block| block.key == key) {
            self.blocks.swap_remove(at);
        }
        self.newest.iter_mut().filter(|(_, newest)| *newest == Some(key)).for_each(|(_, newest)| *newest = None);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        let surplus = self.blocks.len().saturating_sub(capacity);
        let evicted = (0..surplus).map(|_| self.evict()).collect();
        let (scale, before) = ((self.ages(), self.unit()), self.scaled_for);
        self.capacity = capacity;
        if capacity > 2 * before || 2 * capacity < before {
            self.scaled_for = capacity;
        }
        if (self.ages(), self.unit()) == scale {
            self.scaled_for = before;
        } else {
            [&mut self.hits, &mut self.evictions, &mut self.densities].into_iter().for_each(Counts::clear);
            self.left = self.period();
        }
        self.left = self.left.min(self.period());
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.blocks.iter().map(|block| block.key).collect()
    }
}

impl Lhd {
    fn period(&self) -> u64 {
        self.args.count("period").max(self.capacity.min(1 << 20) as u64)
    }

    fn ages(&self) -> u64 {
        self.args.count("ages").min(100 * self.scaled_for as u64)
    }

    fn unit(&self) -> u64 {
        let spans = |unit: &u64| unit * self.ages() >= 100 * self.scaled_for as u64;
        std::iter::successors(Some(1), |unit| Some(unit * 2)).find(spans).expect("units grow without bound")
    }

    fn age(&self, since: u64) -> u64 {
        ((self.now - since) / self.unit()).min(self.ages() - 1)
    }

    fn class(&self, app: u32, sum: u64) -> (u32, u32) {
        let doublings = (0..15).find(|times| sum * 2u64.pow(*times) >= self.ages());
        (app % self.args.count("apps") as u32, doublings.unwrap_or(15))
    }

    fn explores(&mut self) -> bool {
        let explorers = self.blocks.iter().filter(|block| block.explorer).count();
        explorers < share(&self.args, "explorers", self.capacity) && self.random.below(32) == 0
    }

    fn density(&self, block: &Block) -> f32 {
        let age = self.age(block.since);
        if age == self.ages() - 1 {
            return f32::NEG_INFINITY;
        }
        let density = match self.densities.get(&block.class) {
            Some(known) => known.get(&age).copied().unwrap_or(0.0),
            None => (block.class.1 + 1) as f32 / (age + 1) as f32,
        };
        density / block.bytes as f32 + if block.explorer { 1.0 } else { 0.0 }
    }

    fn evict(&mut self) -> u32 {
        let (len, sample) = (self.blocks.len(), self.args.count("sample") as usize);
        let drawn: Vec<Block> = if len <= sample {
            self.blocks.clone()
        } else {
            let drawn: Vec<Block> = (0..sample).map(|_| self.blocks[self.random.below(len as u32) as usize]).collect();
            let mut newest: Vec<(u64, Option<u32>)> = self.newest.iter().copied().collect();
            newest.sort_by_key(|&(place, _)| place);
            let newest = newest.into_iter().filter_map(|(_, key)| key);
            let newest = newest.map(|key| *self.blocks.iter().find(|block| block.key == key).expect("resident"));
            drawn.into_iter().chain(newest).collect()
        };
        // The first of equals is the least that `min_by` gives.
        let victim = drawn.iter().min_by(|a, b| self.density(a).total_cmp(&self.density(b)));
        let &Block { key, since, class, .. } = victim.expect("something is resident");
        let age = self.age(since);
        *self.evictions.entry(class).or_default().entry(age).or_default() += 1.0;
        self.remove(key);
        key
    }

    fn learn(&mut self) {
        for counts in self.hits.values_mut().chain(self.evictions.values_mut()).flat_map(BTreeMap::values_mut) {
            *counts *= 0.9;
        }
        let none = BTreeMap::new();
        let classes: BTreeSet<(u32, u32)> = self.hits.keys().chain(self.evictions.keys()).copied().collect();
        for class in classes {
            let (hits, evictions) =
                (self.hits.get(&class).unwrap_or(&none), self.evictions.get(&class).unwrap_or(&none));
            let oldest = hits.keys().chain(evictions.keys()).max().copied().expect("a class has counts");
            let (mut hits_to_come, mut events_to_come, mut stay) = (0.0, 0.0, 0.0);
            let densities = self.densities.entry(class).or_default();
            for age in (0..=oldest).rev() {
                let [hits, evictions] = [hits, evictions].map(|counts| counts.get(&age).copied().unwrap_or(0.0));
                hits_to_come += f64::from(hits);
                events_to_come += f64::from(hits + evictions);
                stay += events_to_come;
                densities.insert(age, if events_to_come > 1e-5 { (hits_to_come / stay) as f32 } else { 0.0 });
            }
        }
    }
}
