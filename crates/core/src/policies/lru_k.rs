//! LRU-K: evict the block whose K-th last use lies farthest back.
//!
//! Idea: the last use alone cannot tell a block that is used often from one that is used once. The K-th last use can:
//! it estimates how long a block takes to be used again from K uses instead of one. Blocks with fewer known uses leave
//! first. The history outlives a block's stay, otherwise no block would ever be seen to come back.
//!
//! Paper: O'Neil, O'Neil, Weikum, "The LRU-K page replacement algorithm for database disk buffering", SIGMOD 1993.
//!
//! Provenance: from secondary sources, the paper's text was not at hand. Counts of an independent model on public
//! traces (`crates/testkit/golden`); `docs/internals/decisions.md` has its figures beside those that the ARC paper
//! prints for LRU-2.
//!
//! Deviations and readings: among blocks with fewer than K uses, and wherever K-th last uses are equal, the least
//! recently used leaves. Uses within `crp` references of the one before count as one; the shift of the history by the
//! length of such a burst leaves unknown uses unknown. Where all blocks are within their `crp`, the least recently used
//! leaves, which is the first that could be chosen. The history of an evicted block is kept without bound, as published
//! comparisons do; `rip` drops it when so many references passed since its last use. Time counts references to this
//! cache. Shrinking evicts as the next miss would.
//!
//! Cost: a hit writes one record; a miss is O(1) if its victim was used once, otherwise that of a heap, where uses
//! since it last looked are caught up with, at most once each: a few records at random places in memory, which makes it
//! three to five times as slow as LRU. With `crp` a hit costs as much as a miss.
//! Memory: 28 bytes a slot and 56 to 64 a block of capacity; 8 (K - 1) more a slot with `k` above 2 or `crp`; 12 to 20
//! more with `rip`.
//!
//! When not to use it: where blocks are used in bursts and `crp` is 0; where popularity changes faster than K uses come
//! in. With unlimited history the memory grows with the footprint.

use crate::parts::large;
use crate::parts::prefetch::prefetch;
use crate::parts::queue::{ABSENT, Places, Queue, Tag};
use crate::parts::ranking::Ranking;
use crate::parts::slot_heap;
use crate::policy::{Args, Effects, Info, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot};
use crate::spec::SpecError;

/// Tag of the blocks used within the correlated reference period, which are not to be evicted.
const RECENT: Tag = 2;

/// The facts that decide the order of victims. Times count references from 1; 0 is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Time of the K-th last use, HIST(K) in the paper.
    kth: u64,
    /// Time of the last use, correlated or not.
    last: u64,
}

impl slot_heap::Key for Key {
    #[inline(always)]
    fn rough(self) -> u64 {
        self.kth
    }
}

/// The LRU-K policy.
#[derive(Debug)]
pub struct LruK {
    capacity: u32,
    args: Args,
    k: usize,
    /// Correlated reference period.
    crp: u64,
    /// Time of the last reference.
    now: u64,
    /// The resident blocks that may be evicted; the keys also of the others and of ghosts.
    ranking: Ranking<Key>,
    /// The resident blocks that may not, the least recently used at the LRU end.
    recent: Queue,
    /// HIST(1) to HIST(K - 1) of each slot. Empty where the key tells them.
    history: Vec<u64>,
    retained: Option<Retained>,
}

/// The blocks used within the retained information period, resident or not.
#[derive(Debug)]
struct Retained {
    period: u64,
    places: Places,
    /// The least recently used at the LRU end.
    queue: Queue,
}

