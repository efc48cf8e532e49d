//! The cache: its handles, and single references.

pub(crate) mod builder;
mod load;
#[cfg(feature = "record")]
pub(crate) mod record;
pub(crate) mod sampler;
mod whole;

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use foldhash::fast::FixedState;
use hotset_core::policy::{Capabilities, Policy};

use crate::cache::builder::{Builder, Clock, Listener, Weigher, in_nanos};
use crate::cache::load::LoadCounts;
use crate::cache::sampler::Sampler;
use crate::engine::{ByName, Engine};
use crate::entries::NEVER;
use crate::error::SetupError;
use crate::flight::Waits;
use crate::gone::{Gone, Reason};
use crate::recipe::Recipe;
use crate::shard::Shard;
use crate::state::{Insert, State};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Exclusive};

/// A concurrent cache of values by keys, under a policy.
///
/// Clones are handles of one cache. A value is returned as a clone, so put large values into an
/// [`Arc`](std::sync::Arc). `Eq` of keys and `Clone` of values run under the lock of a shard, and must not use the
/// cache. A panic in the caller's code (`Hash`, `Eq`, `Clone`, `Drop`, loader, weigher, listener) ends only that call.
///
/// The policy is chosen by its name ([`Cache::builder`]), or by its type ([`Cache::typed`]).
pub struct Cache<K, V, P = ByName> {
    pub(crate) inner: Arc<Inner<K, V, P>>,
}

/// The data of a cache, which its handles share.
pub(crate) struct Inner<K, V, P> {
    pub hasher: FixedState,
    /// Number of shards less 1.
    pub mask: u64,
    pub shards: Box<[Shard<K, V, P>]>,
    /// Nanoseconds until values end after their insertion; [`NEVER`] if they do not.
    pub life: u64,
    /// The same after the last use.
    pub idle: u64,
    pub clock: Box<Clock>,
    pub weigher: Option<Box<Weigher<K, V>>>,
    pub listener: Option<Box<Listener<K, V>>>,
    pub sampler: Option<Sampler>,
    /// Hits and misses by tenant.
    pub tenants: Box<[[AtomicU64; 2]]>,
    pub recipe: Recipe,
    pub loads: LoadCounts,
    pub waits: Waits,
    #[cfg(feature = "record")]
    pub recorder: crate::cache::record::Slot,
}

/// Keys of a batch whose data is fetched at once.
const AHEAD: usize = 32;

/// Optional facts of a reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The number of the tenant that makes the reference: its place in [`Builder::tenants`].
    pub tenant: u32,
    /// The time after which an inserted value ends; [`Builder::time_to_live`] if absent.
    pub life: Option<Duration>,
}

impl<K, V> Cache<K, V> {
    /// Returns the settings of a cache under a policy as `hotset policies` lists them, perhaps with arguments:
    /// `"lru"`, `"s3-fifo(small=20%)"`.
    pub fn builder(policy: &str) -> Builder<K, V> {
        Builder::named(policy)
    }
}

impl<K, V, P: Policy + Capabilities + 'static> Cache<K, V, P> {
    /// Returns the settings of a cache under a policy whose type is known, which saves indirect calls. The type may be
    /// defined outside of hotset. A weigher makes such a policy evict by count until the weights fit; policies that
    /// weigh values by themselves are chosen by name.
    pub fn typed() -> Builder<K, V, P> {
        Builder::typed()
    }
}

impl<K, V, P> Clone for Cache<K, V, P> {
    /// Returns another handle of the same cache.
    fn clone(&self) -> Cache<K, V, P> {
        Cache { inner: self.inner.clone() }
    }
}

impl<K, V, P> Cache<K, V, P> {
    pub(crate) fn of(inner: Inner<K, V, P>) -> Cache<K, V, P> {
        Cache { inner: Arc::new(inner) }
    }
}

