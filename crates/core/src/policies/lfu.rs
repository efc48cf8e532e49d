//! LFU: evict the block with the fewest uses since it came in.
//!
//! Idea: what was used often will be used again. Blocks with few uses stand in one queue for each count, least recently
//! used first; they are the victims, nearly always. The others, whose counts change all the time and whose order
//! almost never matters, stand in a heap that looks at their counts only when all queues are empty.
//!
//! Paper: no single one; Robinson, Devarakonda, "Data cache management using frequency-based replacement", SIGMETRICS 1990, discusses it.
//!
//! Deviations and readings: a count starts at 1 and is lost at eviction ("in-cache LFU"); of equal counts the least recently used block
//! leaves. Counts stop at 2^32 - 1.
//!
//! Cost: a hit writes one word and appends to a log, or writes one word and one count; a miss is O(1), or O(log c) when the
//! heap must give the victim, which can happen once in four references.
//! Memory: 4 bytes a slot, 96 bytes a block of capacity.
//!
//! When not to use it: where popularity changes: blocks that were hot once never leave, and new blocks displace one another.

use crate::parts::ghost::discard_oldest;
use crate::parts::lazy_heap::LazyHeap;
use crate::parts::queue::{ABSENT, Places, Queue, Tag};
use crate::policy::{Effects, Info, Needs, Outcome, Policy, Reference, Setup, Slot};
use crate::spec::SpecError;

/// Blocks with up to this many uses stand in queues. Queue `n` has tag `n` and holds the blocks with `n + 1` uses.
const QUEUES: u32 = 4;
/// Tag of the blocks in the heap.
const OFTEN: Tag = QUEUES;

/// Order of the blocks in the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    uses: u32,
    /// Time of the last use, high word first: as a `u64` it would cost 4 bytes of padding.
    last: [u32; 2],
}

/// The LFU policy.
#[derive(Debug)]
pub struct Lfu {
    capacity: u32,
    len: u32,
    places: Places,
    seldom: [Queue; QUEUES as usize],
    often: LazyHeap<Key>,
}

impl Policy for Lfu {
    const INFO: Info = Info {
        name: "lfu",
        aliases: &[],
        family: "frequency",
        summary: "evict the block with the fewest uses since it came in",
        params: &[],
        offline: false,
        needs: Needs::NOTHING,
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let seldom = std::array::from_fn(|tag| Queue::new(tag as Tag, 0));
        let places = Places::new(setup.slots);
        let mut lfu = Lfu { capacity: setup.capacity, len: 0, places, seldom, often: LazyHeap::new(0) };
        lfu.fit();
        Ok(lfu)
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        match self.places.tag(slot) {
            ABSENT => {
                if self.len == self.capacity {
                    self.evict(fx);
                }
                self.seldom[0].push(&mut self.places, slot);
                self.len += 1;
                return Outcome::Admitted;
            }
            OFTEN => {
                let key = self.often.key_mut(self.places.index(slot));
                *key = Key { uses: key.uses.saturating_add(1), last: words(reference.time) };
            }
            tag => {
                self.seldom[tag as usize].take(&mut self.places, slot);
                match self.seldom.get_mut(tag as usize + 1) {
                    Some(queue) => queue.push(&mut self.places, slot),
                    None => {
                        let index = self.often.insert(slot, Key { uses: QUEUES + 1, last: words(reference.time) });
                        self.places.put(slot, OFTEN, index);
                    }
                }
            }
        }
        Outcome::Hit
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        match self.places.tag(slot) {
            ABSENT => return,
            OFTEN => {
                self.often.remove(self.places.index(slot));
                self.places.clear(slot);
            }
            tag => self.seldom[tag as usize].take(&mut self.places, slot),
        }
        self.len -= 1;
        fx.forget(slot);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.len > capacity {
            self.evict(fx);
        }
        self.fit();
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        self.fit();
    }

    fn contains(&self, slot: Slot) -> bool {
        self.places.tag(slot) != ABSENT
    }

    fn len(&self) -> u32 {
        self.len
    }

    fn validate(&self) {
        self.seldom.iter().for_each(|queue| queue.validate(&self.places));
        self.often.validate();
        let often = || (0..self.places.slots()).filter(|&slot| self.places.tag(slot) == OFTEN);
        assert!(often().all(|slot| self.often.slot(self.places.index(slot)) == slot), "a place in the heap");
        assert_eq!(often().count(), self.often.len() as usize);
        assert_eq!(self.seldom.iter().map(Queue::len).sum::<u32>() + self.often.len(), self.len);
        assert!(self.len <= self.capacity);
    }
}

impl Lfu {
    /// Room for all that the queues and the heap may come to hold.
    fn fit(&mut self) {
        let bound = self.capacity.min(self.places.slots());
        self.seldom.iter_mut().for_each(|queue| queue.grow(&mut self.places, bound));
        self.often.grow(bound);
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        self.len -= 1;
        if let Some(queue) = self.seldom.iter_mut().find(|queue| !queue.is_empty()) {
            discard_oldest(queue, &mut self.places, fx);
        } else if let Some(victim) = self.often.pop_least() {
            self.places.clear(victim);
            fx.discard(victim);
        }
    }
}

fn words(time: u64) -> [u32; 2] {
    [(time >> 32) as u32, time as u32]
}
