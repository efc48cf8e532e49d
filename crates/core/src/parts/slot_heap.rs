//! A priority queue of slots whose keys only grow: raising one is a single write.
//!
//! It orders its slots by the keys they had when it last looked at them. These are lower bounds, so the slot at the top
//! is the least once its key there is its true one; until then the top is set right and sinks. Each such step is paid
//! for by a raise.
//!
//! Only slots with the least keys, below an edge, are in a heap. The others lie unsorted in buckets, each for a range
//! of keys. When the heap runs empty, the next bucket is poured into it and the edge moves on, so the heap stays so
//! small that it does not leave the processor's cache. Slots whose keys were raised beyond the edge go on to a later
//! bucket. The last bucket takes all keys beyond the others; when only it is left, the ranges are chosen anew.
//!
//! Keys are held by slot: they can be fetched ahead, and stay when a slot leaves, as the history of a ghost. A slot
//! that was taken out leaves its entry behind until that reaches the top or its bucket is poured. If the slot comes
//! back before, it may have two entries. The one it got last is a lower bound, so the other can only give what is
//! true.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::large;
use super::prefetch::prefetch;
use super::queue::{Places, Tag};
use crate::policy::Slot;

const BUCKETS: usize = 512;
/// The bucket of all keys beyond the other ranges.
const LAST: usize = BUCKETS - 1;

/// In place of the next slot: it is in no bucket.
const UNLINKED: Slot = Slot::MAX;
/// In place of the next slot: there is none.
const END: Slot = Slot::MAX - 1;

/// A key with a number that orders keys roughly.
pub trait Key: Copy + Ord + Default {
    /// Below 2^63; does not fall as keys grow.
    fn rough(self) -> u64;
}

/// Slots by key. Like a queue it has a separate tag within its [`Places`].
#[derive(Debug)]
pub struct SlotHeap<K> {
    tag: Tag,
    len: u32,
    nodes: Vec<Node<K>>,
    /// Lower bounds of keys.
    near: BinaryHeap<Reverse<(K, Slot)>>,
    /// First slots of the buckets. Those before `at` are empty.
    buckets: Vec<Slot>,
    at: usize,
    /// Slots in buckets, those included that were taken out since.
    linked: u32,
    /// All slots in buckets have keys whose rough numbers are from here on.
    edge: u64,
    /// Bucket n begins at `base + (n << shift)`.
    base: u64,
    shift: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node<K> {
    key: K,
    /// The next slot in the same bucket.
    next: Slot,
}

impl<K: Key> SlotHeap<K> {
    /// An empty heap of slots below `slots`, all with the default key.
    pub fn new(tag: Tag, slots: u32) -> SlotHeap<K> {
        SlotHeap {
            tag,
            len: 0,
            nodes: large::filled(Node { key: K::default(), next: UNLINKED }, slots as usize),
            near: BinaryHeap::new(),
            buckets: vec![END; BUCKETS],
            at: 0,
            linked: 0,
            edge: 0,
            base: 0,
            shift: 0,
        }
    }

    /// Grows to hold slots below `slots`, of which at most `bound` are in the heap.
    pub fn grow(&mut self, slots: u32, bound: u32) {
        let unknown = Node { key: K::default(), next: UNLINKED };
        self.nodes.resize(self.nodes.len().max(slots as usize), unknown);
        self.near.reserve_exact((2 * bound as usize).saturating_sub(self.near.len()));
    }

    /// Slots in the heap.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if no slot is in the heap.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Fetches the key of `slot`.
    #[inline(always)]
    pub fn prefetch(&self, slot: Slot) {
        prefetch(&self.nodes, slot as usize);
    }

    /// The key of `slot`, in the heap or not.
    #[inline(always)]
    pub fn key(&self, slot: Slot) -> K {
        self.nodes[slot as usize].key
    }

    /// Sets the key of `slot`. In the heap it must not be lowered.
    #[inline(always)]
    pub fn set_key(&mut self, slot: Slot, key: K) {
        self.nodes[slot as usize].key = key;
    }

    /// Adds `slot`, which is nowhere.
    #[inline(always)]
    pub fn insert(&mut self, places: &mut Places, slot: Slot, key: K) {
        places.put(slot, self.tag, 0);
        self.set_key(slot, key);
        self.len += 1;
        self.order(places, slot);
    }

    /// Takes out `slot`, which is in the heap. Its key stays.
    #[inline(always)]
    pub fn take(&mut self, places: &mut Places, slot: Slot) {
        debug_assert_eq!(places.tag(slot), self.tag);
        places.clear(slot);
        self.len -= 1;
    }

