//! Locks, atomics and threads: the standard library's, or those of shuttle, which checks interleavings and schedules
//! the threads (`tests/orders.rs`).
//!
//! A panic of the caller's code under a lock leaves consistent data behind, so poisoning is ignored.

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::{
    sync::{Arc, Condvar, Mutex, MutexGuard, atomic},
    thread,
};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, atomic},
    thread,
};

#[cfg(feature = "shuttle")]
use shuttle::sync as imp;
#[cfg(not(feature = "shuttle"))]
use std::sync as imp;
use std::sync::{PoisonError, TryLockError};

/// A shared hold of a [`RwLock`].
pub(crate) type Shared<'a, T> = imp::RwLockReadGuard<'a, T>;
/// An exclusive hold of a [`RwLock`].
pub(crate) type Exclusive<'a, T> = imp::RwLockWriteGuard<'a, T>;

/// A lock for many readers or one writer.
pub(crate) struct RwLock<T>(imp::RwLock<T>);

impl<T> RwLock<T> {
    pub fn new(inside: T) -> RwLock<T> {
        RwLock(imp::RwLock::new(inside))
    }

    #[inline(always)]
    pub fn try_read(&self) -> Option<Shared<'_, T>> {
        match self.0.try_read() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    #[inline(always)]
    pub fn try_write(&self) -> Option<Exclusive<'_, T>> {
        match self.0.try_write() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    #[cold]
    pub fn read(&self) -> Shared<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    #[cold]
    pub fn write(&self) -> Exclusive<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Locks a mutex.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
