//! LFU: evict the block with the fewest uses since it came in.
//!
//! Idea: blocks that were used often will be used again. Blocks with few uses are in one queue for each count, least
//! recently used first; they are the victims, nearly always. The others, whose counts change all the time and whose
//! order almost never matters, are in a heap that looks at their counts only when all queues are empty.
//!
//! Paper: no single one; Robinson, Devarakonda, "Data cache management using frequency-based replacement", SIGMETRICS
//! 1990, discusses it.
//!
//! Provenance: equal to libCacheSim 0.3.5 on twelve public traces and to Caffeine's simulator 3.2.0 on ten.
//!
//! Deviations and readings: a count starts at 1 and is lost at eviction ("in-cache LFU"); of equal counts the least
//! recently used block leaves. `counts=perfect` keeps the counts of evicted blocks without bound. `aging` halves all
//! counts now and then, rounded up, as frequency-based replacement does, so that a count never falls to 0; a resize
//! begins a new interval. Counts stop at 2^32 - 1.
//!
//! Cost: a hit writes one word and appends to a log, or writes one word and one count; a miss is O(1), or O(log c) when
//! the heap must give the victim, which can happen once in four references. With `aging` all blocks are in the heap.
//! Memory: 20 bytes a slot, 64 to 100 bytes a block of capacity.
//!
//! When not to use it: where popularity changes: blocks that were hot once never leave, and new blocks displace one
//! another.

mod order_tree;

use crate::parts::queue::{ABSENT, Places, Queue, Tag};
use crate::parts::slot_heap::{self, SlotHeap};
use crate::policy::{
    Args, Effects, Info, Outcome, Param, ParamKind, Policy, Ranked, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;
use order_tree::OrderTree;

/// Blocks with up to this many uses are in queues. Queue `n` has tag `n` and holds the blocks with `n + 1` uses.
const QUEUES: u32 = 4;
/// Tag of the blocks in the heap.
const OFTEN: Tag = QUEUES;

/// Order of the blocks in the heap, and what is remembered of evicted blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    uses: u32,
    /// Time of the last use, high word first: as a `u64` it would cost 4 bytes of padding. In an evicted block, how
    /// often counts had been halved when it left.
    last: [u32; 2],
}

impl slot_heap::Key for Key {
    #[inline(always)]
    fn rough(self) -> u64 {
        u64::from(self.uses)
    }
}

/// The LFU policy.
#[derive(Debug)]
pub struct Lfu {
    capacity: u32,
    args: Args,
    len: u32,
    /// Counts outlive a block's stay.
    perfect: bool,
    /// Up to this many uses blocks are in queues.
    queued: u32,
    /// References until counts are halved.
    left: u64,
    /// How often they were.
    halvings: u64,
    places: Places,
    seldom: [Queue; QUEUES as usize],
    often: SlotHeap<Key>,
    /// The blocks in the heap in their order, if that is asked for.
    order: Option<OrderTree<Key>>,
}

impl Policy for Lfu {
    const INFO: Info = Info {
        name: "lfu",
        family: "frequency",
        summary: "evict the block with the fewest uses since it came in",
        params: &[
            Param {
                key: "counts",
                kind: ParamKind::Word(&["cache", "perfect"]),
                default: "cache",
                doc: "uses that count: those since the block came in, or all",
            },
            Param {
                key: "aging",
                kind: ParamKind::Multiple,
                default: "unlimited",
                doc: "references after which all counts are halved, times the capacity, such as 10",
            },
        ],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let mut lfu = Lfu {
            capacity: setup.capacity,
            args: setup.args.clone(),
            len: 0,
            perfect: setup.args.word("counts") == "perfect",
            queued: 0,
            left: 0,
            halvings: 0,
            places: Places::new(setup.slots),
            seldom: std::array::from_fn(|tag| Queue::new(tag as Tag, 0)),
            often: SlotHeap::new(OFTEN, setup.slots),
            order: None,
        };
        lfu.scale();
        Ok(lfu)
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let ghosts = if args.word("counts") == "perfect" { None } else { Some(0) };
        Ok(Requirements::of(capacity).with_ghosts(ghosts))
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        if self.left == 0 {
            self.halve();
        }
        self.left -= 1;
        match self.places.tag(slot) {
            ABSENT => {
                if self.len == self.capacity {
                    self.evict(fx);
                }
                let uses = if self.perfect { self.remembered(slot).saturating_add(1) } else { 1 };
                self.enter(slot, uses, reference);
                self.len += 1;
                return Outcome::Admitted;
            }
            OFTEN => {
                let uses = self.often.key(slot).uses.saturating_add(1);
                let key = Key { uses, last: words(reference.time) };
                self.often.set_key(slot, key);
                if let Some(order) = &mut self.order {
                    order.remove(slot);
                    order.insert(slot, key);
                }
            }
            tag => {
                self.seldom[tag as usize].take(&mut self.places, slot);
                self.enter(slot, tag + 2, reference);
            }
        }
        Outcome::Hit
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
        self.often.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        match self.places.tag(slot) {
            ABSENT if self.perfect && self.remembered(slot) > 0 => {}
            ABSENT => return,
            tag => {
                match self.seldom.get_mut(tag as usize) {
                    Some(queue) => queue.take(&mut self.places, slot),
                    None => {
                        self.often.take(&mut self.places, slot);
                        self.leave_order(slot);
                    }
                }
                self.len -= 1;
            }
        }
        self.often.set_key(slot, Key::default());
        fx.forget(slot);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.len > capacity {
            self.evict(fx);
        }
        self.scale();
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
        self.often.validate(&self.places);
        let mut often = (0..self.places.slots()).filter(|&slot| self.places.tag(slot) == OFTEN);
        assert!(often.all(|slot| self.often.key(slot).uses > self.queued), "a count that belongs into a queue");
        assert_eq!(self.seldom.iter().map(Queue::len).sum::<u32>() + self.often.len(), self.len);
        assert!(self.len <= self.capacity);
    }
}

