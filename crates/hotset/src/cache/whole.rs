//! The cache: what concerns all of its values.

use std::hash::Hash;

use crate::cache::Cache;
use crate::engine::Engine;
use crate::error::SetupError;
use crate::gone::Reason;
use crate::shard::Shard;
use crate::state::State;
use crate::stats::{Stats, TenantStats};
use crate::sync::atomic::Ordering;

impl<K: Hash + Eq + Clone, V: Clone, P: Engine> Cache<K, V, P> {
    /// Returns clones of the keys and values that are resident, in no order. Each shard is copied at one moment, when
    /// the iterator reaches it.
    pub fn iter(&self) -> impl Iterator<Item = (K, V)> {
        (0..self.inner.shards.len()).flat_map(|shard| {
            let mut copies = Vec::new();
            if let Some(state) = self.inner.shards[shard].read() {
                self.each(&state, |key, value| copies.push((key.clone(), value.clone())));
            }
            copies
        })
    }
}

impl<K: Hash + Eq, V, P: Engine> Cache<K, V, P> {
    /// Calls `visit` for each key and value that is resident. `visit` runs under the lock of a shard and must not use
    /// the cache: calls that would deadlock do nothing, and make this call fail in the end.
    pub fn for_each(&self, mut visit: impl FnMut(&K, &V)) -> Result<(), SetupError> {
        let each = |shard: &Shard<K, V, P>| {
            let (state, done) = shard.run(|state| self.each(state, &mut visit))?;
            self.inner.release(state);
            done
        };
        self.inner.shards.iter().try_for_each(each).ok_or(SetupError::Reentrant)
    }

    fn each(&self, state: &State<K, V, P>, mut visit: impl FnMut(&K, &V)) {
        let entries = &state.host.entries;
        let may_end = entries.may_end();
        let now = self.inner.now(may_end);
        for (slot, (key, value)) in entries.iter() {
            if !may_end || !entries.has_ended(slot, now, self.inner.idle) {
                visit(key, value);
            }
        }
    }

    /// Takes out every value for which `is_invalid` returns true, and returns their number. Loads under way go on, but
    /// their values do not enter the cache. `is_invalid` runs under the lock of a shard and must not use the cache:
    /// calls that would deadlock do nothing, and this call then fails and leaves the values of that shard.
    pub fn invalidate_if(&self, mut is_invalid: impl FnMut(&K, &V) -> bool) -> Result<usize, SetupError> {
        let mut all = Some(0);
        for shard in &self.inner.shards {
            let choose = |state: &State<K, V, P>| {
                let chosen = state.host.entries.iter().filter(|(_, (key, value))| is_invalid(key, value));
                chosen.map(|(slot, _)| slot).collect::<Vec<_>>()
            };
            let done = shard.run(choose).and_then(|(mut state, chosen)| {
                let number = chosen.map(|chosen| {
                    state.loads.detach_all();
                    chosen.iter().for_each(|&slot| state.take(slot, Reason::Invalidated));
                    chosen.len()
                });
                self.inner.release(state);
                number
            });
            all = all.zip(done).map(|(all, one)| all + one);
        }
        all.ok_or(SetupError::Reentrant)
    }

    /// Takes out all values. The policy keeps its ghosts.
    pub fn clear(&self) {
        for shard in &self.inner.shards {
            if let Some(mut state) = shard.write() {
                state.loads.detach_all();
                state.host.entries.slots().into_iter().for_each(|slot| state.take(slot, Reason::Invalidated));
                self.inner.release(state);
            }
        }
    }

    /// Takes out all values that have ended, and returns their number. Otherwise such a value takes its place until a
    /// reference to its key finds it, or until the policy evicts it.
    pub fn remove_expired(&self) -> usize {
        let mut removed = 0;
        for shard in &self.inner.shards {
            let Some(mut state) = shard.write() else { continue };
            let now = self.inner.now(state.host.entries.may_end());
            if state.host.entries.may_end() {
                let mut ended = state.host.entries.slots();
                ended.retain(|&slot| state.host.entries.has_ended(slot, now, self.inner.idle));
                ended.iter().for_each(|&slot| state.expire(slot));
                removed += ended.len();
            }
            self.inner.release(state);
        }
        removed
    }

