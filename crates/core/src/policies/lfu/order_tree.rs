//! Slots in the order of their keys, with ranks: how many are greater than one, and which one has so many greater ones.
//!
//! A treap: a tree in the order of keys that is a heap by numbers drawn from the slots, so that it is as deep as a
//! random tree whatever comes. O(log n) each.

use crate::parts::slot_heap::Key;
use crate::policy::Slot;

const NONE: u32 = u32::MAX;

/// Slots by key, the greatest first. Keys are distinct. 12 bytes a slot and a key.
#[derive(Debug, Default)]
pub struct OrderTree<K> {
    nodes: Vec<Node<K>>,
    root: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node<K> {
    key: K,
    left: u32,
    right: u32,
    size: u32,
}

impl<K: Key> OrderTree<K> {
    /// An empty tree of slots below `slots`.
    pub fn new(slots: u32) -> OrderTree<K> {
        let mut tree = OrderTree { nodes: Vec::new(), root: NONE };
        tree.grow(slots);
        tree
    }

    /// Grows to hold slots below `slots`.
    pub fn grow(&mut self, slots: u32) {
        let node = Node { key: K::default(), left: NONE, right: NONE, size: 0 };
        self.nodes.resize(self.nodes.len().max(slots as usize), node);
    }

    /// Slots in the tree.
    pub fn len(&self) -> u32 {
        self.size(self.root)
    }

    /// Adds `slot`, which is not in the tree.
    pub fn insert(&mut self, slot: Slot, key: K) {
        self.nodes[slot as usize] = Node { key, left: NONE, right: NONE, size: 1 };
        let (greater, less) = self.split(self.root, key);
        let with = self.merge(greater, slot);
        self.root = self.merge(with, less);
    }

    /// Takes out `slot`, which is in the tree.
    pub fn remove(&mut self, slot: Slot) {
        let key = self.nodes[slot as usize].key;
        self.root = self.without(self.root, slot, key);
    }

    /// Slots with greater keys than `slot`, which is in the tree.
    pub fn rank(&self, slot: Slot) -> u32 {
        let key = self.nodes[slot as usize].key;
        let (mut at, mut rank) = (self.root, 0);
        while at != slot {
            let node = &self.nodes[at as usize];
            if node.key > key {
                rank += self.size(node.left) + 1;
                at = node.right;
            } else {
                at = node.left;
            }
        }
        rank + self.size(self.nodes[slot as usize].left)
    }

    /// The slot with `rank` greater ones.
    pub fn at(&self, rank: u32) -> Option<Slot> {
        let (mut at, mut left) = (self.root, rank);
        while at != NONE {
            let node = &self.nodes[at as usize];
            let greater = self.size(node.left);
            match left.cmp(&greater) {
                std::cmp::Ordering::Less => at = node.left,
                std::cmp::Ordering::Equal => return Some(at),
                std::cmp::Ordering::Greater => {
                    left -= greater + 1;
                    at = node.right;
                }
            }
        }
        None
    }

    fn size(&self, at: u32) -> u32 {
        self.nodes.get(at as usize).map_or(0, |node| node.size)
    }

    fn update(&mut self, at: u32) {
        let Node { left, right, .. } = self.nodes[at as usize];
        self.nodes[at as usize].size = self.size(left) + self.size(right) + 1;
    }

    /// The part of the tree at `at` with greater keys than `key`, and the rest.
    fn split(&mut self, at: u32, key: K) -> (u32, u32) {
        if at == NONE {
            return (NONE, NONE);
        }
        let node = self.nodes[at as usize];
        if node.key > key {
            let (greater, less) = self.split(node.right, key);
            self.nodes[at as usize].right = greater;
            self.update(at);
            (at, less)
        } else {
            let (greater, less) = self.split(node.left, key);
            self.nodes[at as usize].left = less;
            self.update(at);
            (greater, at)
        }
    }

    /// One tree of two, the first of which has the greater keys.
    fn merge(&mut self, one: u32, other: u32) -> u32 {
        if one == NONE || other == NONE {
            return if one == NONE { other } else { one };
        }
        if weight(one) > weight(other) {
            let right = self.merge(self.nodes[one as usize].right, other);
            self.nodes[one as usize].right = right;
            self.update(one);
            one
        } else {
            let left = self.merge(one, self.nodes[other as usize].left);
            self.nodes[other as usize].left = left;
            self.update(other);
            other
        }
    }

    fn without(&mut self, at: u32, slot: Slot, key: K) -> u32 {
        let Node { left, right, .. } = self.nodes[at as usize];
        if at == slot {
            return self.merge(left, right);
        }
        if self.nodes[at as usize].key > key {
            self.nodes[at as usize].right = self.without(right, slot, key);
        } else {
            self.nodes[at as usize].left = self.without(left, slot, key);
        }
        self.update(at);
        at
    }
}

/// A number drawn from the slot, the same every time.
fn weight(slot: Slot) -> u64 {
    crate::random::Rng::new(slot.into()).bits()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::Rng;

    #[test]
    fn does_what_a_sorted_list_does() {
        let mut random = Rng::new(3);
        let (mut tree, mut model) = (OrderTree::<u64>::new(300), BTreeMap::new());
        for round in 0..20_000u64 {
            let slot = random.below(300);
            let old = model.iter().find(|(_, other)| **other == slot).map(|(&key, _)| key);
            if let Some(old) = old {
                tree.remove(slot);
                model.remove(&old);
            }
            if old.is_none() || round % 3 > 0 {
                let key = u64::from(random.below(50)) << 32 | round;
                tree.insert(slot, key);
                model.insert(key, slot);
            }
            let rank = random.below(300);
            let expected = model.values().rev().nth(rank as usize).copied();
            assert_eq!(tree.at(rank), expected);
            assert_eq!(expected.map_or(rank, |slot| tree.rank(slot)), rank);
            assert_eq!(tree.len() as usize, model.len());
        }
    }
}
