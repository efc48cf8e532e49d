//! LFUDA: LFU whose old counts lose their value as the cache moves on.
//!
//! Idea: a block's key is its number of uses plus L, the key of the last victim. L rises with every victim, so a block
//! that is no longer used is overtaken by new ones however often it was used before: dynamic aging, without a
//! parameter.
//!
//! Paper: Arlitt, Cherkasova, Dilley, Friedrich, Jin, "Evaluating content management techniques for Web proxy caches",
//! ACM SIGMETRICS Performance Evaluation Review 2000.
//!
//! Provenance: from secondary sources, the paper's text was not at hand. libCacheSim 0.3.5 is equal on five of twelve
//! public traces; on the others it differs by up to 7.7 points, as a hit does not raise a block's count there.
//!
//! Deviations and readings: uses are counted from 1 while a block is resident; the key takes L as it is at the block's
//! last use; of equal keys the least recently used leaves. Uses and L stop at the greatest 64-bit number.
//!
//! Cost: a hit writes one record; a miss is O(1) if its victim was used once, otherwise that of a heap.
//! Memory: 36 bytes a slot and 72 to 80 a block of capacity.
//!
//! When not to use it: loops and scans longer than the cache, as with LRU; a stable popularity, where plain LFU forgets
//! nothing.

use crate::parts::queue::ABSENT;
use crate::parts::ranking::Ranking;
use crate::parts::slot_heap;
use crate::policy::{Effects, Info, Needs, Outcome, Policy, Reference, Setup, Slot};
use crate::spec::SpecError;

/// What the order of victims depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Uses plus L at the last of them.
    value: u64,
    /// Time of the last use.
    last: u64,
    uses: u64,
}

impl slot_heap::Key for Key {
    #[inline(always)]
    fn rough(self) -> u64 {
        self.value.min(1 << 62)
    }
}

/// The LFUDA policy.
#[derive(Debug)]
pub struct Lfuda {
    capacity: u32,
    /// References so far.
    now: u64,
    /// L, the value of the last victim.
    floor: u64,
    ranking: Ranking<Key>,
}

impl Policy for Lfuda {
    const INFO: Info = Info {
        name: "lfuda",
        aliases: &["lfu-da"],
        family: "frequency",
        summary: "LFU with dynamic aging: new blocks start from the key of the last victim",
        params: &[],
        offline: false,
        needs: Needs::NOTHING,
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let ranking = Ranking::new(setup.slots, setup.capacity);
        Ok(Lfuda { capacity: setup.capacity, now: 0, floor: 0, ranking })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        self.now += 1;
        if self.contains(slot) {
            let key = self.key(self.ranking.key(slot).uses.saturating_add(1));
            self.ranking.raise(slot, key);
            return Outcome::Hit;
        }
        if self.len() == self.capacity {
            self.evict(fx);
        }
        self.ranking.push(slot, self.key(1));
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
            assert!(uses > 0 && value >= self.floor && value - uses <= self.floor, "the value of slot {slot}");
            assert!(last <= self.now);
        }
    }
}

impl Lfuda {
    /// The key of a block after this many uses, the last of them now.
    #[inline(always)]
    fn key(&self, uses: u64) -> Key {
        Key { value: self.floor.saturating_add(uses), last: self.now, uses }
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        if let Some(victim) = self.ranking.pop_least() {
            self.floor = self.ranking.key(victim).value;
            fx.discard(victim);
        }
    }
}
