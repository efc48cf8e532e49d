//! A limit of the bytes per second from and to a store.
//!
//! Idea: a token bucket. Each read and each write books its bytes before it begins, and begins when the earlier
//! bookings have had their time; so the timeout of a call does not run while it waits, and requests that move no data
//! do not wait. A write books slice after slice: a read waits for slices that are being sent, not for whole parts.
//! Unused capacity is kept for a tenth of a second.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::limits::Moved;

/// The time for which unused capacity is kept.
const KEPT: Duration = Duration::from_millis(100);

/// Bytes of a write that are booked at a time.
const SLICE: u64 = 64 << 10;

/// Bytes that may go through a second, those that are going, and those that have.
pub(crate) struct Bandwidth {
    /// Bytes a second.
    rate: Option<u64>,
    /// When all that was booked has had its time.
    free: Mutex<Option<Instant>>,
    read: AtomicU64,
    written: AtomicU64,
    /// Microseconds.
    held_back: AtomicU64,
}

/// Bytes that are to go through.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bytes {
    Read(u64),
    Written(u64),
}

impl Bytes {
    /// The next booking, and the one after it.
    fn split(self) -> (Bytes, Option<Bytes>) {
        match self {
            Bytes::Written(all) if all > SLICE => (Bytes::Written(SLICE), Some(Bytes::Written(all - SLICE))),
            all => (all, None),
        }
    }
}

impl Bandwidth {
    pub fn new(rate: Option<u64>) -> Bandwidth {
        let count = AtomicU64::default;
        Bandwidth { rate, free: Mutex::default(), read: count(), written: count(), held_back: count() }
    }

    pub fn moved(&self) -> Moved {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let held_back = Duration::from_micros(load(&self.held_back));
        Moved { read: load(&self.read), written: load(&self.written), held_back }
    }

    /// Books so many bytes; returns the time until their turn. A caller that does not wait delays later ones.
    pub fn book(&self, bytes: Bytes, now: Instant) -> Duration {
        let (count, bytes) = match bytes {
            Bytes::Read(bytes) => (&self.read, bytes),
            Bytes::Written(bytes) => (&self.written, bytes),
        };
        count.fetch_add(bytes, Ordering::Relaxed);
        let Some(rate) = self.rate else { return Duration::ZERO };
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let since = now.checked_sub(KEPT).unwrap_or(now);
        let begun = free.map_or(since, |free| free.max(since));
        *free = Some(begun + Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64));
        begun.saturating_duration_since(now)
    }

    /// Waits until so many bytes may go through.
    pub async fn turn(&self, bytes: Bytes) {
        let mut left = Some(bytes);
        while let Some(bytes) = left {
            let (slice, rest) = bytes.split();
            let wait = self.book(slice, Instant::now());
            if !wait.is_zero() {
                self.held_back.fetch_add(wait.as_micros() as u64, Ordering::Relaxed);
                sleep(wait).await;
            }
            left = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_wait_for_those_before_them() {
        let (bandwidth, now) = (Bandwidth::new(Some(1000)), Instant::now());
        let later = |milliseconds| now + Duration::from_millis(milliseconds);
        let wait = |bytes, at| bandwidth.book(bytes, at).as_millis();
        assert_eq!(wait(Bytes::Read(500), now), 0);
        // A tenth of a second was kept.
        assert_eq!(wait(Bytes::Written(1000), now), 400);
        assert_eq!(wait(Bytes::Read(100), now), 1400);
        assert_eq!(wait(Bytes::Read(100), later(1000)), 500);
        // Capacity that was unused for long is dropped.
        assert_eq!(wait(Bytes::Read(1000), later(60_000)), 0);
        assert_eq!(wait(Bytes::Read(1), later(60_000)), 900);
        let moved = bandwidth.moved();
        assert_eq!((moved.read, moved.written), (1701, 1000));
        let free = Bandwidth::new(None);
        assert_eq!(free.book(Bytes::Read(1 << 40), now), Duration::ZERO);
    }
}
