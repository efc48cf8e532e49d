//! One part of a cache, with its own lock, policy and share of the capacity.

use std::sync::PoisonError;

use crate::engine::Engine;
use crate::state::State;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{self, Exclusive, Mutex, RwLock, Shared, thread};

/// A shard. Shards do not share cache lines.
#[repr(align(128))]
pub(crate) struct Shard<K, V, P> {
    state: RwLock<State<K, V, P>>,
    /// References that found no value.
    pub misses: AtomicU64,
    /// The thread that runs a closure of the caller while it holds the lock.
    runner: Mutex<Option<thread::ThreadId>>,
    /// Such a closure has called the cache.
    was_refused: AtomicBool,
}

impl<K, V, P: Engine> Shard<K, V, P> {
    pub fn new(state: State<K, V, P>) -> Shard<K, V, P> {
        Shard {
            state: RwLock::new(state),
            misses: AtomicU64::new(0),
            runner: Mutex::new(None),
            was_refused: AtomicBool::new(false),
        }
    }

    /// Locks the shard for readers. `None` inside a closure that this shard runs.
    #[inline(always)]
    pub fn read(&self) -> Option<Shared<'_, State<K, V, P>>> {
        match self.state.try_read() {
            None if self.refuses() => None,
            None => Some(self.state.read()),
            some => some,
        }
    }

    /// Locks the shard and replays the hits since the last exclusive hold. `None` inside a closure that this shard
    /// runs.
    #[inline(always)]
    pub fn write(&self) -> Option<Exclusive<'_, State<K, V, P>>> {
        let mut state = match self.state.try_write() {
            None if self.refuses() => return None,
            None => self.state.write(),
            Some(state) => state,
        };
        state.replay();
        Some(state)
    }

    /// The same if no other thread holds the lock.
    pub fn try_write(&self) -> Option<Exclusive<'_, State<K, V, P>>> {
        let mut state = self.state.try_write()?;
        state.replay();
        Some(state)
    }

    /// Runs a closure of the caller under the lock, and returns the lock, still held, with the closure's answer. The
    /// answer is `None` if the closure called this shard. The result is `None` if such a closure makes this call.
    pub fn run<T>(&self, closure: impl FnOnce(&State<K, V, P>) -> T) -> Option<Ran<'_, K, V, P, T>> {
        let state = self.write()?;
        *sync::lock(&self.runner) = Some(thread::current().id());
        let running = Running(self);
        let done = closure(&state);
        drop(running);
        let was_refused = self.was_refused.swap(false, Ordering::Relaxed);
        Some((state, (!was_refused).then_some(done)))
    }

    /// True if this thread runs a closure under the lock.
    #[cold]
    fn refuses(&self) -> bool {
        let refuses = *sync::lock(&self.runner) == Some(thread::current().id());
        if refuses {
            self.was_refused.store(true, Ordering::Relaxed);
        }
        refuses
    }
}

/// The lock of a shard, and the answer of a closure that has run under it.
type Ran<'a, K, V, P, T> = (Exclusive<'a, State<K, V, P>>, Option<T>);

/// A closure of the caller runs under the lock, until this is dropped.
struct Running<'a, K, V, P>(&'a Shard<K, V, P>);

impl<K, V, P> Drop for Running<'_, K, V, P> {
    fn drop(&mut self) {
        *self.0.runner.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
