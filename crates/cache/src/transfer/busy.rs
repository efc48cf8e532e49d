//! How long the source was busy: the time in which it served at least one read or write.

use std::time::{Duration, Instant};

use crate::os::sync::{Arc, Mutex, PoisonError};

/// The busy time of the source of a cache.
#[derive(Clone)]
pub(crate) struct Busy(Arc<Mutex<Served>>);

struct Served {
    /// Calls under way.
    calls: u32,
    /// When the first of them began.
    since: Instant,
    /// The time before that.
    total: Duration,
}

impl Default for Busy {
    fn default() -> Busy {
        Busy(Arc::new(Mutex::new(Served { calls: 0, since: Instant::now(), total: Duration::ZERO })))
    }
}

/// A call under way; it ends when this is dropped.
pub(crate) struct Call<'a>(&'a Busy);

impl Busy {
    /// A call begins.
    pub fn call(&self) -> Call<'_> {
        self.with(|served| {
            if served.calls == 0 {
                served.since = Instant::now();
            }
            served.calls += 1;
        });
        Call(self)
    }

    /// Nanoseconds in which at least one call was under way, until now.
    pub fn nanoseconds(&self) -> u64 {
        let busy = self.with(|served| match served.calls {
            0 => served.total,
            _ => served.total + served.since.elapsed(),
        });
        u64::try_from(busy.as_nanos()).unwrap_or(u64::MAX)
    }

    fn with<T>(&self, look: impl FnOnce(&mut Served) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.with(|served| {
            served.calls -= 1;
            if served.calls == 0 {
                served.total += served.since.elapsed();
            }
        });
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use std::thread::sleep;

    use super::*;

    #[test]
    fn calls_at_the_same_time_count_once_and_pauses_do_not_count() {
        let (busy, step) = (Busy::default(), Duration::from_millis(20));
        let milliseconds = |busy: &Busy| busy.nanoseconds() / 1_000_000;
        sleep(step);
        assert_eq!(busy.nanoseconds(), 0);
        let began = Instant::now();
        let (one, other) = (busy.call(), busy.call());
        sleep(step);
        drop(one);
        sleep(step);
        assert!(milliseconds(&busy) >= 40, "a call is still under way");
        drop(other);
        let (told, passed) = (busy.nanoseconds(), began.elapsed().as_nanos() as u64);
        assert!((40_000_000..=passed).contains(&told), "{told} of {passed}");
        sleep(step);
        assert_eq!(busy.nanoseconds(), told);
    }
}
