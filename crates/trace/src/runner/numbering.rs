//! Numbers for things that a trace calls by name: files, devices, applications.

use std::{borrow::Borrow, collections::HashMap, hash::Hash};

use foldhash::fast::FixedState;

use super::Malformed;

/// Numbers keys from 0 in the order in which they are first met.
pub struct Numbering<K: ?Sized + ToOwned> {
    known: HashMap<K::Owned, u32, FixedState>,
    /// The key of the last call: most requests go where the one before went.
    last: Option<(K::Owned, u32)>,
}

impl<K: ?Sized + ToOwned> Default for Numbering<K> {
    fn default() -> Numbering<K> {
        Numbering { known: HashMap::default(), last: None }
    }
}

impl<K> Numbering<K>
where
    K: ?Sized + ToOwned + Hash + Eq,
    K::Owned: Hash + Eq,
{
    /// The number of `key`, which is new if it equals the count of keys met before.
    #[inline]
    pub fn of(&mut self, key: &K) -> Result<u32, Malformed> {
        match &self.last {
            Some((last, number)) if last.borrow() == key => Ok(*number),
            _ => self.look_up(key),
        }
    }

    fn look_up(&mut self, key: &K) -> Result<u32, Malformed> {
        let number = match self.known.get(key) {
            Some(number) => *number,
            None => {
                let number = u32::try_from(self.known.len()).map_err(|_| "found the 2^32nd name; expected fewer")?;
                self.known.insert(key.to_owned(), number);
                number
            }
        };
        match &mut self.last {
            Some((last, last_number)) => {
                key.clone_into(last);
                *last_number = number;
            }
            None => self.last = Some((key.to_owned(), number)),
        }
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_from_zero_in_order_of_appearance() {
        let mut names = Numbering::<[u8]>::default();
        let numbers: Vec<u32> = "b a b b c a".split(' ').map(|name| names.of(name.as_bytes()).unwrap()).collect();
        assert_eq!(numbers, [0, 1, 0, 0, 2, 1]);
    }
}