    /// The slot with the least key.
    #[inline(always)]
    pub fn least(&mut self, places: &Places) -> Option<Slot> {
        if self.len == 0 {
            return None;
        }
        loop {
            let Some(mut top) = self.near.peek_mut().filter(|top| top.0.0.rough() < self.edge || self.linked == 0)
            else {
                self.pour(places);
                continue;
            };
            let Reverse((bound, slot)) = *top;
            let Node { key, next } = self.nodes[slot as usize];
            if places.tag(slot) != self.tag {
                PeekMut::pop(top);
            } else if bound == key {
                return Some(slot);
            } else if key.rough() >= self.edge && next == UNLINKED {
                PeekMut::pop(top);
                self.link(slot);
            } else {
                *top = Reverse((key, slot));
            }
        }
    }

    /// Takes out the slot with the least key. Its key stays.
    #[inline(always)]
    pub fn pop_least(&mut self, places: &mut Places) -> Option<Slot> {
        let least = self.least(places)?;
        self.near.pop();
        self.take(places, least);
        Some(least)
    }

    /// Changes the keys of all slots in the heap, which may also be lowered.
    #[cold]
    pub fn change(&mut self, places: &Places, mut new: impl FnMut(K) -> K) {
        let mut entries = std::mem::take(&mut self.near).into_vec();
        for Reverse((_, slot)) in entries.drain(..) {
            if self.nodes[slot as usize].next == UNLINKED {
                self.link(slot);
            }
        }
        self.near = entries.into();
        let mut all = END;
        for bucket in self.at..BUCKETS {
            let mut rest = std::mem::replace(&mut self.buckets[bucket], END);
            while let Some(slot) = self.unlink(&mut rest) {
                if places.tag(slot) == self.tag {
                    self.set_key(slot, new(self.key(slot)));
                    self.hang(slot, &mut all);
                }
            }
        }
        self.spread(all);
    }

    /// Gives `slot`, which is in the heap, an entry that is a lower bound of its key.
    #[inline(always)]
    fn order(&mut self, places: &Places, slot: Slot) {
        let Node { key, next } = self.nodes[slot as usize];
        if key.rough() >= self.edge && next == UNLINKED {
            self.link(slot);
            return;
        }
        if self.near.len() == self.near.capacity() {
            self.sweep(places);
        }
        self.near.push(Reverse((key, slot)));
    }

    /// Puts `slot` into the bucket of its key.
    #[inline(always)]
    fn link(&mut self, slot: Slot) {
        let beyond = self.key(slot).rough().saturating_sub(self.base) >> self.shift;
        let bucket = (beyond.min(LAST as u64) as usize).max(self.at);
        let mut first = self.buckets[bucket];
        self.hang(slot, &mut first);
        self.buckets[bucket] = first;
    }

    /// Puts `slot` at the head of the list that begins with `first`.
    #[inline(always)]
    fn hang(&mut self, slot: Slot, first: &mut Slot) {
        self.nodes[slot as usize].next = *first;
        *first = slot;
        self.linked += 1;
    }

    /// Takes the first slot off the list that begins with `first`.
    #[inline(always)]
    fn unlink(&mut self, first: &mut Slot) -> Option<Slot> {
        let slot = *first;
        if slot == END {
            return None;
        }
        *first = std::mem::replace(&mut self.nodes[slot as usize].next, UNLINKED);
        self.prefetch(*first);
        self.linked -= 1;
        Some(slot)
    }

    /// Moves the edge on past the next bucket that is not empty.
    #[inline(never)]
    fn pour(&mut self, places: &Places) {
        let next = (self.at..LAST).find(|&bucket| self.buckets[bucket] != END);
        let mut rest = std::mem::replace(&mut self.buckets[next.unwrap_or(LAST)], END);
        if let Some(bucket) = next {
            self.at = bucket + 1;
            self.edge = self.base.saturating_add((self.at as u64).saturating_mul(1 << self.shift));
            while let Some(slot) = self.unlink(&mut rest) {
                places.prefetch(rest);
                if places.tag(slot) == self.tag {
                    self.order(places, slot);
                }
            }
        } else {
            let mut all = END;
            while let Some(slot) = self.unlink(&mut rest) {
                if places.tag(slot) == self.tag {
                    self.hang(slot, &mut all);
                }
            }
            self.spread(all);
        }
    }

