//! Loading: a value that is missing is made by one caller, for which the others wait.

use std::convert::Infallible;
use std::future::Future;
use std::hash::Hash;
use std::time::{Duration, Instant};

use crate::cache::{Cache, Facts, Inner};
use crate::engine::Engine;
use crate::error::LoadError;
use crate::flight::{Cycle, Flight};
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU64, Ordering};

/// Counts of loads.
#[derive(Default)]
pub(crate) struct LoadCounts {
    pub begun: AtomicU64,
    pub failed: AtomicU64,
    nanos: AtomicU64,
}

impl LoadCounts {
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }
}

/// The next step of a caller that needs a value.
enum Step<'a, K: Hash + Eq, V, P: Engine> {
    /// It is there.
    Found(V),
    /// This caller loads it.
    Load(Leader<'a, K, V, P>),
    /// Another caller loads it.
    Wait(Arc<Flight<V>>),
}

/// The caller that loads a value. If it is dropped before [`finish`](Leader::finish), the load has failed, and a caller
/// that waits loads in its place.
struct Leader<'a, K: Hash + Eq, V, P: Engine> {
    cache: &'a Inner<K, V, P>,
    flight: Arc<Flight<V>>,
    hash: u64,
    begin: Instant,
    is_finished: bool,
}

impl<K: Hash + Eq, V: Clone, P: Engine> Leader<'_, K, V, P> {
    /// Puts the value in, unless the key was changed since the load began, and gives it to the callers that wait.
    fn finish(mut self, key: K, value: V, facts: Facts) -> V {
        let for_others = value.clone();
        self.cache.put_loaded(&self.flight, self.hash, key, value.clone(), facts);
        self.is_finished = true;
        self.flight.complete(Some(for_others));
        value
    }
}

impl<K: Hash + Eq, V, P: Engine> Drop for Leader<'_, K, V, P> {
    fn drop(&mut self) {
        let nanos = u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.cache.loads.nanos.fetch_add(nanos, Ordering::Relaxed);
        if self.is_finished {
            return;
        }
        self.cache.loads.failed.fetch_add(1, Ordering::Relaxed);
        let key = self.cache.shard(self.hash).write().and_then(|mut state| {
            let key = state.loads.end(self.hash, &self.flight);
            self.cache.release(state);
            key
        });
        self.flight.complete(None);
        drop(key);
    }
}

impl<K: Hash + Eq, V, P: Engine> Inner<K, V, P> {
    /// Ends a load and puts its value in, unless the load was detached.
    fn put_loaded(&self, flight: &Arc<Flight<V>>, hash: u64, key: K, value: V, facts: Facts) {
        let insert = self.insertion(hash, key, value, facts);
        let weight = insert.weight;
        let Some(mut state) = self.shard(hash).write() else { return };
        let Some(own_key) = state.loads.end(hash, flight) else {
            self.release(state);
            return;
        };
        self.put(state, insert);
        drop(own_key);
        self.note(hash, weight, facts.tenant, false);
    }
}

impl<K: Hash + Eq + Clone, V: Clone, P: Engine> Inner<K, V, P> {
    /// Finds the value of a key, begins a load, or finds the one under way.
    fn step(&self, hash: u64, key: &K, tenant: u32) -> Step<'_, K, V, P> {
        if let Some(value) = self.look(hash, key, tenant) {
            return Step::Found(value);
        }
        let key = key.clone();
        let Some(mut state) = self.shard(hash).write() else {
            // Inside a closure that this shard runs, which reports the call: the value is not kept.
            return Step::Load(self.leader(hash, Arc::new(Flight::new())));
        };
        let now = self.now(state.host.entries.may_end());
        if let Some(slot) = state.find(hash, &key, now, self.idle) {
            // Another caller has put it in since the miss.
            let value = state.host.entries.pair(slot).map(|(_, value)| value.clone());
            state.hit(slot, tenant);
            self.release(state);
            if let Some(value) = value {
                return Step::Found(value);
            }
            return Step::Load(self.leader(hash, Arc::new(Flight::new())));
        }
        if let Some(flight) = state.loads.find(hash, &key) {
            self.release(state);
            return Step::Wait(flight);
        }
        let flight = state.loads.begin(hash, key);
        self.release(state);
        Step::Load(self.leader(hash, flight))
    }

    fn leader(&self, hash: u64, flight: Arc<Flight<V>>) -> Leader<'_, K, V, P> {
        self.loads.begun.fetch_add(1, Ordering::Relaxed);
        Leader { cache: self, flight, hash, begin: Instant::now(), is_finished: false }
    }
}

impl<K: Hash + Eq + Clone, V: Clone, P: Engine> Cache<K, V, P> {
    /// Returns the value of a key. If there is none, `load` makes it, and it is put in. Of several callers, one loads
    /// and the others wait; if its loader panics, one of the others loads. Fails if the loader waits for its own
    /// key.
    ///
    /// ```
    /// let cache = hotset::Cache::builder("s3-fifo").capacity(100).build()?;
    /// assert_eq!(cache.get_or_insert_with("two", || 2), Ok(2));
    /// assert_eq!(cache.get_or_insert_with("two", || unreachable!()), Ok(2));
    /// # Ok::<(), hotset::SetupError>(())
    /// ```
    pub fn get_or_insert_with(&self, key: K, load: impl FnOnce() -> V) -> Result<V, LoadError<Infallible>> {
        self.try_get_or_insert_with(key, || Ok(load()))
    }

    /// The same with a loader that may fail. The error goes to its caller and is not cached: one of the callers that
    /// wait loads next.
    pub fn try_get_or_insert_with<E>(&self, key: K, load: impl FnOnce() -> Result<V, E>) -> Result<V, LoadError<E>> {
        self.try_get_or_insert_as(key, Facts::default(), load)
    }

    /// [`try_get_or_insert_with`](Cache::try_get_or_insert_with) with facts: a tenant, or a time after which the value
    /// ends.
    pub fn try_get_or_insert_as<E>(
        &self,
        key: K,
        facts: Facts,
        load: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, LoadError<E>> {
        let hash = self.inner.hash(&key);
        loop {
            match self.inner.step(hash, &key, facts.tenant) {
                Step::Found(value) => return Ok(value),
                Step::Load(leader) => {
                    let loaded = {
                        let _running = leader.flight.run();
                        load()
                    };
                    return Ok(leader.finish(key, loaded.map_err(LoadError::Failed)?, facts));
                }
                Step::Wait(flight) => match flight.wait(&self.inner.waits) {
                    Ok(Some(value)) => return Ok(value),
                    Ok(None) => {}
                    Err(Cycle) => return Err(LoadError::Reentrant),
                },
            }
        }
    }

    /// The same with a loader that is a future, for any runtime. If the future of the caller that loads is dropped, one
    /// of the others loads. Futures that wait for each other's keys in different tasks wait without end.
    pub async fn try_get_or_insert_async<E>(
        &self,
        key: K,
        load: impl Future<Output = Result<V, E>>,
    ) -> Result<V, LoadError<E>> {
        let hash = self.inner.hash(&key);
        loop {
            match self.inner.step(hash, &key, 0) {
                Step::Found(value) => return Ok(value),
                Step::Load(leader) => {
                    let flight = leader.flight.clone();
                    let loaded = flight.run_async(load).await;
                    return Ok(leader.finish(key, loaded.map_err(LoadError::Failed)?, Facts::default()));
                }
                Step::Wait(flight) => match flight.wait_async().await {
                    Ok(Some(value)) => return Ok(value),
                    Ok(None) => {}
                    Err(Cycle) => return Err(LoadError::Reentrant),
                },
            }
        }
    }
}