impl Policy for LruK {
    const INFO: Info = Info {
        name: "lru-k",
        aliases: &["lruk", "lru2", "lru-2"],
        family: "frequency",
        summary: "evict the block whose K-th last use lies farthest back",
        params: &[
            Param {
                key: "k",
                kind: ParamKind::Count { min: 1, max: 16 },
                default: "2",
                doc: "uses that are looked back (paper: 2)",
            },
            Param {
                key: "crp",
                kind: ParamKind::Count { min: 0, max: 1 << 53 },
                default: "0",
                doc: "references within which uses of a block count as one and it is not evicted (paper: correlated reference period)",
            },
            Param {
                key: "rip",
                kind: ParamKind::Multiple,
                default: "unlimited",
                doc: "references for which a block's uses are remembered after the last, times the capacity (paper: retained information period)",
            },
        ],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let (k, crp) = (setup.args.count("k") as usize, setup.args.count("crp"));
        let retained = setup.args.multiple("rip", setup.capacity).map(|period| Retained {
            period: u64::from(period),
            places: Places::new(setup.slots),
            queue: Queue::new(0, 0),
        });
        let mut lru_k = LruK {
            capacity: setup.capacity,
            args: setup.args.clone(),
            k,
            crp,
            now: 0,
            ranking: Ranking::new(setup.slots, setup.capacity),
            recent: Queue::new(RECENT, 0),
            history: Vec::new(),
            retained,
        };
        lru_k.history = large::filled(0, lru_k.width() * setup.slots as usize);
        lru_k.fit();
        Ok(lru_k)
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements::of(capacity).with_ghosts(args.multiple("rip", capacity)))
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        self.now += 1;
        if self.crp > 0 {
            self.release(self.now);
        }
        let outcome = if self.contains(slot) {
            self.hit(slot);
            Outcome::Hit
        } else {
            self.miss(slot, fx);
            Outcome::Admitted
        };
        if self.retained.is_some() {
            self.retain(slot);
            self.expire(fx);
        }
        outcome
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.ranking.prefetch(slot);
        prefetch(&self.history, slot as usize * self.width());
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.ranking.key(slot).last == 0 {
            return;
        }
        match self.ranking.places.tag(slot) {
            ABSENT => {}
            RECENT => self.recent.take(&mut self.ranking.places, slot),
            _ => self.ranking.take(slot),
        }
        if let Some(retained) = &mut self.retained
            && retained.places.tag(slot) != ABSENT
        {
            retained.queue.take(&mut retained.places, slot);
        }
        self.forget(slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.release(self.now + 1);
        while self.len() > capacity {
            self.evict(fx);
        }
        if let (Some(retained), Some(period)) = (&mut self.retained, self.args.multiple("rip", capacity)) {
            retained.period = u64::from(period);
            self.expire(fx);
        }
        self.fit();
    }

    fn grow(&mut self, slots: u32) {
        self.ranking.places.grow(slots);
        let times = self.width() * slots as usize;
        self.history.resize(self.history.len().max(times), 0);
        if let Some(retained) = &mut self.retained {
            retained.places.grow(slots);
        }
        self.fit();
    }

    fn contains(&self, slot: Slot) -> bool {
        self.ranking.places.tag(slot) != ABSENT
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.ranking.len() + self.recent.len()
    }

    fn validate(&self) {
        self.ranking.validate();
        self.recent.validate(&self.ranking.places);
        assert!(self.len() <= self.capacity);
        assert!(self.recent.iter().map(|slot| self.ranking.key(slot).last).is_sorted(), "recent blocks out of order");
        for slot in 0..self.ranking.places.slots() {
            let Key { kth, last } = self.ranking.key(slot);
            let times = self.times(slot);
            assert!(
                last <= self.now && kth <= last && times.is_sorted_by(|a, b| a >= b),
                "uses of {slot} out of order"
            );
            assert!(last > 0 || !self.contains(slot), "a resident block without a use");
            let retained = self.retained.as_ref();
            let lost = retained.is_some_and(|retained| retained.places.tag(slot) == ABSENT);
            assert!(last == 0 || self.contains(slot) || !lost, "a ghost beyond its period");
        }
        if let Some(retained) = &self.retained {
            retained.queue.validate(&retained.places);
            let due = |slot| self.now - self.ranking.key(slot).last >= retained.period;
            assert!(!retained.queue.iter().any(due), "retained for too long");
        }
    }
}

impl LruK {
    /// Capacity for all that the structures may come to hold.
    fn fit(&mut self) {
        let slots = self.ranking.places.slots();
        self.ranking.grow(slots, self.capacity);
        if self.crp > 0 {
            self.recent.grow(&mut self.ranking.places, self.capacity.min(slots));
        }
        if let Some(retained) = &mut self.retained {
            retained.queue.grow(&mut retained.places, slots);
        }
    }

    /// Times kept of each slot besides its key, which is enough for LRU-2 without correlation and for LRU-1.
    #[inline(always)]
    fn width(&self) -> usize {
        if self.k == 2 && self.crp == 0 { 0 } else { self.k - 1 }
    }

