//! The mounts and steering processes on this machine that answer this user, queried repeatedly while a page shows them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;

use crate::control;

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// A page that does not ask for so long has been closed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The last look.
#[derive(Default, Serialize)]
pub(super) struct Seen {
    /// How many looks there were, so that none is taken for two.
    looks: u64,
    living: Vec<Living>,
    /// The time of the last query, while the thread runs.
    #[serde(skip)]
    asked: Option<Instant>,
}

/// What something says of itself.
#[derive(Serialize)]
struct Living {
    path: String,
    status: Value,
}

/// Queries them while a page asks.
#[derive(Clone, Default)]
pub(super) struct Live(Arc<Mutex<Seen>>);

impl Live {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells what the last look saw, which is nothing before the first one; from now on it is looked.
    pub fn tell<T>(&self, told: impl FnOnce(&Seen) -> T) -> T {
        let mut seen = self.lock();
        if seen.asked.replace(Instant::now()).is_none() {
            let live = self.clone();
            // Without a thread nothing is shown, and the next request tries again.
            if thread::Builder::new().name("live".to_owned()).spawn(move || live.look()).is_err() {
                seen.asked = None;
            }
        }
        told(&seen)
    }

    /// A mount that hangs delays only this thread.
    fn look(&self) {
        loop {
            let living = control::everyone().into_iter().map(|(path, status)| Living { path, status }).collect();
            let mut seen = self.lock();
            (seen.looks, seen.living) = (seen.looks + 1, living);
            if seen.asked.is_none_or(|asked| asked.elapsed() > PATIENCE) {
                seen.asked = None;
                return;
            }
            drop(seen);
            thread::sleep(EVERY);
        }
    }
}