impl Ranked for Lfu {
    /// Halving counts would change the order of all blocks at once.
    fn keep_order(&mut self) -> bool {
        if self.args.multiple("aging", self.capacity).is_some() {
            return false;
        }
        self.seldom.iter_mut().for_each(Queue::count_ranks);
        self.order = Some(OrderTree::new(self.places.slots()));
        true
    }

    /// From the most used to the least, of equal counts from the youngest on.
    fn position(&self, slot: Slot) -> Option<u32> {
        let order = self.order.as_ref()?;
        match self.places.tag(slot) {
            ABSENT => None,
            OFTEN => Some(order.rank(slot)),
            tag => {
                let more = &self.seldom[tag as usize + 1..];
                let rank = self.seldom[tag as usize].rank(&self.places, slot);
                Some(order.len() + more.iter().map(Queue::len).sum::<u32>() + rank)
            }
        }
    }

    fn at(&self, position: u32) -> Option<Slot> {
        let order = self.order.as_ref()?;
        let Some(mut left) = position.checked_sub(order.len()) else { return order.at(position) };
        for queue in self.seldom.iter().rev() {
            match left.checked_sub(queue.len()) {
                None => return queue.at_rank(left),
                Some(behind) => left = behind,
            }
        }
        None
    }
}

impl Lfu {
    /// What depends on the capacity.
    fn scale(&mut self) {
        let interval = self.args.multiple("aging", self.capacity);
        // Halving changes the order of counts, which queues could not follow.
        self.queued = if interval.is_some() { 0 } else { QUEUES };
        self.left = interval.map_or(u64::MAX, |references| u64::from(references).max(1));
        self.fit();
    }

    /// Capacity for all that the queues and the heap may come to hold.
    fn fit(&mut self) {
        let slots = self.places.slots();
        let bound = self.capacity.min(slots);
        self.seldom.iter_mut().for_each(|queue| queue.grow(&mut self.places, bound));
        self.often.grow(slots, bound);
        if let Some(order) = &mut self.order {
            order.grow(slots);
        }
    }

    fn leave_order(&mut self, slot: Slot) {
        if let Some(order) = &mut self.order {
            order.remove(slot);
        }
    }

    /// Puts `slot`, which is nowhere, where this many uses belong.
    #[inline(always)]
    fn enter(&mut self, slot: Slot, uses: u32, reference: Reference) {
        if uses <= self.queued {
            self.seldom[uses as usize - 1].push(&mut self.places, slot);
        } else {
            let key = Key { uses, last: words(reference.time) };
            self.often.insert(&mut self.places, slot, key);
            if let Some(order) = &mut self.order {
                order.insert(slot, key);
            }
        }
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let seldom = self.seldom.iter_mut().find(|queue| !queue.is_empty());
        let (victim, uses) = match seldom {
            Some(queue) => (queue.pop_oldest(&mut self.places), Some(queue.tag() + 1)),
            None => (self.often.pop_least(&mut self.places), None),
        };
        let Some(victim) = victim else { return };
        if uses.is_none() {
            self.leave_order(victim);
        }
        self.len -= 1;
        fx.evict(victim);
        if self.perfect {
            let uses = uses.unwrap_or(self.often.key(victim).uses);
            self.often.set_key(victim, Key { uses, last: words(self.halvings) });
        } else {
            fx.forget(victim);
        }
    }

    /// The count of an evicted block, halved as often as it would have been since, or 0.
    #[inline(always)]
    fn remembered(&self, slot: Slot) -> u32 {
        let Key { uses, last: [high, low] } = self.often.key(slot);
        let times = self.halvings - (u64::from(high) << 32 | u64::from(low));
        // Halving again and again, rounded up, is dividing by a power of two, rounded up.
        uses.checked_sub(1).map_or(0, |less| less.checked_shr(times.min(32) as u32).unwrap_or(0) + 1)
    }

    /// Halves all counts, rounding up.
    #[cold]
    fn halve(&mut self) {
        self.often.change(&self.places, |key| Key { uses: key.uses.div_ceil(2), ..key });
        self.halvings += 1;
        self.scale();
    }
}

fn words(number: u64) -> [u32; 2] {
    [(number >> 32) as u32, number as u32]
}
