//! One thread at a time: shared data is used in turns.
//!
//! Turns begin and end only while the thread holds the interpreter, though the work in between may release it. So
//! nothing changes hands while the collector of cycles looks at it.
//!
//! Objects that leave are dropped when the turn is over: their finalizers run code that may need a turn as well.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

thread_local! {
    /// The objects that have left in this turn.
    static LEFT: RefCell<Vec<Py<PyAny>>> = const { RefCell::new(Vec::new()) };
    /// The number of this thread, never 0.
    static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// An object that is kept, and let go after the turn in which it leaves.
pub struct Kept(Option<Py<PyAny>>);

impl Kept {
    /// Nothing.
    pub const NOTHING: Kept = Kept(None);

    /// The object.
    pub fn new(object: Py<PyAny>) -> Kept {
        Kept(Some(object))
    }

    /// The shared data.
    pub fn get(&self) -> Option<&Py<PyAny>> {
        self.0.as_ref()
    }

    /// Takes the object.
    pub fn into_object(mut self) -> Option<Py<PyAny>> {
        self.0.take()
    }
}

impl Clone for Kept {
    fn clone(&self) -> Kept {
        Kept(self.0.as_ref().map(|object| Python::attach(|py| object.clone_ref(py))))
    }
}

impl Drop for Kept {
    // Most keys of a batch are numbers and keep nothing.
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(object) = self.0.take() {
            leave(object);
        }
    }
}

/// Lets an object go at the end of the turn.
#[inline(never)]
fn leave(object: Py<PyAny>) {
    // At the end of a thread no turn is waited for.
    let _ = LEFT.try_with(|left| left.borrow_mut().push(object));
}

/// Drops the objects that have left.
pub fn let_go() {
    while let Ok(left) = LEFT.try_with(|left| std::mem::take(&mut *left.borrow_mut()))
        && !left.is_empty()
    {
        drop(left);
    }
}

/// Drops the objects that have left when it is dropped itself.
pub struct LetGo;

impl Drop for LetGo {
    fn drop(&mut self) {
        let_go();
    }
}

/// The shared data.
pub struct Turns<T> {
    shared: Mutex<T>,
    /// The thread whose turn it is; 0 for none.
    owner: AtomicU64,
    /// The number of waiting threads: without any, no notification is sent, which would be a system call for every
    /// turn.
    waiting: AtomicUsize,
    gate: Mutex<()>,
    is_free: Condvar,
}

/// A turn. It must end while the thread holds the interpreter.
pub struct Turn<'a, T> {
    turns: &'a Turns<T>,
    guard: Option<MutexGuard<'a, T>>,
}

/// How long a thread waits before it looks again.
const LOOK: Duration = Duration::from_millis(1);

impl<T: Send> Turns<T> {
    pub fn new(shared: T) -> Turns<T> {
        Turns {
            shared: Mutex::new(shared),
            owner: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            gate: Mutex::new(()),
            is_free: Condvar::new(),
        }
    }

    /// Waits for a turn. Fails if it is this very thread's.
    pub fn take(&self, py: Python<'_>) -> PyResult<Turn<'_, T>> {
        let me = NUMBER.with(|number| *number);
        loop {
            match self.shared.try_lock() {
                Ok(guard) => {
                    self.owner.store(me, Ordering::Relaxed);
                    return Ok(Turn { turns: self, guard: Some(guard) });
                }
                Err(TryLockError::Poisoned(_)) => {
                    return Err(PyRuntimeError::new_err("the cache is broken: its policy has failed before"));
                }
                Err(TryLockError::WouldBlock) if self.owner.load(Ordering::Relaxed) == me => {
                    let message = "the cache is in use by this thread: a key may not call it while it is compared";
                    return Err(PyRuntimeError::new_err(message));
                }
                Err(TryLockError::WouldBlock) => py.detach(|| {
                    self.waiting.fetch_add(1, Ordering::Relaxed);
                    let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
                    // A thread that is notified too early, or not at all, checks again in a moment.
                    drop(self.is_free.wait_timeout(gate, LOOK));
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                }),
            }
            py.check_signals()?;
        }
    }

    /// The shared data, unless a thread has its turn. For the collector of cycles, which does not wait.
    pub fn look(&self) -> Option<MutexGuard<'_, T>> {
        self.shared.try_lock().ok()
    }
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().expect("it is there to the end of the turn")
    }
}

impl<T> DerefMut for Turn<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("it is there to the end of the turn")
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        self.turns.owner.store(0, Ordering::Relaxed);
        self.guard = None;
        if self.turns.waiting.load(Ordering::Relaxed) > 0 {
            self.turns.is_free.notify_one();
        }
        let_go();
    }
}
