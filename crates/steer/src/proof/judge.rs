//! When steering pays.
//!
//! The policy and a model of the kernel follow the same reads. Steering begins when the policy misses at least a tenth
//! less over one turn of the cache, and processes wait for reads; it ends when it saves less than half of that over two
//! turns, or when nothing is missed. After three turns without a gain, it pauses for half a minute, then for longer;
//! meanwhile reads have no overhead.

use serde::Serialize;

/// The least part of the kernel's misses that has to be saved: to begin, and to go on.
pub const BEGIN: f64 = 0.10;
const GO_ON: f64 = 0.05;
/// The least part of the time in which processes wait for reads or writes.
pub const WAITING: f64 = 0.02;
/// Turns that do not pay until it rests, and until it ends.
const PATIENCE: u32 = 3;
const DOUBT: u32 = 2;
/// Nanoseconds of the first rest, which doubles up to the last; and of a turn in which nothing is missed.
const REST: u64 = 30_000_000_000;
const LONGEST: u64 = 480_000_000_000;
const IDLE: u64 = 30_000_000_000;
/// The least misses of a turn, however small the cache.
const LEAST: u64 = 64;

/// The present activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Reads are followed while something is missed.
    Watching,
    /// The kernel is made to hold what the policy holds.
    Steering,
    /// Reads are not followed.
    Resting,
}

/// Misses since the beginning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Misses {
    /// Of the policy.
    pub policy: u64,
    /// Of the model of the kernel.
    pub kernel: u64,
}

/// Decides what to do.
#[derive(Clone, Debug)]
pub struct Judge {
    state: State,
    /// When the turn began, and what was missed until then.
    since: u64,
    before: Misses,
    /// Consecutive turns without a gain.
    doubts: u32,
    rest: u64,
    /// The savings of the last turn.
    saved: Option<f64>,
    waiting: Option<f64>,
}

impl Judge {
    /// Begins with the first turn at `now` nanoseconds.
    pub fn new(now: u64) -> Judge {
        let (before, doubts) = (Misses::default(), 0);
        Judge { state: State::Watching, since: now, before, doubts, rest: REST, saved: None, waiting: None }
    }

    /// The present activity.
    pub fn state(&self) -> State {
        self.state
    }

    /// Decides again at `now` nanoseconds; `waiting` is the part of the time in which processes wait for storage, if
    /// the kernel reports it, `capacity` the blocks of the cache. Returns the state if it is a new one.
    pub fn look(&mut self, now: u64, misses: Misses, capacity: u32, waiting: Option<f64>) -> Option<State> {
        self.waiting = waiting;
        let (kernel, policy) = (misses.kernel - self.before.kernel, misses.policy - self.before.policy);
        let is_waited_for = waiting.is_none_or(|part| part >= WAITING);
        let is_idle = now - self.since >= IDLE;
        let is_turned = kernel >= u64::from(capacity).max(LEAST);
        let next = match self.state {
            State::Resting if now - self.since >= self.rest && is_waited_for => {
                self.rest = (self.rest * 2).min(LONGEST);
                Some(State::Watching)
            }
            State::Resting => None,
            _ if !is_turned && !is_idle => return None,
            state => {
                let saved = if kernel == 0 { 0.0 } else { (kernel as f64 - policy as f64) / kernel as f64 };
                self.saved = Some(saved);
                (self.since, self.before) = (now, misses);
                self.turned(state, saved, is_turned, is_waited_for)
            }
        };
        if let Some(next) = next {
            (self.state, self.since, self.before, self.doubts) = (next, now, misses, 0);
        }
        next
    }

    fn turned(&mut self, state: State, saved: f64, is_turned: bool, is_waited_for: bool) -> Option<State> {
        let least = if state == State::Steering { GO_ON } else { BEGIN };
        let pays = saved >= least && (is_turned || state == State::Steering);
        match (state, pays) {
            (State::Steering, true) => self.doubts = 0,
            (State::Watching, true) if is_waited_for => {
                self.rest = REST;
                return Some(State::Steering);
            }
            _ => self.doubts += 1,
        }
        if state == State::Steering && self.doubts >= DOUBT {
            return Some(State::Watching);
        }
        if state == State::Watching && self.doubts >= PATIENCE {
            return Some(State::Resting);
        }
        None
    }

