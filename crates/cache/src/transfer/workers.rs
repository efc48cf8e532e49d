//! Threads for calls that may take long or for ever, with limits, so that a failure domain that hangs does not block
//! the others.
//!
//! A *part* is a failure domain: a file, a name in a directory. Calls of one part, of one device, and of all together
//! are under way up to a limit each; calls beyond it wait until one of those returns, and block no thread. Threads are
//! created when none is free and end when they were idle for a while.
//!
//! Calls that are normally short need not go to another thread, which costs more than they do: [`Workers::run_here`]
//! makes them at once. As any of them may be the call that does not return, only [`HERE`] threads at a time are risked
//! so.

use std::collections::VecDeque;
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::os::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, thread};

/// Threads of others that calls may hold, at most.
pub const HERE: usize = 4;

/// So long a thread without work stays.
const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// Something that hangs or goes on as a whole, on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FailureDomain {
    /// The device's number.
    pub device: u64,
    /// Its number there.
    pub what: u64,
}

/// Calls under way, at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Of one part.
    pub part: usize,
    /// Of one device.
    pub device: usize,
    /// Of all together.
    pub all: usize,
}

/// A level with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Level {
    Part(FailureDomain),
    Device(u64),
    All,
}

/// The calls under way at a level, and those that wait.
#[derive(Default)]
struct Queue {
    running: usize,
    waiting: VecDeque<(FailureDomain, Job)>,
}

/// The threads. They end when it is dropped and all jobs are done.
pub struct Workers(Arc<Shared>);

struct Shared {
    limits: Limits,
    state: Mutex<State>,
    /// There is a job, or there will be none.
    news: Condvar,
}

#[derive(Default)]
struct State {
    levels: FxHashMap<Level, Queue>,
    /// Jobs that may begin.
    ready: VecDeque<(Room, Job)>,
    /// Threads without a job.
    idle: usize,
    /// Threads of others that have one.
    here: usize,
    closed: bool,
}

/// The right to make one call; the next one has it when this is dropped.
pub struct Room {
    shared: Arc<Shared>,
    part: FailureDomain,
    here: bool,
}

impl FailureDomain {
    fn levels(self) -> [Level; 3] {
        [Level::Part(self), Level::Device(self.device), Level::All]
    }
}

impl Limits {
    fn of(&self, level: Level) -> usize {
        match level {
            Level::Part(_) => self.part,
            Level::Device(_) => self.device,
            Level::All => self.all,
        }
    }
}

impl Workers {
    /// No threads yet.
    pub fn new(limits: Limits) -> Workers {
        Workers(Arc::new(Shared { limits, state: Mutex::default(), news: Condvar::new() }))
    }

    /// Runs `job` on another thread, as soon as the limits of the part allow it.
    pub fn run(&self, part: FailureDomain, job: impl FnOnce() + Send + 'static) {
        self.0.add(&mut self.0.lock(), part, Box::new(job));
    }

    /// Has `job`, which is short unless its part hangs, done by this thread, or by another one if too many like this
    /// one are held already.
    pub fn run_here(&self, part: FailureDomain, job: impl FnOnce() + Send + 'static) {
        let mut state = self.0.lock();
        if state.here == HERE || state.enter(&self.0.limits, part).is_err() {
            return self.0.add(&mut state, part, Box::new(job));
        }
        state.here += 1;
        drop(state);
        let _room = Room { shared: self.0.clone(), part, here: true };
        job();
    }

    /// A permit for one call, if it need not wait.
    pub fn reserve(&self, part: FailureDomain) -> Option<Room> {
        self.reserve_within(part, usize::MAX)
    }

    /// The same, if less than `most` calls of its part are under way.
    pub fn reserve_within(&self, part: FailureDomain, most: usize) -> Option<Room> {
        let limits = Limits { part: most.min(self.0.limits.part), ..self.0.limits };
        self.0.lock().enter(&limits, part).ok()?;
        Some(Room { shared: self.0.clone(), part, here: false })
    }

    /// Has `job` done by another thread at once.
    pub fn run_in(&self, room: Room, job: impl FnOnce() + Send + 'static) {
        self.0.start(&mut self.0.lock(), room, Box::new(job));
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.news.notify_all();
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.here -= usize::from(self.here);
        self.shared.leave(&mut state, self.part);
    }
}

