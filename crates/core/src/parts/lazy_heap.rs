//! A heap for keys that only grow: raising one is a single write.
//!
//! The heap orders its items by the keys they had when it last looked at them. These are lower bounds, so the item at the top is the
//! least once its key there is its true one; until then the top is set right and sinks. Each such step is paid for by a raise.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::policy::Slot;

/// Number of an item, as long as it is in the heap.
pub type Index = usize;

/// In place of the slot of an item that was removed but is still in `order`.
const REMOVED: Slot = Slot::MAX;

#[derive(Clone, Copy, Debug)]
struct Item<K> {
    key: K,
    slot: Slot,
}

/// Slots by key.
#[derive(Debug)]
pub struct LazyHeap<K> {
    items: Vec<Item<K>>,
    /// Lower bounds of the keys.
    order: BinaryHeap<Reverse<(K, u32)>>,
    /// Unused places in `items`.
    free: Vec<u32>,
    len: u32,
}

impl<K: Copy + Ord> LazyHeap<K> {
    /// An empty heap that will hold at most `bound` slots.
    pub fn new(bound: u32) -> LazyHeap<K> {
        let mut heap = LazyHeap { items: Vec::new(), order: BinaryHeap::new(), free: Vec::new(), len: 0 };
        heap.grow(bound);
        heap
    }

    /// Makes room for `bound` slots. Removed items may take up as much again before they are swept out.
    pub fn grow(&mut self, bound: u32) {
        let places = 2 * bound as usize;
        self.items.reserve(places.saturating_sub(self.items.len()));
        self.order.reserve(places.saturating_sub(self.order.len()));
        self.free.reserve(places.saturating_sub(self.free.len()));
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

    /// Adds `slot`.
    #[inline(always)]
    pub fn insert(&mut self, slot: Slot, key: K) -> Index {
        if self.free.is_empty() && self.items.len() == self.items.capacity() {
            self.sweep();
        }
        let item = Item { key, slot };
        let index = match self.free.pop() {
            Some(index) => {
                self.items[index as usize] = item;
                index
            }
            None => {
                self.items.push(item);
                self.items.len() as u32 - 1
            }
        };
        self.order.push(Reverse((key, index)));
        self.len += 1;
        index as Index
    }

    /// The slot of item `index`.
    pub fn slot(&self, index: Index) -> Slot {
        self.items[index].slot
    }

    /// The key of item `index`. It must not be lowered.
    #[inline(always)]
    pub fn key_mut(&mut self, index: Index) -> &mut K {
        &mut self.items[index].key
    }

    /// Takes item `index` out.
    pub fn remove(&mut self, index: Index) {
        self.items[index].slot = REMOVED;
        self.len -= 1;
    }

    /// Takes out the slot with the least key.
    pub fn pop_least(&mut self) -> Option<Slot> {
        while let Some(mut top) = self.order.peek_mut() {
            let Reverse((bound, index)) = *top;
            let Item { key, slot } = self.items[index as usize];
            if slot != REMOVED && bound < key {
                *top = Reverse((key, index));
                continue;
            }
            PeekMut::pop(top);
            self.free.push(index);
            if slot != REMOVED {
                self.len -= 1;
                return Some(slot);
            }
        }
        None
    }

    /// Panics if a bound lies above its key or items are miscounted.
    pub fn validate(&self) {
        assert_eq!(self.order.len() + self.free.len(), self.items.len(), "items that are neither ordered nor free");
        let held = |&Reverse((bound, index)): &Reverse<(K, u32)>| {
            let Item { key, slot } = &self.items[index as usize];
            assert!(*slot == REMOVED || bound <= *key, "a key was lowered");
            *slot != REMOVED
        };
        assert_eq!(self.order.iter().filter(|entry| held(entry)).count(), self.len as usize, "slots are miscounted");
    }

    /// Frees the places of removed items.
    #[cold]
    fn sweep(&mut self) {
        let LazyHeap { items, order, free, .. } = self;
        order.retain(|&Reverse((_, index))| {
            let held = items[index as usize].slot != REMOVED;
            if !held {
                free.push(index);
            }
            held
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::random::Random;

    #[test]
    fn the_least_true_key_leaves_first() {
        let mut random = Random::new(3);
        let mut heap = LazyHeap::new(8);
        let mut model: Vec<(u64, Slot, Index)> = Vec::new();
        for step in 0..20_000u32 {
            let full = model.len() == 8;
            match random.below(4) {
                0 if !full => {
                    let key = u64::from(random.below(1000)) << 32 | u64::from(step);
                    model.push((key, step, heap.insert(step, key)));
                }
                1 if !model.is_empty() => {
                    let chosen = random.below(model.len() as u32) as usize;
                    heap.remove(model.swap_remove(chosen).2);
                }
                2 if !model.is_empty() => {
                    let (key, _, index) = model.iter_mut().min().unwrap();
                    *key += u64::from(random.below(1000)) << 32;
                    *heap.key_mut(*index) = *key;
                }
                _ if full => {
                    let least = model.iter().enumerate().min_by_key(|(_, entry)| **entry).unwrap().0;
                    assert_eq!(heap.pop_least(), Some(model.swap_remove(least).1));
                }
                _ => {}
            }
            heap.validate();
            assert_eq!(heap.len() as usize, model.len());
        }
        assert!(heap.items.capacity() < 64, "removed items are swept out");
    }
}
