//! LRFU: every use of a block counts, the less the longer ago.
//!
//! Idea: a use x references ago weighs (1/2)^(lambda x); the block whose uses weigh least in sum leaves. With lambda =
//! 0 all uses weigh the same, which is LFU; with lambda = 1 the last use outweighs all before it, which is LRU; in
//! between lies the whole spectrum.
//!
//! Paper: Lee, Choi, Kim, Noh, Min, Cho, Kim, "LRFU: a spectrum of policies that subsumes the least recently used and
//! least frequently used policies", IEEE Transactions on Computers 2001.
//!
//! Provenance: from the definitions as secondary sources give them, the paper's text was not at hand. On OLTP the best
//! of five lambdas are within 0.1 points of what the ARC paper prints (`docs/internals/decisions.md`).
//!
//! Deviations and readings: all weights shrink alike as time goes by, so they are stored in the unit of the first
//! reference instead, where a use at time t weighs 2^(lambda t) for ever and nothing is recomputed. Such a sum is an
//! integer of 64 bits and an exponent: uses that are 2^64 times lighter than the rest are dropped. Equal sums leave in
//! order of last use. A use within `correlated` references of the one before takes its place instead of being added
//! (the paper masks all but the last of correlated uses). The known facts of a block is lost at eviction;
//! `history=kept` keeps it without bound. Time counts references to this cache.
//!
//! Cost: a hit adds two numbers and writes one record; a miss is O(1) if its victim was used once, otherwise that of a
//! heap, where uses since it last looked are caught up with, at most once each: a few records at random places in
//! memory, which makes it four to six times as slow as LRU.
//! Memory: 36 bytes a slot and 72 to 80 a block of capacity; 16 more a slot with `correlated`.
//!
//! When not to use it: if lambda cannot be tuned: the best value depends on workload and capacity.

use crate::parts::large;
use crate::parts::queue::ABSENT;
use crate::parts::ranking::Ranking;
use crate::parts::slot_heap;
use crate::policy::{Args, Effects, Info, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot};
use crate::spec::SpecError;

/// A weight: `mantissa` times 2^`exponent`. The highest bit of the mantissa is set, except in zero, so weights compare
/// as they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Weight {
    exponent: u64,
    mantissa: u64,
}

impl Weight {
    const ONE: Weight = Weight { exponent: 0, mantissa: 1 << 63 };

    /// The sum, rounded down.
    #[inline(always)]
    fn plus(self, other: Weight) -> Weight {
        let (more, less) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let shift = (more.exponent - less.exponent).min(64) as u32;
        let (mantissa, carry) = more.mantissa.overflowing_add(less.mantissa.checked_shr(shift).unwrap_or(0));
        if carry {
            Weight { exponent: more.exponent + 1, mantissa: mantissa >> 1 | 1 << 63 }
        } else {
            Weight { exponent: more.exponent, mantissa }
        }
    }

    /// The product with `factor` / 2^63, which is from 1 to 2, rounded down.
    #[inline(always)]
    fn times(self, factor: u128) -> Weight {
        let product = (u128::from(self.mantissa) * factor) >> 63;
        let carry = (product >> 64) as u32;
        Weight { exponent: self.exponent + u64::from(carry), mantissa: (product >> carry) as u64 }
    }
}

/// The facts that decide the order of victims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Sum over the uses.
    weight: Weight,
    /// Time of the last use, from 1; 0 in an unknown block.
    last: u64,
}

impl slot_heap::Key for Key {
    #[inline(always)]
    fn rough(self) -> u64 {
        // The exponent and eight bits of the mantissa behind the highest.
        self.weight.exponent.min(1 << 54) << 8 | self.weight.mantissa << 1 >> 56
    }
}

/// The LRFU policy.
#[derive(Debug)]
pub struct Lrfu {
    capacity: u32,
    correlated: u64,
    keep: bool,
    /// 2^lambda in units of 2^-63.
    step: u128,
    /// Time of the last reference.
    now: u64,
    /// Weight of a use now.
    unit: Weight,
    ranking: Ranking<Key>,
    /// By slot, the weight of all uses but the last; empty unless uses can be correlated.
    before: Vec<Weight>,
}

