//! Bytes in flight between the source and readers, outside of the frames.
//!
//! A thread that is to move bytes first takes a [`Share`] of the limit, and holds it until the bytes are dropped. A
//! request beyond the limit waits, first come first served, and blocks no thread meanwhile. One file gets half of the
//! limit at most.
//!
//! A transfer that takes longer than [`PATIENCE`] is no longer counted. It hangs, and others need not wait until it
//! continues: its buffers were not written yet, so they take no memory.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use crate::os::sync::atomic::{AtomicU64, Ordering};
use crate::os::sync::{Arc, Mutex, MutexGuard, PoisonError, thread};
use crate::source::files::FileNumber;

/// So long a share is counted.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes that may be in flight where a quarter of the memory is less: two requests of the longest kind, each of which
/// is read and then copied.
const LEAST: u64 = 4 << 20;

/// The limit on bytes in flight.
#[derive(Clone)]
pub(crate) struct InFlight(Arc<Shared>);

struct Shared {
    /// What [`Ledger::used`] is, to be looked at without the lock.
    used: AtomicU64,
    limit: AtomicU64,
    ledger: Mutex<Ledger>,
}

#[derive(Default)]
struct Ledger {
    /// Shares that are counted, by number, oldest first.
    shares: BTreeMap<u64, Entry>,
    files: FxHashMap<FileNumber, u64>,
    used: u64,
    next: u64,
    waiting: VecDeque<Waiter>,
    /// True while a thread looks for shares that are no longer counted.
    is_watched: bool,
}

struct Entry {
    file: FileNumber,
    bytes: u64,
    since: Instant,
}

struct Waiter {
    file: FileNumber,
    bytes: u64,
    then: Box<dyn FnOnce(Share) + Send>,
}

/// A share of the limit; dropping it lets the next request through.
pub struct Share {
    shared: Arc<Shared>,
    number: u64,
}

impl Share {
    /// Makes it one for `bytes`, whether there is room or not.
    pub(crate) fn set(&self, bytes: u64) {
        let mut ledger = self.shared.lock();
        ledger.resize(self.number, bytes);
        self.shared.settle(ledger);
    }
}

impl InFlight {
    pub fn new(memory: u64) -> InFlight {
        let shared = Shared { used: 0.into(), limit: 0.into(), ledger: Mutex::default() };
        let in_flight = InFlight(Arc::new(shared));
        in_flight.set_memory(memory);
        in_flight
    }

    /// Sets the limit that belongs to this many bytes of frames.
    pub fn set_memory(&self, memory: u64) {
        self.0.limit.store((memory / 4).max(LEAST), Ordering::Relaxed);
        self.0.settle(self.0.lock());
    }

    /// Bytes that may be in flight.
    pub fn limit(&self) -> u64 {
        self.0.limit.load(Ordering::Relaxed)
    }

    /// True if this many bytes of any file certainly fit. Cheap.
    pub fn is_ample(&self, bytes: u64) -> bool {
        self.0.used.load(Ordering::Relaxed).saturating_add(bytes) <= self.limit() / 2
    }

    /// Takes a share of `bytes`, if it fits and no request waits.
    pub fn try_take(&self, file: FileNumber, bytes: u64) -> Option<Share> {
        let mut ledger = self.0.lock();
        let free = ledger.waiting.is_empty() && ledger.fits(self.limit(), file, bytes) == Fit::Fits;
        free.then(|| self.0.admit(&mut ledger, file, bytes))
    }

    /// Takes a share of `bytes` even beyond the limit.
    pub fn take(&self, file: FileNumber, bytes: u64) -> Share {
        self.0.admit(&mut self.0.lock(), file, bytes)
    }

    /// Calls `then` as soon as `bytes` fit, perhaps at once, on any thread and under any lock: it may only hand the
    /// work on.
    pub fn when_there_is_room(&self, file: FileNumber, bytes: u64, then: impl FnOnce(Share) + Send + 'static) {
        let mut ledger = self.0.lock();
        ledger.waiting.push_back(Waiter { file, bytes, then: Box::new(then) });
        self.0.settle(ledger);
        let mut ledger = self.0.lock();
        if !ledger.waiting.is_empty() && !ledger.is_watched {
            ledger.is_watched = true;
            let shared = self.0.clone();
            thread::spawn(move || shared.watch());
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut ledger = self.shared.lock();
        ledger.remove(self.number);
        self.shared.settle(ledger);
    }
}

/// Whether there is room, or what is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    Fits,
    FileIsFull,
    AllIsFull,
}

impl Ledger {
    /// A request that is longer than the limit runs without others.
    fn fits(&self, limit: u64, file: FileNumber, bytes: u64) -> Fit {
        let of_file = self.files.get(&file).copied().unwrap_or(0);
        if self.used > 0 && self.used.saturating_add(bytes) > limit {
            Fit::AllIsFull
        } else if of_file > 0 && of_file.saturating_add(bytes) > limit / 2 {
            Fit::FileIsFull
        } else {
            Fit::Fits
        }
    }

