//! APR: lists as vectors, everything else as sorted maps and sets, step by step as the statement has it. Scores are
//! exact numbers of any length.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;

use hotset_core::policy::{Args, Object, Reference};

use super::lifo_plus::Stack;
use crate::model::{Given, Model, ModelStep, share};

const CLOCK: usize = 0;
const LIFO: usize = 1;

#[derive(Default)]
struct Owner {
    stack: Stack,
    /// In units of `Decay::unit` to the power of `replacements`.
    scores: [BigInt; 2],
    replacements: u32,
}

/// A decay between 0 and 1 as a fraction, without rounding: `share` by `unit`, a power of two.
struct Decay {
    share: BigInt,
    unit: BigInt,
}

impl Decay {
    fn of(decay: f64) -> Decay {
        let (mut share, mut unit) = (decay, BigInt::from(1));
        // Doubling is exact.
        while share.fract() != 0.0 {
            share *= 2.0;
            unit *= 2;
        }
        Decay { share: BigInt::from(share as u64), unit }
    }
}

pub(super) struct Apr {
    args: Args,
    capacity: usize,
    initial: bool,
    /// Since the bit was last read.
    accessed: BTreeSet<u32>,
    decay: Decay,
    threshold: u64,
    globals: bool,
    forced: Option<usize>,
    resident: BTreeSet<u32>,
    /// From the hand on.
    ring: Vec<u32>,
    owners: BTreeMap<Option<u32>, Owner>,
    owner_of: BTreeMap<u32, Option<u32>>,
    global: BTreeSet<u32>,
    local: BTreeSet<u32>,
    /// Who chose a page, and when.
    records: BTreeMap<u32, (usize, u32)>,
    /// Oldest first.
    ghosts: Vec<u32>,
}

impl Model for Apr {
    fn new(given: &Given<'_>) -> Apr {
        Apr {
            args: given.args.clone(),
            capacity: given.capacity,
            initial: given.args.count("initial") == 1,
            accessed: BTreeSet::new(),
            decay: Decay::of(given.args.real("decay")),
            threshold: given.args.bytes("threshold"),
            globals: given.args.switch("globals"),
            forced: match given.args.word("use") {
                "clock" => Some(CLOCK),
                "lifo+" => Some(LIFO),
                _ => None,
            },
            resident: BTreeSet::new(),
            ring: Vec::new(),
            owners: BTreeMap::from([(None, Owner::default())]),
            owner_of: BTreeMap::new(),
            global: BTreeSet::new(),
            local: BTreeSet::new(),
            records: BTreeMap::new(),
            ghosts: Vec::new(),
        }
    }

    fn access(&mut self, page: u32, reference: Reference) -> ModelStep {
        if self.resident.contains(&page) {
            self.accessed.insert(page);
            return ModelStep::hit();
        }
        if self.ghosts.contains(&page) {
            self.used(page);
            self.drop_everywhere(page);
        }
        let evicted = self.shrink_to(self.capacity - 1);
        if self.initial {
            self.accessed.insert(page);
        }
        let counts = |it: &Object| it.bytes >= self.threshold && (self.globals || !it.is_global);
        let owner = reference.object.filter(counts).map(|it| it.id);
        self.resident.insert(page);
        self.ring.push(page);
        self.owner_of.insert(page, owner);
        self.global.remove(&page);
        self.local.remove(&page);
        if let Some(second) = self.owners.entry(owner).or_default().stack.push(page) {
            self.harvest(second);
            self.local.remove(&second);
        }
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, page: u32) {
        self.resident.remove(&page);
        self.accessed.remove(&page);
        self.drop_everywhere(page);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        let evicted = self.shrink_to(capacity);
        self.trim_ghosts();
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.resident.clone()
    }
}