impl Policy for Lrfu {
    const INFO: Info = Info {
        name: "lrfu",
        family: "frequency",
        summary: "weigh every use of a block, the less the longer ago: a spectrum from LFU to LRU",
        params: &[
            Param {
                key: "lambda",
                kind: ParamKind::Real { min: 0.0, max: 1.0 },
                default: "0.001",
                doc: "a use loses half of its weight in 1/lambda references: 0 is LFU, 1 is LRU",
            },
            Param {
                key: "correlated",
                kind: ParamKind::Count { min: 0, max: 1 << 53 },
                default: "0",
                doc: "references within which a use replaces the one before instead of adding to it",
            },
            Param {
                key: "history",
                kind: ParamKind::Word(&["lost", "kept"]),
                default: "lost",
                doc: "what becomes of a block's weight when it is evicted",
            },
        ],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let correlated = setup.args.count("correlated");
        let before = if correlated > 0 { setup.slots as usize } else { 0 };
        Ok(Lrfu {
            capacity: setup.capacity,
            correlated,
            keep: setup.args.word("history") == "kept",
            step: (setup.args.real("lambda").exp2() * (1u64 << 63) as f64) as u128,
            now: 0,
            unit: Weight::ONE,
            ranking: Ranking::new(setup.slots, setup.capacity),
            before: large::filled(Weight::default(), before),
        })
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let ghosts = if args.word("history") == "kept" { None } else { Some(0) };
        Ok(Requirements::of(capacity).with_ghosts(ghosts))
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        self.now += 1;
        self.unit = self.unit.times(self.step);
        if self.contains(slot) {
            let key = self.use_again(slot);
            self.ranking.raise(slot, key);
            return Outcome::Hit;
        }
        if self.len() == self.capacity {
            self.evict(fx);
        }
        let known = self.is_known(slot);
        let key = self.use_again(slot);
        if known {
            self.ranking.insert(slot, key);
        } else {
            self.ranking.push(slot, key);
        }
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.ranking.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if !self.is_known(slot) {
            return;
        }
        if self.contains(slot) {
            self.ranking.take(slot);
        }
        self.forget(slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.len() > capacity {
            self.evict(fx);
        }
        self.grow(self.ranking.places.slots());
    }

    fn grow(&mut self, slots: u32) {
        self.ranking.grow(slots, self.capacity);
        if self.correlated > 0 {
            self.before.resize(self.before.len().max(slots as usize), Weight::default());
        }
    }

    fn contains(&self, slot: Slot) -> bool {
        self.ranking.places.tag(slot) != ABSENT
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.ranking.len()
    }

    fn validate(&self) {
        self.ranking.validate();
        assert!(self.len() <= self.capacity);
        for slot in 0..self.ranking.places.slots() {
            let Key { weight, last } = self.ranking.key(slot);
            assert_eq!(last > 0, weight.mantissa >> 63 == 1, "only unknown blocks weigh nothing");
            assert!(last <= self.now);
            assert!(
                if self.contains(slot) { last > 0 } else { last == 0 || self.keep },
                "what is known of slot {slot}"
            );
        }
    }
}

impl Lrfu {
    #[inline(always)]
    fn is_known(&self, slot: Slot) -> bool {
        self.ranking.key(slot).last > 0
    }

    /// The key of `slot` with a use now.
    #[inline(always)]
    fn use_again(&mut self, slot: Slot) -> Key {
        let Key { weight, last } = self.ranking.key(slot);
        let mut before = weight;
        if self.correlated > 0 {
            let others = &mut self.before[slot as usize];
            if last == 0 || self.now - last > self.correlated {
                *others = weight;
            }
            before = *others;
        }
        Key { weight: before.plus(self.unit), last: self.now }
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let Some(victim) = self.ranking.pop_least() else { return };
        fx.evict(victim);
        if !self.keep {
            self.forget(victim, fx);
        }
    }

    #[inline(always)]
    fn forget(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.ranking.set_key(slot, Key::default());
        fx.forget(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_add_and_grow_like_numbers() {
        let value = |weight: Weight| weight.mantissa as f64 / (1u64 << 63) as f64 * (weight.exponent as f64).exp2();
        let third = (1u128 << 63) * 4 / 3;
        let (mut sum, mut unit) = (Weight::default(), Weight::ONE);
        let (mut expected_sum, mut expected_unit) = (0.0, 1.0);
        for _ in 0..200 {
            unit = unit.times(third);
            sum = sum.plus(unit);
            expected_unit *= 4.0 / 3.0;
            expected_sum += expected_unit;
            assert!((value(sum) / expected_sum - 1.0).abs() < 1e-12);
            assert!(unit.mantissa >> 63 == 1 && sum >= unit);
        }
        assert_eq!(value(Weight::ONE.times(1 << 64)), 2.0);
        let count = (0..1000).fold(Weight::default(), |count, _| count.plus(Weight::ONE));
        assert_eq!(value(count), 1000.0);
        let heavy = Weight { exponent: 1000, mantissa: 1 << 63 };
        assert_eq!((Weight::ONE.plus(heavy), heavy.plus(Weight::ONE)), (heavy, heavy));
    }
}
