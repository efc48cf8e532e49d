//! Things by key, of which those leave that were not used for longest once there are too many.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// At most so many things, with the number of their last use.
pub(crate) struct Recent<K, V> {
    most: usize,
    uses: u64,
    things: HashMap<K, (u64, V)>,
    by_use: BTreeMap<u64, K>,
}

impl<K: Clone + Eq + Hash, V> Recent<K, V> {
    pub fn new(most: usize) -> Recent<K, V> {
        Recent { most, uses: 0, things: HashMap::new(), by_use: BTreeMap::new() }
    }

    /// The thing of a key, which is used by that.
    pub fn get(&mut self, key: &K) -> Option<&V> {
        let (last, thing) = self.things.get_mut(key)?;
        self.uses += 1;
        let key = self.by_use.remove(last)?;
        *last = self.uses;
        self.by_use.insert(self.uses, key);
        Some(thing)
    }

    /// Puts a thing in, in place of the one of this key.
    pub fn insert(&mut self, key: K, thing: V) {
        self.uses += 1;
        if let Some((last, _)) = self.things.insert(key.clone(), (self.uses, thing)) {
            self.by_use.remove(&last);
        }
        self.by_use.insert(self.uses, key);
        while self.things.len() > self.most
            && let Some((_, key)) = self.by_use.pop_first()
        {
            self.things.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_unused_leaves() {
        let mut recent = Recent::new(2);
        recent.insert("a", 1);
        recent.insert("b", 2);
        assert_eq!(recent.get(&"a"), Some(&1));
        recent.insert("c", 3);
        assert_eq!(["a", "b", "c"].map(|key| recent.get(&key).copied()), [Some(1), None, Some(3)]);
        recent.insert("c", 4);
        assert_eq!(["a", "c"].map(|key| recent.get(&key).copied()), [Some(1), Some(4)]);
    }
}
