//! A second request for a read that takes much longer than recent ones; the first answer counts.
//!
//! Idea: Dean and Barroso, "The Tail at Scale" (CACM 56(2), 2013), hedged requests: of many answers some take far
//! longer than others for reasons that another request does not meet. So a read that has taken one and a half times as
//! long as 95 % of the recent ones is requested again. The noted time of a read is that of the request that has
//! answered, from its own start: including the earlier wait would increase the time to wait.
//!
//! If a whole store becomes slow, second requests make it slower. So at most one of twenty reads gets one, only a
//! little unused allowance is kept, and there is none while the maximum number of requests is in flight.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::error::StoreError;
use crate::limits::Hedged;

/// Reads for each of which there may be one second request.
const READS_A_HEDGE: u32 = 20;

/// Second requests that may be kept for later.
const KEPT: u32 = 10;

/// Reads whose times are looked at, of about the same length.
const LATEST: usize = 64;

/// Fewer tell nothing.
const FEWEST: usize = 20;

/// A shorter wait would not gain from a second request.
const SHORTEST: Duration = Duration::from_millis(10);

/// Lengths are distinguished by powers of four.
const CLASSES: usize = 17;

/// When a second request is made, and how often it was.
pub(crate) struct Hedging {
    is_on: bool,
    known: Mutex<Known>,
    reads: AtomicU64,
    hedges: AtomicU64,
    won: AtomicU64,
}

#[derive(Default)]
struct Known {
    /// Times of the latest reads, by their length.
    latest: [Latest; CLASSES],
    /// Reads since the last second request, as far as they are kept.
    saved: u32,
}

#[derive(Default)]
struct Latest {
    times: Vec<Duration>,
    /// The oldest, once there are as many as are looked at.
    next: usize,
}

impl Latest {
    fn note(&mut self, time: Duration) {
        if self.times.len() < LATEST {
            return self.times.push(time);
        }
        self.times[self.next] = time;
        self.next = (self.next + 1) % LATEST;
    }

    /// What takes longer is late.
    fn limit(&self) -> Option<Duration> {
        if self.times.len() < FEWEST {
            return None;
        }
        let mut times = self.times.clone();
        let nearly_all = times.len() * 95 / 100;
        Some((*times.select_nth_unstable(nearly_all).1 * 3 / 2).max(SHORTEST))
    }
}

impl Hedging {
    /// Nothing is known yet.
    pub fn new(is_on: bool) -> Hedging {
        let count = AtomicU64::default;
        Hedging { is_on, known: Mutex::default(), reads: count(), hedges: count(), won: count() }
    }

    /// The counts so far.
    pub fn counts(&self) -> Hedged {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Hedged { reads: load(&self.reads), hedges: load(&self.hedges), hedges_won: load(&self.won) }
    }

    /// Reads so many bytes by `ask`, which is called a second time if that takes long and `at_once` has room.
    pub async fn read<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        bytes: usize,
        at_once: &Arc<Semaphore>,
        ask: impl Fn() -> F,
    ) -> Result<T, StoreError> {
        let class = class(bytes);
        let begun = Instant::now();
        let mut first = pin!(ask());
        let note = |since: Instant| self.with(|known| known.latest[class].note(since.elapsed()));
        let answered = match self.begin(class) {
            Some(limit) => timeout(limit, first.as_mut()).await,
            None => Ok(first.as_mut().await),
        };
        if let Ok(answered) = answered {
            return answered.inspect(|_| note(begun));
        }
        let Some(_turn) = self.turn(at_once) else { return first.await.inspect(|_| note(begun)) };
        let again = Instant::now();
        match select(first, pin!(ask())).await {
            Either::Left((Ok(bytes), _)) => {
                note(begun);
                Ok(bytes)
            }
            Either::Right((Ok(bytes), _)) => {
                note(again);
                self.won.fetch_add(1, Ordering::Relaxed);
                Ok(bytes)
            }
            // The other one may still succeed.
            Either::Left((Err(error), second)) => second.await.map_err(|_| error),
            Either::Right((Err(_), first)) => first.await,
        }
    }

    /// Counts a read; gives when it is late.
    fn begin(&self, class: usize) -> Option<Duration> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.with(|known| {
            known.saved = (known.saved + 1).min(KEPT * READS_A_HEDGE);
            known.latest[class].limit().filter(|_| self.is_on)
        })
    }

    /// The turn of a second request, if there may be one.
    fn turn(&self, at_once: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        self.with(|known| {
            let saved = known.saved.checked_sub(READS_A_HEDGE)?;
            let turn = at_once.clone().try_acquire_owned().ok()?;
            known.saved = saved;
            self.hedges.fetch_add(1, Ordering::Relaxed);
            Some(turn)
        })
    }

    fn with<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        change(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn class(bytes: usize) -> usize {
    (bytes.max(1).ilog2() as usize / 2).min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::AtomicBool;

    use futures_util::future::join_all;
    use tokio::runtime::Builder;
    use tokio::time::sleep;

    use super::*;

    const TIME: Duration = Duration::from_millis(40);

    #[test]
    fn what_is_noted_is_the_time_of_the_request_that_answered() {
        let (hedging, at_once) = (Hedging::new(true), Arc::new(Semaphore::new(9)));
        let answer = || async {
            sleep(TIME).await;
            Ok(())
        };
        // The first request has no answer.
        let held_back = async |bytes| {
            let is_first = AtomicBool::new(true);
            let ask = || async {
                match is_first.swap(false, Ordering::Relaxed) {
                    true => pending().await,
                    false => answer().await,
                }
            };
            timeout(Duration::from_secs(5), hedging.read(bytes, &at_once, ask)).await
        };
        Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
            for told in join_all((0..60).map(|_| hedging.read(1000, &at_once, answer))).await {
                told.unwrap();
            }
            for _ in 0..3 {
                held_back(1000).await.expect("it is asked again").unwrap();
            }
            let waited = TIME * 5 / 2;
            let known = hedging.known.lock().unwrap();
            let times = &known.latest[class(1000)].times;
            assert!(times.len() == 63 && times.iter().all(|time| *time >= TIME && *time < waited), "{times:?}");
        });
        assert_eq!(hedging.counts(), Hedged { reads: 63, hedges: 3, hedges_won: 3 });
    }

    #[test]
    fn times_of_the_latest_reads_count_by_their_length() {
        let mut latest = Latest::default();
        let of = |millis| Duration::from_millis(millis);
        (1..=19).for_each(|_| latest.note(of(40)));
        assert_eq!(latest.limit(), None);
        latest.note(of(1000));
        assert_eq!(latest.limit(), Some(of(1500)), "one of twenty");
        latest.note(of(40));
        assert_eq!(latest.limit(), Some(of(60)));
        (0..LATEST).for_each(|_| latest.note(of(2)));
        assert_eq!((latest.limit(), latest.times.len()), (Some(SHORTEST), LATEST));
        assert!(class(0) == class(3) && class(128 << 10) < class(1 << 20) && class(usize::MAX) == CLASSES - 1);
    }
}
