//! State shared by readers, writers and read-ahead of a cache, and the effect of a panic on it.
//!
//! A panic is a defect of the cache. It ends the use of the cache, since its state may be half changed, but never
//! causes wrong bytes: the cache is marked as broken before the thread that panics releases any lock.

use std::io;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::file_cache::state::State;
use crate::os::sync::atomic::{AtomicBool, Ordering};
use crate::os::sync::{Arc, Mutex, MutexGuard, PoisonError};
use crate::source::{Source, Stamp};
use crate::transfer::busy::Busy;
use crate::transfer::workers::{FailureDomain, Limits, Workers};

/// What readers, writers and readers ahead share.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// The busy time of the source.
    pub busy: Busy,
    /// A thread has panicked while it served. The state may be half changed, so it is no longer used.
    is_broken: AtomicBool,
}

/// The payload with which a call unwinds that finds a broken cache.
struct Broken;

impl Shared {
    pub fn new(state: State) -> Shared {
        Shared { busy: state.busy.clone(), state: Mutex::new(state), is_broken: AtomicBool::new(false) }
    }

    /// Locks the state. In a broken cache the call ends here: it unwinds to [`contain`](Shared::contain) without a
    /// message.
    pub fn lock(&self) -> Locked<'_> {
        match self.state.lock() {
            Ok(state) if !self.is_broken() => Locked { _alarm: self.alarm(), state },
            _ => resume_unwind(Box::new(Broken)),
        }
    }

    /// The state, for figures that are shown.
    pub fn look(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::SeqCst)
    }

    /// Runs a call. A panic ends only this call, and the use of the cache; `None` then.
    pub fn contain<T>(&self, serve: impl FnOnce() -> T) -> Option<T> {
        let served = catch_unwind(AssertUnwindSafe(serve));
        if served.is_err() {
            self.is_broken.store(true, Ordering::SeqCst);
        }
        served.ok()
    }

    /// The same file; when one of its calls panics the cache is broken.
    pub fn watch(self: &Arc<Shared>, source: Arc<dyn Source>) -> Arc<dyn Source> {
        Arc::new(Watched { source, shared: self.clone() })
    }

    fn alarm(&self) -> Alarm<'_> {
        Alarm(&self.is_broken)
    }
}

/// Marks the cache as broken when a panic unwinds past it. [`contain`](Shared::contain) would do so too late: the
/// request is answered while its thread unwinds, and the receiver of that answer must not be served from the cache.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}

/// The state while this thread has the lock.
pub(crate) struct Locked<'a> {
    /// Dropped first, so that the cache is marked before the lock is free.
    _alarm: Alarm<'a>,
    state: MutexGuard<'a, State>,
}

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

/// A file behind a cache that is marked as broken when one of the file's calls panics.
struct Watched {
    source: Arc<dyn Source>,
    shared: Arc<Shared>,
}

impl Source for Watched {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let _alarm = self.shared.alarm();
        self.source.read_at(buffer, offset)
    }

    fn reads_at_once(&self) -> usize {
        self.source.reads_at_once()
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let _alarm = self.shared.alarm();
        self.source.write_at(bytes, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<(u64, usize)> {
        let _alarm = self.shared.alarm();
        self.source.append(bytes)
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        let _alarm = self.shared.alarm();
        self.source.set_len(size)
    }

    fn sync(&self, data_only: bool) -> io::Result<()> {
        let _alarm = self.shared.alarm();
        self.source.sync(data_only)
    }

    fn stamp(&self) -> io::Result<Stamp> {
        let _alarm = self.shared.alarm();
        self.source.stamp()
    }
}

/// The thread that computes what a policy has handed out, while requests continue. It ends with the cache, and is not
/// there while there is nothing to compute.
pub(crate) struct Background {
    shared: Arc<Shared>,
    workers: Workers,
}

/// One policy at a time is at work, with one piece of work.
const LIMITS: Limits = Limits { part: 1, device: 1, all: 1 };

impl Background {
    pub fn new(shared: Arc<Shared>) -> Background {
        Background { shared, workers: Workers::new(LIMITS) }
    }

    /// Has computed what the policy has handed out, if anything. A policy that has been replaced meanwhile is not told
    /// what came of it.
    pub fn start(&self, state: &mut State) {
        let Some(work) = state.decider.take_work() else { return };
        let (shared, policy) = (self.shared.clone(), state.policies);
        self.workers.run(FailureDomain::default(), move || {
            let compute = || {
                let done = work();
                let mut state = shared.lock();
                if state.policies == policy {
                    state.decider.finish_work(done);
                }
            };
            // A panic has marked the cache as broken.
            let _ = shared.contain(compute);
        });
    }
}
