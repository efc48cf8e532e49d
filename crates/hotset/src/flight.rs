//! Loads under way: one loader a key, for which other callers wait.
//!
//! A load is registered in its shard. If the key is removed or inserted meanwhile, the load is detached: its value goes
//! to the callers that wait for it, but not into the cache, because it may be older than the change.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::PoisonError;
use std::task::{Poll, Waker};

use hashbrown::HashTable;

use crate::sync::{self, Arc, Condvar, Mutex, thread};

/// The loads under way in a shard.
pub(crate) struct Loads<K, V> {
    table: HashTable<Load<K, V>>,
    /// Detached loads since the shard was locked, which are dropped outside of the lock.
    detached: Vec<Load<K, V>>,
}

/// A load under way.
pub(crate) struct Load<K, V> {
    hash: u64,
    key: K,
    flight: Arc<Flight<V>>,
}

impl<K, V> Default for Loads<K, V> {
    fn default() -> Loads<K, V> {
        Loads { table: HashTable::new(), detached: Vec::new() }
    }
}

impl<K, V> Loads<K, V> {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Returns the load of a key.
    pub fn find(&self, hash: u64, key: &K) -> Option<Arc<Flight<V>>>
    where
        K: Eq,
    {
        self.table.find(hash, |load| load.hash == hash && load.key == *key).map(|load| load.flight.clone())
    }

    /// Registers a load of a key that has none.
    pub fn begin(&mut self, hash: u64, key: K) -> Arc<Flight<V>> {
        let flight = Arc::new(Flight::new());
        let load = Load { hash, key, flight: flight.clone() };
        self.table.insert_unique(hash, load, |load| load.hash);
        flight
    }

    /// Ends a load. Returns its key unless the load was detached.
    pub fn end(&mut self, hash: u64, flight: &Arc<Flight<V>>) -> Option<K> {
        let entry = self.table.find_entry(hash, |load| Arc::ptr_eq(&load.flight, flight)).ok()?;
        Some(entry.remove().0.key)
    }

    /// Detaches the load of a key.
    pub fn detach<Q: Eq + ?Sized>(&mut self, hash: u64, key: &Q)
    where
        K: Borrow<Q>,
    {
        if let Ok(entry) = self.table.find_entry(hash, |load| load.hash == hash && load.key.borrow() == key) {
            self.detached.push(entry.remove().0);
        }
    }

    /// Detaches all loads.
    pub fn detach_all(&mut self) {
        self.detached.extend(self.table.drain());
    }

    /// Returns the loads that were detached since the shard was locked.
    #[inline(always)]
    pub fn take_detached(&mut self) -> Vec<Load<K, V>> {
        std::mem::take(&mut self.detached)
    }
}

/// One load, for which callers may wait.
pub(crate) struct Flight<V> {
    progress: Mutex<Progress<V>>,
    is_over: Condvar,
}

struct Progress<V> {
    /// `Some(None)` after a failure.
    outcome: Option<Option<V>>,
    /// The thread that runs the loader now.
    runner: Option<thread::ThreadId>,
    wakers: Vec<Waker>,
}

/// The threads that wait, each with the thread for which it waits.
pub(crate) type Waits = Mutex<HashMap<thread::ThreadId, thread::ThreadId>>;

/// The caller waits for itself.
pub(crate) struct Cycle;

impl<V> Flight<V> {
    /// A load that this thread begins. The thread runs its loader from now on: a caller that waits must know it.
    pub fn new() -> Flight<V> {
        let progress = Progress { outcome: None, runner: Some(thread::current().id()), wakers: Vec::new() };
        Flight { progress: Mutex::new(progress), is_over: Condvar::new() }
    }

    /// Ends the load with its value, or as a failure. The first call decides.
    pub fn complete(&self, value: Option<V>) {
        let wakers = {
            let mut progress = sync::lock(&self.progress);
            if progress.outcome.is_some() {
                return;
            }
            progress.outcome = Some(value);
            std::mem::take(&mut progress.wakers)
        };
        self.is_over.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Sets the thread that runs the loader.
    fn set_runner(&self, runner: Option<thread::ThreadId>) {
        sync::lock(&self.progress).runner = runner;
    }

    /// Marks this thread as the one that runs the loader, until the result is dropped.
    pub fn run(&self) -> Running<'_, V> {
        self.set_runner(Some(thread::current().id()));
        Running(self)
    }
}

impl<V: Clone> Flight<V> {
    /// Blocks until the load is over. `None` after a failure. Fails if that would never be.
    pub fn wait(&self, waits: &Waits) -> Result<Option<V>, Cycle> {
        let me = thread::current().id();
        let mut progress = sync::lock(&self.progress);
        let _waiting = match (&progress.outcome, progress.runner) {
            (None, Some(runner)) => Some(Waiting::new(waits, me, runner)?),
            _ => None,
        };
        loop {
            if let Some(outcome) = &progress.outcome {
                return Ok(outcome.clone());
            }
            progress = self.is_over.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until the load is over, as [`wait`](Flight::wait). Only a loader that waits in its own task is noticed.
    pub async fn wait_async(&self) -> Result<Option<V>, Cycle> {
        std::future::poll_fn(|context| {
            let mut progress = sync::lock(&self.progress);
            if let Some(outcome) = &progress.outcome {
                return Poll::Ready(Ok(outcome.clone()));
            }
            if progress.runner == Some(thread::current().id()) {
                return Poll::Ready(Err(Cycle));
            }
            if !progress.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                progress.wakers.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// Runs a loader that is a future.
    pub async fn run_async<F: Future>(&self, loader: F) -> F::Output {
        let mut loader = pin!(loader);
        std::future::poll_fn(|context| {
            let _running = self.run();
            Pin::as_mut(&mut loader).poll(context)
        })
        .await
    }
}

/// A thread runs the loader, until this is dropped.
pub(crate) struct Running<'a, V>(&'a Flight<V>);

impl<V> Drop for Running<'_, V> {
    fn drop(&mut self) {
        self.0.set_runner(None);
    }
}

/// A thread waits, until this is dropped.
struct Waiting<'a> {
    waits: &'a Waits,
    thread: thread::ThreadId,
}

impl Waiting<'_> {
    /// Registers that thread `me` waits for `other`. Fails if `other` waits for `me`.
    fn new(waits: &Waits, me: thread::ThreadId, other: thread::ThreadId) -> Result<Waiting<'_>, Cycle> {
        let mut map = sync::lock(waits);
        let mut next = Some(other);
        while let Some(thread) = next {
            if thread == me {
                return Err(Cycle);
            }
            next = map.get(&thread).copied();
        }
        map.insert(me, other);
        Ok(Waiting { waits, thread: me })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        sync::lock(self.waits).remove(&self.thread);
    }
}