impl<K, V, P: Engine> fmt::Debug for Cache<K, V, P>
where
    K: Hash + Eq,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { recipe, shards, .. } = &*self.inner;
        f.debug_struct("Cache")
            .field("policy", &recipe.spec.to_string())
            .field("capacity", &self.capacity())
            .field("shards", &shards.len())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl<K, V, P> Inner<K, V, P> {
    #[inline(always)]
    pub fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Returns the shard of a hash. The index of a shard uses the lowest and the highest bits, so others choose it.
    #[inline(always)]
    pub fn shard(&self, hash: u64) -> &Shard<K, V, P> {
        &self.shards[((hash >> 40) & self.mask) as usize]
    }

    /// Returns the present time if values may end.
    #[inline(always)]
    pub fn now(&self, may_end: bool) -> u64 {
        if may_end { in_nanos((self.clock)()) } else { 0 }
    }

    /// Counts a reference for a tenant.
    #[inline(always)]
    pub fn count(&self, tenant: u32, is_hit: bool) {
        if let Some(counts) = self.tenants.get(tenant as usize) {
            counts[usize::from(!is_hit)].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Ends an exclusive hold of a shard's lock, and hands over what has left.
    #[inline(always)]
    pub fn release(&self, mut state: Exclusive<'_, State<K, V, P>>) {
        let gone = if state.host.entries.gone.is_empty() { None } else { Some(state.host.entries.take_gone()) };
        let detached = state.loads.take_detached();
        drop(state);
        drop(detached);
        if let Some(gone) = gone {
            self.deliver(gone);
        }
    }

    /// Hands over what has left.
    fn deliver(&self, gone: Gone<K, V>) {
        match &self.listener {
            None => drop(gone),
            Some(listener) => gone.into_iter().for_each(|(key, value, reason)| listener(key, value, reason)),
        }
    }
}

impl<K: Hash + Eq, V, P: Engine> Inner<K, V, P> {
    /// True if a sample or a recording has references to the key of this hash.
    #[inline(always)]
    fn is_noted(&self, hash: u64) -> bool {
        #[cfg(feature = "record")]
        if self.recorder.is_on() {
            return true;
        }
        self.sampler.as_ref().is_some_and(|sampler| sampler.has(hash))
    }

    /// Notes a reference of the policy in the sample and the recording. No lock of a shard may be held.
    #[inline(always)]
    pub fn note(&self, hash: u64, weight: u64, tenant: u32, is_hit: bool) {
        if self.is_noted(hash) {
            self.add_note(hash, weight, tenant, is_hit);
        }
    }

    #[cold]
    fn add_note(&self, hash: u64, weight: u64, tenant: u32, is_hit: bool) {
        if let Some(sampler) = &self.sampler
            && sampler.has(hash)
        {
            sampler.push(hash, weight, is_hit, || self.totals());
        }
        #[cfg(feature = "record")]
        self.recorder.push(hash, weight, tenant);
        #[cfg(not(feature = "record"))]
        let _ = tenant;
    }

    /// Returns the hits and misses so far.
    pub fn totals(&self) -> [u64; 2] {
        let of = |shard: &Shard<K, V, P>| {
            let hits = shard.read().map_or(0, |state| state.counts.hits + state.log.count());
            [hits, shard.misses.load(Ordering::Relaxed)]
        };
        self.shards.iter().map(of).fold([0, 0], |all, one| [all[0] + one[0], all[1] + one[1]])
    }

    /// Finds a value and notes a hit or a miss.
    #[inline]
    pub fn look<Q: Hash + Eq + ?Sized>(&self, hash: u64, key: &Q, tenant: u32) -> Option<V>
    where
        K: Borrow<Q>,
        V: Clone,
    {
        let shard = self.shard(hash);
        let miss = || {
            shard.misses.fetch_add(1, Ordering::Relaxed);
            self.count(tenant, false);
        };
        let state = shard.read()?;
        let entries = &state.host.entries;
        let Some((slot, (_, value))) = entries.find(hash, key).and_then(|slot| Some((slot, entries.pair(slot)?)))
        else {
            drop(state);
            miss();
            return None;
        };
        let now = self.now(entries.may_end());
        if entries.may_end() && entries.has_ended(slot, now, self.idle) {
            drop(state);
            miss();
            self.expire(shard, hash, key);
            return None;
        }
        let value = value.clone();
        entries.touch(slot, now);
        let noted = self.is_noted(hash).then(|| entries.weight_of(slot));
        let is_full = state.hit(slot, tenant);
        drop(state);
        self.count(tenant, true);
        if let Some(weight) = noted {
            self.add_note(hash, weight, tenant, true);
        }
        if is_full && let Some(state) = shard.try_write() {
            self.release(state);
        }
        Some(value)
    }

    /// Takes out the value of a key if it has ended.
    #[cold]
    fn expire<Q: Eq + ?Sized>(&self, shard: &Shard<K, V, P>, hash: u64, key: &Q)
    where
        K: Borrow<Q>,
    {
        if let Some(mut state) = shard.write() {
            state.find(hash, key, self.now(true), self.idle);
            self.release(state);
        }
    }

    /// Returns the weight of a value.
    #[inline(always)]
    pub fn weigh(&self, key: &K, value: &V) -> u64 {
        self.weigher.as_ref().map_or(1, |weigher| weigher(key, value))
    }

    /// Returns the facts of an insertion. Runs the weigher, so no lock may be held.
    #[inline(always)]
    pub fn insertion(&self, hash: u64, key: K, value: V, facts: Facts) -> Insert<K, V> {
        let weight = self.weigh(&key, &value);
        let life = facts.life.map_or(self.life, in_nanos);
        Insert { hash, key, value, weight, life, now: 0, tenant: facts.tenant }
    }

    /// Puts a value into its shard, and releases the shard. Returns true if it has replaced one.
    #[inline(always)]
    pub fn put(&self, mut state: Exclusive<'_, State<K, V, P>>, insert: Insert<K, V>) -> bool {
        let now = self.now(insert.life < NEVER || state.host.entries.may_end());
        let is_replaced = state.insert(Insert { now, ..insert }, self.idle);
        self.release(state);
        is_replaced
    }
}

impl<K: Hash + Eq, V: Clone, P: Engine> Cache<K, V, P> {
    /// Returns the value of a key, if it is resident. That is a reference. A key that is not resident is referenced
    /// once it is inserted.
    #[inline]
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.inner.look(self.inner.hash(key), key, 0)
    }

    /// [`get`](Cache::get) for a tenant.
    #[inline]
    pub fn get_with<Q: Hash + Eq + ?Sized>(&self, key: &Q, facts: Facts) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.inner.look(self.inner.hash(key), key, facts.tenant)
    }

    /// Returns the value of a key, if it is resident, without a reference.
    pub fn peek<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.peek_at(key, V::clone)
    }

    /// Takes a value out. The policy forgets the key. A load of the key that is under way goes on, but its value does
    /// not enter the cache.
    pub fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let hash = self.inner.hash(key);
        let mut state = self.inner.shard(hash).write()?;
        let now = self.inner.now(state.host.entries.may_end());
        let found = state.find(hash, key, now, self.inner.idle);
        state.loads.detach(hash, key);
        // Before anything changes: `Clone` may panic.
        let entries = &state.host.entries;
        let shown = found.filter(|_| self.inner.listener.is_some()).and_then(|slot| entries.pair(slot));
        let shown = shown.map(|(_, value)| value.clone());
        let mut value = shown;
        if let Some(slot) = found {
            state.take(slot, Reason::Removed);
            if value.is_none() {
                let pair = state.host.entries.gone.pop(Reason::Removed);
                self.inner.release(state);
                return pair.map(|(_, value)| value);
            }
        }
        self.inner.release(state);
        value.take()
    }
}