    /// Why it does what it does, in words.
    pub fn reason(&self) -> String {
        let waiting = match self.waiting {
            Some(part) => format!("processes wait for storage {:.0} % of the time", part * 100.0),
            None => {
                "this kernel does not report the time that processes wait for storage, so only misses count".to_owned()
            }
        };
        match self.saved {
            None => "the cache has not turned over once".to_owned(),
            Some(saved) if saved < 0.0 => {
                format!("over the last turn the policy would have missed {:.0} % more than the kernel", -saved * 100.0)
            }
            Some(saved) => {
                format!(
                    "over the last turn the policy saved {:.0} % of the kernel's misses, and {waiting}",
                    saved * 100.0
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A judge that looks every second at a cache of 100 blocks; the kernel misses 200 a second.
    struct Run {
        judge: Judge,
        now: u64,
        misses: Misses,
    }

    impl Run {
        fn new() -> Run {
            // As on a machine that has been up for a while.
            let now = 1000 * SECOND;
            Run { judge: Judge::new(now), now, misses: Misses::default() }
        }

        /// So many seconds in which `saved` of 200 misses a second are saved.
        fn seconds(&mut self, seconds: u64, saved: u64, waiting: Option<f64>) -> State {
            for _ in 0..seconds {
                self.now += SECOND;
                self.misses.kernel += 200;
                self.misses.policy += 200 - saved;
                self.judge.look(self.now, self.misses, 100, waiting);
            }
            self.judge.state()
        }
    }

    #[test]
    fn advice_names_steering_where_it_begins() {
        assert_eq!(BEGIN, hotset_sim::advise::SAVED_BY_STEERING);
    }

    #[test]
    fn it_steers_when_a_tenth_is_saved_and_somebody_waits() {
        assert_eq!(Run::new().seconds(2, 19, Some(0.5)), State::Watching);
        assert_eq!(Run::new().seconds(2, 20, Some(0.5)), State::Steering);
        assert_eq!(Run::new().seconds(2, 100, Some(0.01)), State::Watching);
        assert_eq!(Run::new().seconds(2, 100, None), State::Steering);
    }

    #[test]
    fn the_first_look_is_no_turn_unless_there_was_one() {
        let mut run = Run::new();
        run.now += SECOND;
        run.judge.look(run.now, Misses { policy: 50, kernel: 60 }, 100, Some(0.5));
        assert_eq!(run.judge.reason(), "the cache has not turned over once");
    }

    #[test]
    fn it_goes_on_with_less_and_ends_after_two_turns_without() {
        let mut run = Run::new();
        assert_eq!(run.seconds(1, 50, Some(0.5)), State::Steering);
        assert_eq!(run.seconds(10, 12, Some(0.0)), State::Steering, "less waiting is its purpose");
        assert_eq!(run.seconds(1, 2, Some(0.5)), State::Steering);
        assert_eq!(run.seconds(1, 12, Some(0.5)), State::Steering);
        assert_eq!(run.seconds(2, 2, Some(0.5)), State::Watching);
    }

    #[test]
    fn what_does_not_pay_is_left_alone_for_longer_and_longer() {
        let mut run = Run::new();
        assert_eq!(run.seconds(3, 0, Some(0.5)), State::Resting);
        assert_eq!(run.seconds(29, 100, Some(0.5)), State::Resting);
        assert_eq!(run.seconds(1, 100, Some(0.5)), State::Watching);
        assert_eq!(run.seconds(3, 0, Some(0.5)), State::Resting);
        assert_eq!(run.seconds(59, 0, Some(0.5)), State::Resting);
        assert_eq!(run.seconds(1, 0, Some(0.0)), State::Resting, "nobody waits");
        assert_eq!(run.seconds(1, 0, Some(0.5)), State::Watching);
        assert_eq!(run.seconds(1, 100, Some(0.5)), State::Steering);
    }

    #[test]
    fn a_cache_that_misses_nothing_is_not_steered() {
        let mut run = Run::new();
        run.seconds(1, 100, None);
        for _ in 0..100 {
            run.now += SECOND;
            run.judge.look(run.now, run.misses, 100, None);
        }
        assert_eq!(run.judge.state(), State::Watching);
        assert!(run.judge.reason().contains("only misses count"), "{}", run.judge.reason());
    }
}
