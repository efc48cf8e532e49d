//! How fast the source is, and so how much is worth having on its way.
//!
//! A distant source has its best throughput when as many bytes are in flight as it returns within the time of one read.
//! Both are measured on read-ahead: the time of a read is the shortest, since the others wait for each other; the rate
//! is the best recent rate of all reads together, since it falls where readers request less. The limit is twice the
//! product: so the rate can rise while the readers limit it, and the excess is bounded.

use std::time::{Duration, Instant};

use crate::os::sync::atomic::{AtomicU64, Ordering};
use crate::os::sync::{Mutex, PoisonError};

/// The measured pace of the source.
pub(crate) struct Pace {
    measured: Mutex<Measured>,
    /// What [`Measured::worth`] is, to be looked at without the lock.
    worth: AtomicU64,
}

struct Measured {
    /// Seconds of the shortest read.
    shortest: f64,
    /// The shortest since counting has begun.
    lately: f64,
    /// Bytes a second, the best recent rate.
    best: f64,
    /// When counting has begun, and the bytes since.
    since: Instant,
    bytes: u64,
}

/// Where all reads take longer than the shortest one that moves up by such a part of the difference. So slowly since
/// they do so, too, while more is on its way than keeps the source busy.
const LONGER: f64 = 1.0 / 1024.0;

/// A rate that is less than the best moves that down by such a part of the difference.
const LESS: f64 = 1.0 / 16.0;

impl Pace {
    /// Nothing is known yet.
    pub fn new() -> Pace {
        let measured =
            Measured { shortest: f64::INFINITY, lately: f64::INFINITY, best: 0.0, since: Instant::now(), bytes: 0 };
        Pace { measured: Mutex::new(measured), worth: AtomicU64::new(0) }
    }

    /// Bytes that are worth having on their way.
    pub fn worth(&self) -> u64 {
        self.worth.load(Ordering::Relaxed)
    }

    /// A read ahead has brought so many bytes in this time, and has ended now.
    pub fn note(&self, bytes: u64, took: Duration, now: Instant) {
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        measured.note(bytes, took.as_secs_f64(), now);
        self.worth.store(measured.worth(), Ordering::Relaxed);
    }
}

impl Measured {
    fn worth(&self) -> u64 {
        (2.0 * self.shortest * self.best) as u64
    }

    fn note(&mut self, bytes: u64, took: f64, now: Instant) {
        (self.shortest, self.lately) = (self.shortest.min(took), self.lately.min(took));
        self.bytes += bytes;
        let elapsed = now.duration_since(self.since).as_secs_f64();
        // Before that what has come is a matter of chance.
        if elapsed < 2.0 * self.shortest {
            return;
        }
        let less = self.best - self.bytes as f64 / elapsed;
        self.best -= if less < 0.0 { less } else { less * LESS };
        self.shortest += (self.lately - self.shortest) * LONGER;
        (self.since, self.bytes, self.lately) = (now, 0, f64::INFINITY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads of 1 MiB, so many at a time, which take `latency` and wait for a link of so many bytes a second.
    fn worth(pace: &Pace, start: Instant, latency: f64, rate: f64, at_a_time: usize) -> f64 {
        const BYTES: f64 = (1 << 20) as f64;
        let mut ends: Vec<f64> = vec![0.0; at_a_time];
        let mut free = 0.0f64;
        for step in 0..2000 {
            let begun = ends[step % at_a_time];
            free = free.max(begun + latency) + BYTES / rate;
            ends[step % at_a_time] = free;
            let now = start + Duration::from_secs_f64(free);
            pace.note(1 << 20, Duration::from_secs_f64(free - begun), now);
        }
        pace.worth() as f64
    }

    #[test]
    fn as_much_is_worth_having_as_comes_within_the_time_of_a_read_twice() {
        let (pace, start) = (Pace::new(), Instant::now());
        assert_eq!(pace.worth(), 0);
        // Two at a time do not keep the link busy: more are worth it.
        let few = worth(&pace, start, 0.02, 250e6, 2);
        assert!(few > 3.5 * (1 << 20) as f64, "{few}");
        let product = (0.02 + 1.05 / 250.0) * 250e6;
        let (pace, start) = (Pace::new(), Instant::now());
        worth(&pace, start, 0.02, 250e6, 2);
        let enough = worth(&pace, start + Duration::from_secs(100), 0.02, 250e6, 12);
        assert!(enough > 1.5 * product && enough < 3.0 * product, "{enough} of {product}");
    }

    #[test]
    fn a_pace_that_changes_is_learnt_anew() {
        let (pace, start) = (Pace::new(), Instant::now());
        let far = worth(&pace, start, 0.1, 100e6, 16);
        let near = worth(&pace, start + Duration::from_secs(1000), 0.001, 100e6, 1);
        assert!(near < far / 4.0, "{near} after {far}");
    }
}
