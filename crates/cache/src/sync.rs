//! Locks, channels and threads: the standard library's, or those of shuttle, which checks interleavings and schedules
//! the threads (`tests/interleavings.rs`). The cache uses only these; the thread that writes recordings does not.

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak, atomic, mpsc},
    thread,
};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak, atomic, mpsc},
    thread,
};
