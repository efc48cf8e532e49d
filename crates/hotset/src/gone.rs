//! Values that leave a shard, until its lock is released: keys and values are dropped, and the listener is called,
//! outside of it.

use std::mem;

/// The reason for which a value has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The policy has evicted it, because other values took its place or the capacity was lowered.
    Capacity,
    /// Its time to live or to idle has ended.
    Expired,
    /// Another value was inserted under its key.
    Replaced,
    /// [`remove`](crate::Cache::remove) has taken it out.
    Removed,
    /// [`invalidate_if`](crate::Cache::invalidate_if) or [`clear`](crate::Cache::clear) has taken it out.
    Invalidated,
    /// It was never resident: the policy has bypassed it, or it weighs too much.
    Rejected,
}

/// Keys and values that have left.
pub(crate) struct Gone<K, V> {
    /// Mostly there is one at most, which needs no memory.
    first: Option<(K, V, Reason)>,
    more: Vec<(K, V, Reason)>,
}

impl<K, V> Default for Gone<K, V> {
    fn default() -> Gone<K, V> {
        Gone { first: None, more: Vec::new() }
    }
}

impl<K, V> Gone<K, V> {
    #[inline(always)]
    pub fn push(&mut self, key: K, value: V, reason: Reason) {
        match &self.first {
            None => self.first = Some((key, value, reason)),
            Some(_) => self.more.push((key, value, reason)),
        }
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Takes the last value out if it has left for this reason.
    pub fn pop(&mut self, reason: Reason) -> Option<(K, V)> {
        let last = match self.more.last() {
            Some((.., own)) if *own == reason => self.more.pop(),
            None if self.first.as_ref().is_some_and(|(.., own)| *own == reason) => mem::take(&mut self.first),
            _ => None,
        };
        last.map(|(key, value, _)| (key, value))
    }

    /// Returns them in the order in which they have left.
    pub fn into_iter(self) -> impl Iterator<Item = (K, V, Reason)> {
        self.first.into_iter().chain(self.more)
    }
}