impl Apr {
    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.resident.len() > len {
            let by_clock = self.clock();
            let by_lifo = self.lifo(by_clock);
            evicted.extend(self.replacement(by_clock, by_lifo));
        }
        evicted
    }

    fn trim_ghosts(&mut self) {
        let most = share(&self.args, "ghosts", self.capacity).min(self.capacity);
        while self.ghosts.len() > most {
            self.drop_everywhere(self.ghosts[0]);
        }
    }

    fn owner(&mut self, page: u32) -> &mut Owner {
        self.owners.get_mut(&self.owner_of[&page]).expect("an owner that was entered")
    }

    fn drop_everywhere(&mut self, page: u32) {
        self.ring.retain(|&other| other != page);
        if self.owner_of.contains_key(&page) {
            self.owner(page).stack.take(page);
        }
        self.ghosts.retain(|&other| other != page);
        self.records.remove(&page);
    }

    fn score(&mut self, page: u32, sign: i32) {
        if let Some((by, at)) = self.records.remove(&page) {
            let age = self.owner(page).replacements - at;
            let weight = self.decay.share.pow(age) * self.decay.unit.pow(at);
            self.owner(page).scores[by] += weight * sign;
        }
    }

    fn used(&mut self, page: u32) {
        self.score(page, -1);
    }

    fn harvest(&mut self, page: u32) {
        if self.resident.contains(&page) && self.accessed.remove(&page) {
            self.global.insert(page);
            self.local.insert(page);
            self.used(page);
        }
    }

    fn chosen_by(&self, page: u32, side: usize) -> bool {
        self.records.get(&page).is_some_and(|record| record.0 == side)
    }

    fn clock(&mut self) -> u32 {
        loop {
            let mut steps = 2 * self.ring.len();
            while steps > 0 {
                steps -= 1;
                let page = self.ring[0];
                if !self.resident.contains(&page) {
                    return page;
                }
                self.harvest(page);
                let spared = self.chosen_by(page, CLOCK) || self.global.remove(&page);
                // The hand is behind the page now, whatever becomes of it.
                self.ring.rotate_left(1);
                if !spared {
                    return page;
                }
            }
            let resident = self.resident.clone();
            self.records.retain(|page, record| record.0 != CLOCK || !resident.contains(page));
        }
    }

    fn lifo(&mut self, by_clock: u32) -> u32 {
        let steps = 2 * self.owner(by_clock).stack.pages.len();
        for _ in 0..steps {
            let page = self.owner(by_clock).stack.step();
            self.harvest(page);
            if !self.local.remove(&page) && !self.chosen_by(page, LIFO) {
                return page;
            }
        }
        by_clock
    }

    fn replacement(&mut self, by_clock: u32, by_lifo: u32) -> Option<u32> {
        let forced = self.forced;
        let share = self.decay.share.clone();
        let owner = self.owner(by_clock);
        let leader = if owner.scores[CLOCK] >= owner.scores[LIFO] { CLOCK } else { LIFO };
        let winner = forced.unwrap_or(leader);
        owner.replacements += 1;
        let now = owner.replacements;
        owner.scores.iter_mut().for_each(|score| *score *= &share);
        let choices = [by_clock, by_lifo];
        if by_clock == by_lifo {
            self.records.remove(&by_clock);
        } else {
            for side in [CLOCK, LIFO] {
                if self.chosen_by(choices[side], 1 - side) {
                    self.score(choices[side], 1);
                } else {
                    self.records.insert(choices[side], (side, now));
                }
            }
        }
        let victim = choices[winner];
        let remembered: Vec<u32> = choices.into_iter().filter(|page| self.ghosts.contains(page)).collect();
        for &page in &remembered {
            self.drop_everywhere(page);
        }
        if remembered.contains(&victim) {
            return None;
        }
        self.evict(victim, winner);
        Some(victim)
    }

    fn evict(&mut self, victim: u32, winner: usize) {
        self.resident.remove(&victim);
        self.accessed.remove(&victim);
        self.local.remove(&victim);
        if !self.chosen_by(victim, winner) {
            return self.drop_everywhere(victim);
        }
        if winner == CLOCK {
            self.ring.retain(|&other| other != victim);
        } else {
            self.owner(victim).stack.take(victim);
        }
        self.ghosts.push(victim);
        self.trim_ghosts();
    }
}
