//! The operating system: memory, files, threads.

pub mod machine;
pub(crate) mod system;

/// Locks, channels and threads: the standard library's, or those of shuttle, which checks interleavings and schedules
/// the threads (`tests/interleavings.rs`). The cache uses only these; the thread that writes recordings does not.
pub(crate) mod sync {
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
}
