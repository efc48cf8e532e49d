//! A heap of slots whose keys only grow: raising one is a single write.
//!
//! The heap orders its slots by the keys they had when it last looked at them. These are lower bounds, so the slot at the top is the
//! least once its key there is its true one; until then the top is set right and sinks. Each such step is paid for by a raise.
//! Keys are held by slot: they can be fetched ahead, and stay when a slot leaves, as the history of a ghost.
//!
//! A slot that was taken out leaves its entry behind until that reaches the top or half of the entries are such. If the slot comes back
//! before, it has two entries. The one it got last is a lower bound, so the other can only tell of it what is true.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::large;
use super::prefetch::prefetch;
use super::queue::{Places, Tag};
use crate::policy::Slot;

/// Slots by key. Like a queue it has a tag of its own within its [`Places`].
#[derive(Debug)]
pub struct SlotHeap<K> {
    tag: Tag,
    keys: Vec<K>,
    /// Lower bounds of the keys.
    order: BinaryHeap<Reverse<(K, Slot)>>,
    len: u32,
}

impl<K: Copy + Ord + Default> SlotHeap<K> {
    /// An empty heap of slots below `slots`, all with the default key.
    pub fn new(tag: Tag, slots: u32) -> SlotHeap<K> {
        let keys = large::filled(K::default(), slots as usize);
        SlotHeap { tag, keys, order: BinaryHeap::new(), len: 0 }
    }

    /// Makes room for slots below `slots`, of which at most `bound` are in the heap.
    pub fn grow(&mut self, slots: u32, bound: u32) {
        self.keys.resize(self.keys.len().max(slots as usize), K::default());
        self.order.reserve_exact((2 * bound as usize).saturating_sub(self.order.len()));
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
        prefetch(&self.keys, slot as usize);
    }

    /// The key of `slot`, in the heap or not.
    #[inline(always)]
    pub fn key(&self, slot: Slot) -> K {
        self.keys[slot as usize]
    }

    /// Sets the key of `slot`. In the heap it must not be lowered.
    #[inline(always)]
    pub fn set_key(&mut self, slot: Slot, key: K) {
        self.keys[slot as usize] = key;
    }

    /// Adds `slot`, which is nowhere.
    #[inline(always)]
    pub fn insert(&mut self, places: &mut Places, slot: Slot, key: K) {
        if self.order.len() == self.order.capacity() {
            self.change(places, |key| key);
        }
        places.put(slot, self.tag, 0);
        self.keys[slot as usize] = key;
        self.order.push(Reverse((key, slot)));
        self.len += 1;
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
        loop {
            let mut top = self.order.peek_mut()?;
            let Reverse((bound, slot)) = *top;
            if places.tag(slot) != self.tag {
                PeekMut::pop(top);
                continue;
            }
            let key = self.keys[slot as usize];
            if bound == key {
                return Some(slot);
            }
            *top = Reverse((key, slot));
        }
    }

    /// Takes out the slot with the least key. Its key stays.
    #[inline(always)]
    pub fn pop_least(&mut self, places: &mut Places) -> Option<Slot> {
        let least = self.least(places)?;
        self.order.pop();
        self.take(places, least);
        Some(least)
    }

    /// Changes the keys of all slots in the heap, which may also be lowered, and sweeps out entries of slots that are not.
    #[cold]
    pub fn change(&mut self, places: &Places, mut new: impl FnMut(K) -> K) {
        let mut entries = std::mem::take(&mut self.order).into_vec();
        entries.retain(|&Reverse((_, slot))| places.tag(slot) == self.tag);
        entries.sort_unstable_by_key(|&Reverse((_, slot))| slot);
        entries.dedup_by_key(|&mut Reverse((_, slot))| slot);
        for Reverse((bound, slot)) in &mut entries {
            let key = &mut self.keys[*slot as usize];
            *key = new(*key);
            *bound = *key;
        }
        self.order = entries.into();
    }

    /// Panics unless every slot that claims to be in the heap has an entry that is no more than its key.
    pub fn validate(&self, places: &Places) {
        let bounded = |&&Reverse((bound, slot)): &&Reverse<(K, Slot)>| {
            places.tag(slot) == self.tag && bound <= self.keys[slot as usize]
        };
        let mut bounded: Vec<Slot> = self.order.iter().filter(bounded).map(|entry| entry.0.1).collect();
        bounded.sort_unstable();
        bounded.dedup();
        let claiming: Vec<Slot> = (0..places.slots()).filter(|&slot| places.tag(slot) == self.tag).collect();
        assert_eq!(bounded, claiming, "slots without a lower bound of their key");
        assert_eq!(claiming.len(), self.len as usize, "the heap miscounts its slots");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::random::Random;

    /// Keys drawn low and high, so that slots come back below and above the entries they left behind.
    #[test]
    fn the_least_true_key_leaves_first() {
        const SLOTS: u32 = 12;
        let mut random = Random::new(3);
        let mut places = Places::new(SLOTS);
        let mut heap = SlotHeap::new(0, SLOTS);
        heap.grow(SLOTS, 8);
        let mut model = std::collections::BTreeMap::new();
        for step in 0..50_000u64 {
            let slot = random.below(SLOTS);
            let drawn = u64::from(random.below(1000)) << 32 | step;
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
                    let least = model.iter().min_by_key(|(_, key)| **key).map(|(slot, _)| *slot);
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
        assert!(heap.order.capacity() < 32, "entries left behind are swept out");
    }
}