impl<K: Hash + Eq, V, P: Engine> Cache<K, V, P> {
    /// Calls `show` with the value of a key, if it is resident, without a reference. `show` runs under a lock and must
    /// not use the cache.
    pub(crate) fn peek_at<Q: Hash + Eq + ?Sized, R>(&self, key: &Q, show: impl FnOnce(&V) -> R) -> Option<R>
    where
        K: Borrow<Q>,
    {
        let hash = self.inner.hash(key);
        let state = self.inner.shard(hash).read()?;
        let entries = &state.host.entries;
        let slot = entries.find(hash, key)?;
        if entries.may_end() && entries.has_ended(slot, self.inner.now(true), self.inner.idle) {
            return None;
        }
        entries.pair(slot).map(|(_, value)| show(value))
    }

    /// True if a key has a resident value. Not a reference.
    pub fn contains<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.peek_at(key, |_| ()).is_some()
    }

    /// Puts a value in, which is a reference. Returns true if it has replaced one. The policy may decide not to keep
    /// the value; a value that is heavier than a shard's capacity never stays. The listener receives such a value.
    #[inline]
    pub fn insert(&self, key: K, value: V) -> bool {
        self.insert_with(key, value, Facts::default())
    }

    /// [`insert`](Cache::insert) with facts: a tenant, or a time after which the value ends.
    pub fn insert_with(&self, key: K, value: V, facts: Facts) -> bool {
        let hash = self.inner.hash(&key);
        let insert = self.inner.insertion(hash, key, value, facts);
        let weight = insert.weight;
        let Some(state) = self.inner.shard(hash).write() else {
            // Inside a closure that this shard runs, which reports the call.
            self.inner.reject(insert.key, insert.value);
            return false;
        };
        let is_replaced = self.inner.put(state, insert);
        self.inner.note(hash, weight, facts.tenant, is_replaced);
        is_replaced
    }

    /// References a key once. Returns true if it has a resident value; if not, `value` is put in.
    pub fn access(&self, key: K, value: V) -> bool {
        let hash = self.inner.hash(&key);
        let insert = self.inner.insertion(hash, key, value, Facts::default());
        let weight = insert.weight;
        let Some(state) = self.inner.shard(hash).write() else {
            self.inner.reject(insert.key, insert.value);
            return false;
        };
        let is_hit = self.inner.access(state, insert);
        self.inner.note(hash, weight, 0, is_hit);
        is_hit
    }

    /// [`access`](Cache::access) for keys one after the other, each with its value. Returns true for those that had
    /// one. With one shard and without a weigher it is faster than as many calls: the data of several keys is
    /// fetched at once.
    pub fn access_many(&self, pairs: impl IntoIterator<Item = (K, V)>) -> Vec<bool> {
        let mut pairs = pairs.into_iter();
        let mut hits = Vec::with_capacity(pairs.size_hint().0);
        if self.inner.mask != 0 || self.inner.weigher.is_some() {
            hits.extend(pairs.map(|(key, value)| self.access(key, value)));
            return hits;
        }
        let insertion = |(key, value)| self.inner.insertion(self.inner.hash(&key), key, value, Facts::default());
        loop {
            let ahead: Vec<_> = pairs.by_ref().take(AHEAD).map(insertion).collect();
            if ahead.is_empty() {
                return hits;
            }
            self.inner.access_all(ahead, &mut hits);
        }
    }

    /// Keeps the value of a key resident until [`unpin`](Cache::unpin), [`remove`](Cache::remove) or its end. Its
    /// weight still counts. Returns false if the key has no resident value. Fails if the other values would have
    /// too little space.
    pub fn pin<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Result<bool, SetupError>
    where
        K: Borrow<Q>,
    {
        self.at(key, |state, slot| state.pin(slot).map(|()| true)).unwrap_or(Ok(false))
    }

    /// Lets the policy evict the value of a key again. Returns true if it was pinned.
    pub fn unpin<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        let unpin = |state: &mut State<K, V, P>, slot| {
            let was_pinned = state.host.entries.pinned.contains(&slot);
            state.unpin(slot);
            was_pinned
        };
        self.at(key, unpin).unwrap_or(false)
    }

    /// Changes the shard and slot of a key, if it has a resident value.
    fn at<Q: Hash + Eq + ?Sized, R>(&self, key: &Q, work: impl FnOnce(&mut State<K, V, P>, u32) -> R) -> Option<R>
    where
        K: Borrow<Q>,
    {
        let hash = self.inner.hash(key);
        let mut state = self.inner.shard(hash).write()?;
        let now = self.inner.now(state.host.entries.may_end());
        let found = state.find(hash, key, now, self.inner.idle);
        let done = found.map(|slot| work(&mut state, slot));
        self.inner.release(state);
        done
    }
}