    /// Chooses the ranges of the buckets, which are empty, so that the regular ones hold keys up to twice as far from
    /// the least as the mean is, which are at least half of all, and puts the slots of a list into them.
    fn spread(&mut self, mut all: Slot) {
        let (mut least, mut sum, mut count) = (u64::MAX, 0u128, 0);
        let mut slot = all;
        while slot != END {
            let Node { key, next } = self.nodes[slot as usize];
            least = least.min(key.rough());
            sum += u128::from(key.rough());
            count += 1;
            slot = next;
        }
        if count == 0 {
            return;
        }
        let span = ((sum / count) as u64 - least).saturating_mul(2);
        (self.at, self.base, self.edge) = (0, least, least);
        self.shift = (span / LAST as u64).checked_ilog2().map_or(0, |bits| bits + 1);
        while let Some(slot) = self.unlink(&mut all) {
            self.link(slot);
        }
    }

    /// Drops entries of slots that were taken out, and all but one of those that came back.
    #[cold]
    fn sweep(&mut self, places: &Places) {
        let mut entries = std::mem::take(&mut self.near).into_vec();
        entries.retain(|&Reverse((_, slot))| places.tag(slot) == self.tag);
        entries.sort_unstable_by_key(|&Reverse((_, slot))| slot);
        entries.dedup_by_key(|&mut Reverse((_, slot))| slot);
        for Reverse((bound, slot)) in &mut entries {
            *bound = self.key(*slot);
        }
        self.near = entries.into();
    }

    /// Panics unless every slot that claims to be in the heap has an entry that is no more than its key.
    pub fn validate(&self, places: &Places) {
        let is_held = |slot: Slot| places.tag(slot) == self.tag;
        let near =
            self.near.iter().map(|entry| entry.0).filter(|&(bound, slot)| is_held(slot) && bound <= self.key(slot));
        let mut bounded: Vec<Slot> = near.map(|(_, slot)| slot).collect();
        let mut linked = 0;
        for (bucket, &first) in self.buckets.iter().enumerate() {
            assert!(bucket >= self.at || first == END, "a bucket before the edge is not empty");
            let start = self.base.saturating_add((bucket as u64).saturating_mul(1 << self.shift));
            let start = if bucket == self.at { self.edge } else { start };
            let mut slot = first;
            while slot != END {
                linked += 1;
                if is_held(slot) && start <= self.key(slot).rough() {
                    bounded.push(slot);
                }
                slot = self.nodes[slot as usize].next;
            }
        }
        assert_eq!(linked, self.linked, "slots in buckets are miscounted");
        bounded.sort_unstable();
        bounded.dedup();
        let claiming: Vec<Slot> = (0..places.slots()).filter(|&slot| is_held(slot)).collect();
        assert_eq!(bounded, claiming, "slots without a lower bound of their key");
        assert_eq!(claiming.len(), self.len as usize, "the heap miscounts its slots");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    impl Key for u64 {
        fn rough(self) -> u64 {
            self >> 20
        }
    }

    /// Keys drawn low and high, all over and with the time, so that slots come back below and above the entries they
    /// left behind.
    #[test]
    fn the_least_true_key_leaves_first() {
        const SLOTS: u32 = 12;
        let mut random = Rng::new(3);
        let mut places = Places::new(SLOTS);
        let mut heap = SlotHeap::new(0, SLOTS);
        heap.grow(SLOTS, 8);
        let mut model = std::collections::BTreeMap::new();
        for step in 0..100_000u64 {
            let slot = random.below(SLOTS);
            let spread = if step % 5000 < 2500 { 32 } else { 12 };
            let drawn = (u64::from(random.below(1000)) << spread) + (step << 20);
            match (random.below(8), model.contains_key(&slot)) {
                (0..4, false) if model.len() < 8 => {
                    heap.insert(&mut places, slot, drawn);
                    model.insert(slot, drawn);
                }
                (0..3, true) => {
                    let key = drawn.max(heap.key(slot));
                    heap.set_key(slot, key);
                    model.insert(slot, key);
                }
                (3..5, true) => {
                    heap.take(&mut places, slot);
                    model.remove(&slot);
                }
                (5, _) => {
                    let least = model.iter().min_by_key(|(slot, key)| (**key, **slot)).map(|(slot, _)| *slot);
                    assert_eq!(heap.pop_least(&mut places), least);
                    least.map(|least| model.remove(&least));
                }
                (6, _) if step % 64 == 0 => {
                    heap.change(&places, |key| key / 2);
                    model.values_mut().for_each(|key| *key /= 2);
                }
                _ => {}
            }
            heap.validate(&places);
            assert_eq!(heap.len() as usize, model.len());
        }
        assert!(heap.near.capacity() < 32, "entries left behind are swept out");
    }
}