    /// Counts a share as one of `bytes`, if it is counted.
    fn resize(&mut self, number: u64, bytes: u64) {
        let Some(entry) = self.shares.get_mut(&number) else { return };
        let before = std::mem::replace(&mut entry.bytes, bytes);
        self.used = self.used - before + bytes;
        let of_file = self.files.entry(entry.file).or_default();
        *of_file = *of_file - before + bytes;
        if *of_file == 0 {
            self.files.remove(&entry.file);
        }
    }

    fn remove(&mut self, number: u64) {
        self.resize(number, 0);
        self.shares.remove(&number);
    }

    /// Counts what hangs no more.
    fn forget_hung(&mut self) {
        while let Some((&number, oldest)) = self.shares.first_key_value()
            && oldest.since.elapsed() >= PATIENCE
        {
            self.remove(number);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn admit(self: &Arc<Self>, ledger: &mut Ledger, file: FileNumber, bytes: u64) -> Share {
        let number = ledger.next;
        ledger.next += 1;
        ledger.shares.insert(number, Entry { file, bytes: 0, since: Instant::now() });
        ledger.resize(number, bytes);
        self.used.store(ledger.used, Ordering::Relaxed);
        Share { shared: self.clone(), number }
    }

    /// Lets waiting requests through as far as they fit. A request whose file has its half stays, and lets others pass.
    fn settle(self: &Arc<Self>, mut ledger: MutexGuard<'_, Ledger>) {
        let limit = self.limit.load(Ordering::Relaxed);
        let (mut let_in, mut place) = (Vec::new(), 0);
        while let Some(&Waiter { file, bytes, .. }) = ledger.waiting.get(place) {
            match ledger.fits(limit, file, bytes) {
                Fit::AllIsFull => break,
                Fit::FileIsFull => place += 1,
                Fit::Fits => {
                    let share = self.admit(&mut ledger, file, bytes);
                    let_in.extend(ledger.waiting.remove(place).map(|waiter| (waiter.then, share)));
                }
            }
        }
        self.used.store(ledger.used, Ordering::Relaxed);
        drop(ledger);
        let_in.into_iter().for_each(|(then, share)| then(share));
    }

    /// Looks for transfers that hang, as long as a request waits.
    fn watch(self: Arc<Self>) {
        loop {
            thread::sleep(PATIENCE / 4);
            let mut ledger = self.lock();
            if ledger.waiting.is_empty() {
                ledger.is_watched = false;
                return;
            }
            ledger.forget_hung();
            self.settle(ledger);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    /// A limit of 4 MiB, of which one file has 2.
    fn in_flight() -> InFlight {
        InFlight::new(1 << 20)
    }

    const MIB: u64 = 1 << 20;

    fn waits(in_flight: &InFlight, file: FileNumber, bytes: u64) -> Receiver<Share> {
        let (tell, told) = channel();
        in_flight.when_there_is_room(file, bytes, move |share| drop(tell.send(share)));
        told
    }

    #[test]
    fn whoever_waits_comes_in_the_order_of_asking_and_lets_others_than_of_full_files_wait() {
        let in_flight = in_flight();
        let [first, second] = [1, 2].map(|file| in_flight.try_take(file, 2 * MIB).unwrap());
        assert!(in_flight.try_take(3, 1).is_none() && !in_flight.is_ample(1));
        let long = waits(&in_flight, 3, 2 * MIB);
        let short = waits(&in_flight, 4, MIB);
        first.set(MIB);
        assert!(long.try_recv().is_err() && short.try_recv().is_err(), "who came first has too little room");
        drop(first);
        let long = long.try_recv().unwrap();
        assert!(short.try_recv().is_err());
        drop(second);
        let short = short.try_recv().unwrap();
        let same = waits(&in_flight, 3, 1);
        let other = waits(&in_flight, 4, MIB);
        assert!(same.try_recv().is_err(), "one file has half of it");
        assert!(other.try_recv().is_ok(), "another file does not wait for that");
        drop((long, short));
        assert!(same.try_recv().is_ok());
        assert_eq!(in_flight.0.lock().used, 0);
        assert!(in_flight.0.lock().files.is_empty());
    }

    #[test]
    fn what_is_longer_than_all_the_room_comes_alone() {
        let in_flight = in_flight();
        let small = in_flight.try_take(1, 1).unwrap();
        let large = waits(&in_flight, 2, 100 * MIB);
        assert!(large.try_recv().is_err());
        drop(small);
        let large = large.try_recv().unwrap();
        assert!(in_flight.try_take(1, 1).is_none());
        drop(large);
        assert!(in_flight.try_take(1, 1).is_some());
    }

    #[test]
    fn what_hangs_is_not_counted() {
        let in_flight = in_flight();
        let hung = in_flight.take(1, 100 * MIB);
        let started = Instant::now();
        let share = waits(&in_flight, 1, MIB).recv_timeout(20 * PATIENCE).unwrap();
        assert!(started.elapsed() >= PATIENCE);
        drop(hung);
        assert_eq!(in_flight.0.lock().used, MIB);
        in_flight.set_memory(64 * MIB);
        assert_eq!(in_flight.limit(), 16 * MIB);
        drop(share);
    }
}