    fn times(&self, slot: Slot) -> &[u64] {
        let width = self.width();
        &self.history[slot as usize * width..][..width]
    }

    #[inline(always)]
    fn hit(&mut self, slot: Slot) {
        let Key { kth, last } = self.ranking.key(slot);
        if self.crp == 0 {
            let key = self.use_again(slot, 0);
            self.ranking.raise(slot, key);
            return;
        }
        let key = if self.now - last > self.crp {
            // Uses before the burst that just ended are stored as if it had taken no time.
            let burst = self.times(slot).first().map_or(0, |first| last - first);
            self.use_again(slot, burst)
        } else {
            Key { kth, last: self.now }
        };
        if self.ranking.places.tag(slot) == RECENT {
            self.recent.renew(&mut self.ranking.places, slot);
        } else {
            self.ranking.take(slot);
            self.recent.push(&mut self.ranking.places, slot);
        }
        self.ranking.set_key(slot, key);
    }

    #[inline(always)]
    fn miss(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.len() == self.capacity {
            self.evict(fx);
        }
        let key = self.use_again(slot, 0);
        if self.crp > 0 {
            self.recent.push(&mut self.ranking.places, slot);
            self.ranking.set_key(slot, key);
        } else {
            self.rank(slot, key);
        }
    }

    /// Blocks without a K-th last use come in the order of their last.
    #[inline(always)]
    fn rank(&mut self, slot: Slot, key: Key) {
        if key.kth == 0 {
            self.ranking.push(slot, key);
        } else {
            self.ranking.insert(slot, key);
        }
    }

    /// The key of `slot` with a use now; known times move on by one place and by `burst`.
    #[inline(always)]
    fn use_again(&mut self, slot: Slot, burst: u64) -> Key {
        let (width, now) = (self.width(), self.now);
        let times = &mut self.history[slot as usize * width..][..width];
        let kth = match times.last() {
            Some(&kth) => later(kth, burst),
            None if self.k == 1 => now,
            None => self.ranking.key(slot).last,
        };
        for place in (1..width).rev() {
            times[place] = later(times[place - 1], burst);
        }
        if let Some(first) = times.first_mut() {
            *first = now;
        }
        Key { kth, last: now }
    }

    /// Blocks whose correlated reference period is over at `time` may be evicted.
    #[inline(always)]
    fn release(&mut self, time: u64) {
        while let Some(oldest) = self.recent.oldest(&self.ranking.places) {
            let key = self.ranking.key(oldest);
            if time - key.last <= self.crp {
                return;
            }
            self.recent.take(&mut self.ranking.places, oldest);
            self.rank(oldest, key);
        }
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let victim = self.ranking.pop_least().or_else(|| self.recent.pop_oldest(&mut self.ranking.places));
        let Some(victim) = victim else { return };
        fx.evict(victim);
        if self.retained.as_ref().is_some_and(|retained| retained.places.tag(victim) == ABSENT) {
            self.forget(victim, fx);
        }
    }

    fn forget(&mut self, slot: Slot, fx: &mut impl Effects) {
        let width = self.width();
        self.history[slot as usize * width..][..width].fill(0);
        self.ranking.set_key(slot, Key::default());
        fx.forget(slot);
    }

    /// Begins the retained information period of `slot` anew.
    fn retain(&mut self, slot: Slot) {
        let Some(Retained { places, queue, .. }) = &mut self.retained else { return };
        if places.tag(slot) == ABSENT {
            queue.push(places, slot);
        } else {
            queue.renew(places, slot);
        }
    }

    /// Forgets ghosts whose period will be over at the next reference. A resident block is forgotten when it leaves.
    fn expire(&mut self, fx: &mut impl Effects) {
        while let Some(Retained { period, places, queue }) = &mut self.retained
            && let Some(oldest) = queue.oldest(places)
            && self.now - self.ranking.key(oldest).last >= *period
        {
            queue.take(places, oldest);
            if !self.contains(oldest) {
                self.forget(oldest, fx);
            }
        }
    }
}

/// A known time moved by `burst`; an unknown one stays so.
#[inline(always)]
fn later(time: u64, burst: u64) -> u64 {
    if time == 0 { 0 } else { time + burst }
}