    /// Changes the capacity, in values or in their total weight. Values that no longer fit are evicted in the policy's
    /// order, one shard after the other. Fails without a change if the policy does not accept the capacity, and perhaps
    /// after changing some shards if pinned values leave too little for others.
    pub fn resize(&self, capacity: u64) -> Result<(), SetupError> {
        let shards = self.inner.shards.len();
        let share = |shard| crate::cache::builder::share(capacity, shards, shard);
        if capacity < shards as u64 {
            return Err(SetupError::Capacity(capacity));
        }
        // All shares are equal, or one of two sizes.
        for shard in [0, shards - 1] {
            self.inner.recipe.check::<P>(share(shard))?;
        }
        for (index, shard) in self.inner.shards.iter().enumerate() {
            if let Some(mut state) = shard.write() {
                let done = state.resize(share(index));
                self.inner.release(state);
                done?;
            }
        }
        Ok(())
    }

    /// Returns the sum of a property of all shards.
    fn sum(&self, of: impl Fn(&State<K, V, P>) -> u64) -> u64 {
        self.inner.shards.iter().filter_map(Shard::read).map(|state| of(&state)).sum()
    }

    /// Returns the number of values, with those that have ended and were not taken out yet.
    pub fn len(&self) -> usize {
        self.sum(|state| state.host.entries.len as u64) as usize
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the total weight of the values; without a weigher their number. It never exceeds the capacity of the
    /// shards, also not during an insertion: a value is counted from the moment at which others have made space for it.
    pub fn weight(&self) -> u64 {
        self.sum(|state| state.host.entries.weight)
    }

    /// Returns the capacity, in values or in their total weight.
    pub fn capacity(&self) -> u64 {
        self.sum(State::capacity)
    }

    /// Returns the weight of the heaviest value that each shard can hold; `u64::MAX` without a weigher.
    pub fn heaviest(&self) -> u64 {
        self.inner.shards.iter().filter_map(Shard::read).map(|state| state.heaviest()).min().unwrap_or(0)
    }

    /// Returns the policy, as specs are printed.
    pub fn policy(&self) -> String {
        self.inner.recipe.spec.to_string()
    }

    /// Returns the counts since the cache was built.
    pub fn stats(&self) -> Stats {
        let loads = &self.inner.loads;
        let mut stats = Stats {
            loads: loads.begun.load(Ordering::Relaxed),
            failed_loads: loads.failed.load(Ordering::Relaxed),
            load_time: loads.time(),
            ..Stats::default()
        };
        for shard in &self.inner.shards {
            let Some(state) = shard.read() else { continue };
            stats.hits += state.counts.hits + state.log.count();
            stats.misses += shard.misses.load(Ordering::Relaxed);
            stats.inserts += state.counts.inserts;
            stats.evictions += state.host.entries.evictions;
            stats.expired += state.counts.expired;
            stats.rejected += state.counts.rejected;
            stats.dropped_events += state.counts.dropped_events;
        }
        stats
    }

    /// Returns the counts of a tenant by its name; `None` if [`Builder::tenants`](crate::Builder::tenants) does not
    /// have it.
    pub fn tenant_stats(&self, name: &str) -> Option<TenantStats> {
        let at = self.inner.recipe.apps.iter().position(|app| app.name == name)?;
        let [hits, misses] = [0, 1].map(|which| self.inner.tenants[at][which].load(Ordering::Relaxed));
        Some(TenantStats { hits, misses })
    }

    /// Recounts every structure and panics on a broken invariant. For tests.
    pub fn validate(&self) {
        for shard in &self.inner.shards {
            if let Some(mut state) = shard.write() {
                state.validate(|key| self.inner.hash(key));
                self.inner.release(state);
            }
        }
    }
}
