//! LRFU from its definition: for every resident block the weights of all its uses are summed, in whole numbers of any
//! length.
//!
//! A use at time t weighs what its unit was then, rounded as the statement rounds: 64 significant bits, the rest cut
//! off.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

pub(super) struct Lrfu {
    capacity: usize,
    correlated: u64,
    keep: bool,
    step: u128,
    time: u64,
    /// Weight of a use now.
    unit: Number,
    resident: BTreeSet<u32>,
    /// The uses of each known block that count, oldest first.
    uses: BTreeMap<u32, Vec<(u64, Number)>>,
}

/// Significant bits and the power of two that they are multiplied with.
#[derive(Clone, Copy)]
struct Number {
    bits: u128,
    power: i64,
}

impl Number {
    fn cut(self) -> Number {
        let surplus = (128 - self.bits.leading_zeros()).saturating_sub(64);
        Number { bits: self.bits >> surplus, power: self.power + i64::from(surplus) }
    }

    fn log2(self) -> i64 {
        self.power + i64::from(127 - self.bits.leading_zeros())
    }

    /// Cut to 64 bits after the smaller was cut to the last place of the larger.
    fn plus(self, other: Number) -> Number {
        let (more, less) = if self.log2() >= other.log2() { (self, other) } else { (other, self) };
        // 64 significant bits of the larger end here.
        let last_place = more.log2() - 63;
        let at_last_place = |number: Number| {
            let shift = last_place - number.power;
            match shift {
                128.. => 0,
                0..128 => number.bits >> shift,
                _ => number.bits << -shift,
            }
        };
        Number { bits: at_last_place(more) + at_last_place(less), power: last_place }.cut()
    }

    fn compare(self, other: Number) -> Ordering {
        let aligned = |number: Number| number.bits << number.bits.leading_zeros();
        self.log2().cmp(&other.log2()).then(aligned(self).cmp(&aligned(other)))
    }
}

impl Model for Lrfu {
    fn new(given: &Given<'_>) -> Lrfu {
        Lrfu {
            capacity: given.capacity,
            correlated: given.args.count("correlated"),
            keep: given.args.word("history") == "kept",
            step: (given.args.real("lambda").exp2() * 2f64.powi(63)) as u128,
            time: 0,
            unit: Number { bits: 1 << 63, power: -63 },
            resident: BTreeSet::new(),
            uses: BTreeMap::new(),
        }
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        self.time += 1;
        let Number { bits, power } = self.unit;
        // The product of two numbers of at most 64 and 65 bits, without its last 63.
        let (high, low) = (bits * (self.step >> 32), bits * (self.step & 0xffff_ffff));
        self.unit = Number { bits: (high + (low >> 32)) >> 31, power }.cut();
        let hit = self.resident.contains(&key);
        let evicted = (!hit && self.resident.len() == self.capacity).then(|| self.evict());
        self.resident.insert(key);
        let uses = self.uses.entry(key).or_default();
        uses.pop_if(|(last, _)| self.time - *last <= self.correlated);
        uses.push((self.time, self.unit));
        if hit { ModelStep::hit() } else { ModelStep::admitted(evicted) }
    }

    fn remove(&mut self, key: u32) {
        self.resident.remove(&key);
        self.uses.remove(&key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        let surplus = self.resident.len().saturating_sub(capacity);
        (0..surplus).map(|_| self.evict()).collect()
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.resident.clone()
    }
}

impl Lrfu {
    fn evict(&mut self) -> u32 {
        let sum = |key: &u32| self.uses[key].iter().map(|use_| use_.1).reduce(Number::plus).expect("a use");
        let last = |key: &u32| self.uses[key].last().expect("a use").0;
        let lighter = |a: &&u32, b: &&u32| sum(a).compare(sum(b)).then(last(a).cmp(&last(b)));
        let victim = *self.resident.iter().min_by(lighter).expect("a full cache has a victim");
        self.resident.remove(&victim);
        if !self.keep {
            self.uses.remove(&victim);
        }
        victim
    }
}