impl State {
    /// Adds a call of the part, or returns the level that is full.
    fn enter(&mut self, limits: &Limits, part: FailureDomain) -> Result<(), Level> {
        let is_full = |&level: &Level| self.levels.get(&level).is_some_and(|queue| queue.running >= limits.of(level));
        if let Some(full) = part.levels().into_iter().find(is_full) {
            return Err(full);
        }
        part.levels().into_iter().for_each(|level| self.levels.entry(level).or_default().running += 1);
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(self: &Arc<Self>, state: &mut State, part: FailureDomain, job: Job) {
        match state.enter(&self.limits, part) {
            Ok(()) => self.start(state, Room { shared: self.clone(), part, here: false }, job),
            Err(full) => state.levels.entry(full).or_default().waiting.push_back((part, job)),
        }
    }

    fn start(self: &Arc<Self>, state: &mut State, room: Room, job: Job) {
        state.ready.push_back((room, job));
        if state.ready.len() > state.idle {
            let shared = self.clone();
            // Where there can be no more threads the job waits for those that there are.
            let _ = thread::Builder::new().name("source".to_owned()).spawn(move || shared.work());
        }
        self.news.notify_one();
    }

    /// A call of the part has returned: whatever has waited for that begins, or waits at another level.
    fn leave(self: &Arc<Self>, state: &mut State, part: FailureDomain) {
        for level in part.levels() {
            if let Some(queue) = state.levels.get_mut(&level) {
                queue.running -= 1;
            }
        }
        for level in part.levels() {
            while let Some(queue) = state.levels.get_mut(&level)
                && queue.running < self.limits.of(level)
                && let Some((part, job)) = queue.waiting.pop_front()
            {
                self.add(state, part, job);
            }
            if state.levels.get(&level).is_some_and(|queue| queue.running == 0) {
                state.levels.remove(&level);
            }
        }
    }

    fn work(&self) {
        while let Some((room, job)) = self.next() {
            job();
            drop(room);
        }
    }

    /// The next job; `None` after waiting in vain.
    fn next(&self) -> Option<(Room, Job)> {
        let mut state = self.lock();
        if state.ready.is_empty() {
            state.idle += 1;
            let waited = self.news.wait_timeout_while(state, IDLE, |state| state.ready.is_empty() && !state.closed);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.idle -= 1;
        }
        state.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const LIMITS: Limits = Limits { part: 2, device: 4, all: 8 };
    const SOON: Duration = Duration::from_secs(20);

    /// Jobs that send their number when they begin and last until they are ended.
    struct Hung {
        begun: (Sender<u64>, Receiver<u64>),
        ends: Vec<Sender<()>>,
    }

    impl Hung {
        fn new() -> Hung {
            Hung { begun: channel(), ends: Vec::new() }
        }

        fn job(&mut self, number: u64) -> impl FnOnce() + Send + 'static {
            let (end, ended) = channel();
            self.ends.push(end);
            let begun = self.begun.0.clone();
            move || {
                begun.send(number).unwrap();
                let _ = ended.recv();
            }
        }

        /// Numbers of the next jobs that begin.
        fn next(&self, count: usize) -> Vec<u64> {
            let mut numbers: Vec<u64> = (0..count).map(|_| self.begun.1.recv_timeout(SOON).unwrap()).collect();
            numbers.sort_unstable();
            numbers
        }

        fn nothing_begins(&self) -> bool {
            self.begun.1.recv_timeout(Duration::from_millis(50)).is_err()
        }
    }

    #[test]
    fn each_level_has_its_limit_and_what_waits_begins_when_there_is_room() {
        let (workers, mut hung) = (Workers::new(LIMITS), Hung::new());
        // Three of one part, three of another one of the same device.
        for number in 0..6 {
            workers.run(FailureDomain { device: 0, what: number / 3 }, hung.job(number));
        }
        assert_eq!(hung.next(4), [0, 1, 3, 4], "two of each part");
        // The device is full now, other ones are not.
        workers.run(FailureDomain { device: 0, what: 9 }, hung.job(6));
        workers.run(FailureDomain { device: 1, what: 0 }, hung.job(7));
        assert_eq!(hung.next(1), [7]);
        assert!(hung.nothing_begins());
        assert!(workers.reserve(FailureDomain { device: 0, what: 8 }).is_none());
        assert!(workers.reserve(FailureDomain { device: 1, what: 0 }).is_some());
        assert!(workers.reserve_within(FailureDomain { device: 1, what: 0 }, 1).is_none());
        hung.ends[3].send(()).unwrap();
        assert_eq!(hung.next(1), [5], "of the same part");
        assert!(hung.nothing_begins());
        hung.ends.clear();
        assert_eq!(hung.next(2), [2, 6]);
        assert!(hung.nothing_begins());
    }

    #[test]
    fn few_threads_of_others_are_held() {
        let (workers, mut hung) = (Arc::new(Workers::new(LIMITS)), Hung::new());
        let mut held = Vec::new();
        for number in 0..HERE as u64 {
            let (workers, job) = (workers.clone(), hung.job(number));
            held.push(thread::spawn(move || workers.run_here(FailureDomain { device: number, what: 0 }, job)));
        }
        assert_eq!(hung.next(HERE), [0, 1, 2, 3]);
        workers.run_here(FailureDomain { device: 9, what: 0 }, hung.job(4));
        assert_eq!(hung.next(1), [4], "by another one: this one goes on");
        hung.ends.clear();
        held.into_iter().for_each(|thread| thread.join().unwrap());
        let here = thread::current().id();
        let (tell, told) = channel();
        workers.run_here(FailureDomain::default(), move || tell.send(thread::current().id()).unwrap());
        assert_eq!(told.recv().unwrap(), here, "by this one again");
    }

    #[test]
    fn nothing_is_left_of_what_is_done() {
        let workers = Workers::new(LIMITS);
        let (tell, told) = channel();
        for number in 0..1000 {
            let tell = tell.clone();
            let part = FailureDomain { device: number % 3, what: number % 7 };
            workers.run(part, move || tell.send(number).unwrap());
        }
        drop(tell);
        assert_eq!(told.iter().count(), 1000);
        while workers.0.lock().levels.values().any(|queue| queue.running > 0) {
            thread::yield_now();
        }
        assert!(workers.0.lock().levels.is_empty());
    }
}
