//! Policies that count uses and age by L, the value of the last victim: LFUDA and GDSF, which differ in what uses are
//! worth. The least value leaves, of equal ones the least recently used. L rises with every victim, so what is no
//! longer used is overtaken.

use std::fmt::Debug;

use crate::parts::queue::ABSENT;
use crate::parts::ranking::Ranking;
use crate::parts::slot_heap;
use crate::policy::{Args, Discard, Effects, Info, Outcome, Policy, Reference, Setup, Slot};
use crate::spec::SpecError;

/// What tells one from another.
pub trait AgingRule: Debug + Send {
    /// Name, parameters and texts.
    const INFO: Info;
    /// A new block has a greater value than those that came before it and were not used again.
    const GREATEST_WHEN_NEW: bool;
    /// With these arguments.
    fn new(args: &Args) -> Self;
    /// The value of a block after this many uses, the last of them this one, where L is `floor`. Values are in the
    /// order of their numeric codes, and L and they are never below 0.
    fn value(&self, floor: u64, uses: u64, reference: &Reference) -> u64;
    /// True if a block of this value may have had so many uses. For tests.
    fn may_be(_value: u64, _uses: u64, _floor: u64) -> bool {
        true
    }
}

/// The facts that decide the order of victims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    value: u64,
    /// Time of the last use.
    last: u64,
    uses: u64,
}

impl slot_heap::Key for Key {
    #[inline(always)]
    fn rough(self) -> u64 {
        self.value.min((1 << 63) - 1)
    }
}

/// A policy that counts uses and ages.
#[derive(Debug)]
pub struct Aging<W> {
    worth: W,
    capacity: u32,
    /// References so far.
    now: u64,
    /// L, the value of the last victim.
    floor: u64,
    ranking: Ranking<Key>,
}

impl<W: AgingRule> Policy for Aging<W> {
    const INFO: Info = W::INFO;

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let (worth, ranking) = (W::new(setup.args), Ranking::new(setup.slots, setup.capacity));
        Ok(Aging { worth, capacity: setup.capacity, now: 0, floor: 0, ranking })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        self.now += 1;
        if self.contains(slot) {
            let before = self.ranking.key(slot);
            let key = self.key(before.uses.saturating_add(1), &reference);
            if W::GREATEST_WHEN_NEW || key >= before {
                self.ranking.raise(slot, key);
            } else {
                self.ranking.take(slot);
                self.ranking.insert(slot, key);
            }
            return Outcome::Hit;
        }
        if self.len() == self.capacity {
            self.evict(fx);
        }
        let key = self.key(1, &reference);
        match W::GREATEST_WHEN_NEW {
            true => self.ranking.push(slot, key),
            false => self.ranking.insert(slot, key),
        }
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.ranking.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.contains(slot) {
            self.ranking.take(slot);
            fx.forget(slot);
        }
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
        for slot in (0..self.ranking.places.slots()).filter(|&slot| self.contains(slot)) {
            let Key { value, last, uses } = self.ranking.key(slot);
            let is_sound = uses > 0 && value >= self.floor && W::may_be(value, uses, self.floor);
            assert!(is_sound, "the value of slot {slot}");
            assert!(last <= self.now);
        }
    }
}

impl<W: AgingRule> Aging<W> {
    /// The key of a block after this many uses, the last of them now.
    #[inline(always)]
    fn key(&self, uses: u64, reference: &Reference) -> Key {
        Key { value: self.worth.value(self.floor, uses, reference), last: self.now, uses }
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        if let Some(victim) = self.ranking.pop_least() {
            self.floor = self.ranking.key(victim).value;
            fx.discard(victim);
        }
    }
}