impl<K: Hash + Eq, V, P: Engine> Inner<K, V, P> {
    /// References a key once in its shard, and releases the shard.
    #[inline(always)]
    fn access(&self, mut state: Exclusive<'_, State<K, V, P>>, insert: Insert<K, V>) -> bool {
        let unused = self.access_locked(&mut state, insert);
        self.release(state);
        unused.is_some()
    }

    /// References a key once. Returns the insertion if the key has a value.
    #[inline(always)]
    fn access_locked(&self, state: &mut State<K, V, P>, insert: Insert<K, V>) -> Option<Insert<K, V>> {
        let now = self.now(insert.life < NEVER || state.host.entries.may_end());
        match state.find(insert.hash, &insert.key, now, self.idle) {
            Some(slot) => {
                state.host.entries.touch(slot, now);
                state.hit(slot, insert.tenant);
                state.replay();
                Some(insert)
            }
            None => {
                self.shard(insert.hash).misses.fetch_add(1, Ordering::Relaxed);
                state.insert(Insert { now, ..insert }, self.idle);
                None
            }
        }
    }

    /// References keys one after the other in the only shard.
    fn access_all(&self, all: Vec<Insert<K, V>>, hits: &mut Vec<bool>) {
        let Some(mut state) = self.shards[0].write() else {
            hits.extend(all.iter().map(|_| false));
            all.into_iter().for_each(|insert| self.reject(insert.key, insert.value));
            return;
        };
        all.iter().for_each(|insert| state.fetch(insert.hash));
        let before = hits.len();
        let hashes: Vec<u64> = all.iter().map(|insert| insert.hash).collect();
        let mut unused = Vec::with_capacity(all.len());
        for insert in all {
            let found = self.access_locked(&mut state, insert);
            hits.push(found.is_some());
            unused.extend(found);
        }
        self.release(state);
        for (hash, is_hit) in hashes.into_iter().zip(&hits[before..]) {
            self.note(hash, 1, 0, *is_hit);
        }
    }

    /// Hands over a value that was not put in.
    fn reject(&self, key: K, value: V) {
        if let Some(listener) = &self.listener {
            listener(key, value, Reason::Rejected);
        }
    }
}
