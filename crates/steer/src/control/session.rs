//! From directories and a control group to a kernel that holds what the policy says: events in, advice out, and once a
//! second a look at everything else.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hotset_core::host::{Ages, Estimate, Shadows};
use hotset_core::policy::PolicySpec;
use hotset_feed::{Event, Feed, FileId, now};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::control::governor::{Division, Governor, Moved};
use crate::decide::steering::{AppCounts, SteerCounts, Steering, Telling};
use crate::error::SteerError;
use crate::file_set::ground::{Directories, Ground};
use crate::kernel::PAGE;
use crate::kernel::actuate::{Actuator, Advice};
use crate::kernel::cgroup::{Cgroup, Reading};
use crate::kernel::pressure::Pressure;
use crate::proof::judge::{Judge, Misses, State};
use crate::proof::{Proof, Proven, SHORTEST, Sample};

/// Nanoseconds between looks at what sends no events.
const SECOND: u64 = 1_000_000_000;
/// The least time that is waited for events, so that many small things become one.
const GATHER: Duration = Duration::from_millis(5);
/// While it only watches, reads are reported until no page has entered the page cache for this many nanoseconds.
const QUIET: u64 = SECOND;
/// Nanoseconds from the beginning of steering until the kernel is expected to hold what the policy does.
const SETTLED: u64 = SHORTEST;
/// So long the kernel is asked, at a time, what is resident of files: meanwhile nothing is steered. Of further ones it
/// is known once something happens to them.
const ASKING: Duration = Duration::from_secs(10);
/// The least blocks that are worth steering.
const LEAST: u32 = 16;

/// The settings of a session.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The policy.
    pub policy: PolicySpec,
    /// Bytes of a block.
    pub block: u64,
    /// The most that the policy may hold, in bytes.
    pub memory: Option<u64>,
    /// The control group whose memory it is.
    pub group: Option<Cgroup>,
    /// Where the files are.
    pub directories: Vec<PathBuf>,
    /// When it is steered.
    pub when: When,
    /// The command of a process that calls [`serve_fetches`](crate::serve_fetches), for what the policy fetches.
    pub fetcher: Vec<OsString>,
}

/// When it is steered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// While it pays.
    Pays,
    /// Whether it pays or not.
    Always,
    /// Every other while, to measure what it gains.
    Proof,
}

/// Why a session has ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The control group was removed.
    GroupGone,
}

/// The report of a session.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The policy.
    pub policy: String,
    /// Where the files are.
    pub directories: Vec<PathBuf>,
    /// The control group whose memory it is.
    pub cgroup: Option<PathBuf>,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Counts of blocks and pages.
    #[serde(flatten)]
    pub counts: SteerCounts,
    /// The present activity.
    pub state: State,
    /// Why, in words.
    pub reason: String,
    /// By application, where the policy treats them apart.
    pub apps: Vec<AppCounts>,
    /// Seconds in all.
    pub seconds: f64,
    /// Of them, those in which it steered.
    pub seconds_steered: f64,
    /// How memory is divided, in bytes.
    pub memory: Option<Division>,
    /// Blocks that the policy may hold.
    pub blocks: u32,
    /// Blocks that it holds.
    pub blocks_held: u32,
    /// Estimated hit ratios at other sizes and under other policies. Empty until the sample is large enough, and where
    /// a scheme cannot be estimated.
    pub what_if: Vec<Estimate>,
    /// A sample of the policy's evictions, by the time since the last reference to the evicted block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_ages: Option<Ages>,
    /// Blocks that wait to be dropped.
    pub blocks_pending: usize,
    /// Files that are watched.
    pub files: usize,
    /// Files that do not fit in the kernel's table.
    pub files_unwatched: u64,
    /// Files of others, of which the kernel does not say what was resident.
    pub files_unasked: u64,
    /// Files whose resident pages could not be queried in time.
    pub files_late: u64,
    /// How old events were when they were handled, in seconds, on average.
    pub lag_mean: f64,
    /// How old the oldest was.
    pub lag_worst: f64,
    /// How often everything was asked anew because events were lost.
    pub rebuilt: u64,
    /// Pages of watched files that are resident.
    pub pages_resident: u64,
    /// Seconds of processor time.
    pub cpu_seconds: f64,
    /// The measured gain, if a proof was requested.
    pub proof: Option<Proven>,
    /// How what is resident differs from what the policy holds, where that was asked of the kernel at the end.
    pub residency: Option<Residency>,
}

/// Resident pages compared with the policy's, for files that the kernel was asked about in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Residency {
    /// Resident pages.
    pub resident: u64,
    /// Pages that the policy holds.
    pub held: u64,
    /// Those of them that are not resident.
    pub missing: u64,
    /// Resident pages that the policy does not hold: read ahead, on their way out, or locked.
    pub extra: u64,
}

#[derive(Debug, Default)]
struct Lag {
    events: u64,
    sum: f64,
    worst: f64,
}

/// A feed, a policy, and what they act on.
pub struct Session<G = Directories> {
    settings: Settings,
    feed: Box<dyn Feed>,
    steering: Steering<G>,
    /// Events of a poll, kept for their room.
    batch: Vec<(u64, Event)>,
    governor: Governor,
    judge: Judge,
    proof: Proof,
    pressure: Option<Pressure>,
    division: Division,
    lag: Lag,
    began: u64,
    looked: u64,
    /// When something came into the page cache last; at first when it began, since what comes next is likely missed.
    missed: u64,
    /// When it began to steer, if it does; and how long it did before.
    steering_since: Option<u64>,
    steered: u64,
    rebuilt: u64,
    unwatched: u64,
    /// Files of which the kernel does not say what was resident, since they are others'.
    unasked: HashSet<FileId>,
    /// Files that were not queried, for lack of time.
    late: HashSet<FileId>,
    cpu: Duration,
}

impl Session {
    /// Watches every file below the directories.
    ///
    /// # Errors
    ///
    /// The policy cannot run here, nothing bounds the memory, or files cannot be listed.
    pub fn new(settings: Settings, telling: Telling, feed: Box<dyn Feed>) -> Result<Session, SteerError> {
        let advice = match &settings.group {
            Some(group) => Advice::fetching_in(group.folder(), settings.fetcher.clone()),
            None => Advice::default(),
        };
        let ground = Directories::new(settings.directories.clone(), advice);
        Session::on(ground, settings, telling, feed)
    }
}

impl<G: Ground> Session<G> {
    /// Watches every file of `ground`, which is at the directories of the settings.
    ///
    /// # Errors
    ///
    /// The policy cannot run here, nothing bounds the memory, or files cannot be listed.
    pub fn on(ground: G, settings: Settings, telling: Telling, feed: Box<dyn Feed>) -> Result<Session<G>, SteerError> {
        let now = now();
        let mut governor = Governor::new(settings.memory);
        let device = ground.device();
        let (steering, division) = begin(&settings, &mut governor, now, telling, ground)?;
        let mut session = Session {
            batch: Vec::new(),
            pressure: Pressure::of(settings.group.as_ref().map(Cgroup::folder)),
            settings,
            feed,
            steering,
            governor,
            judge: Judge::new(now),
            proof: Proof::default(),
            division,
            lag: Lag::default(),
            began: now,
            looked: now,
            missed: now,
            steering_since: None,
            steered: 0,
            rebuilt: 0,
            unwatched: 0,
            unasked: HashSet::new(),
            late: HashSet::new(),
            cpu: cpu(),
        };
        device.map_or(Ok(()), |device| session.feed.watch_device(device))?;
        session.learn()?;
        if session.settings.when == When::Always {
            session.enter(State::Steering, now);
        }
        Ok(session)
    }

    /// Waits at most `timeout` for something to do, and does it.
    ///
    /// # Errors
    ///
    /// The feed is broken, or the directories cannot be read any more.
    pub fn step(&mut self, timeout: Duration) -> Result<Option<Over>, SteerError> {
        let due = self.steering.next().unwrap_or(u64::MAX).min(self.looked + SECOND);
        let until = Duration::from_nanos(due.saturating_sub(now())).max(GATHER);
        let lost = self.poll(timeout.min(until))?;
        if lost {
            self.rebuild();
        }
        let now = now();
        self.steering.settle(now);
        self.steering.actuator().rest();
        if self.settings.when == When::Proof {
            self.prove(now);
        }
        let mut over = None;
        if now - self.looked >= SECOND {
            self.looked = now;
            over = self.look(now)?;
        }
        self.listen(now)?;
        Ok(over)
    }

    /// Has reads told while a decision hangs on them. Where all is resident no policy saves anything, and reads cost
    /// nothing extra until something is missed again.
    fn listen(&mut self, now: u64) -> Result<(), SteerError> {
        let is_missing = now.saturating_sub(self.missed) < QUIET;
        let wanted = match (self.settings.when, self.judge.state()) {
            (When::Pays, State::Watching) => is_missing,
            (When::Pays, State::Resting) => false,
            (When::Pays, State::Steering) | (When::Always | When::Proof, _) => true,
        };
        Ok(self.feed.reading(wanted)?)
    }

    /// Handles what has happened; true if events were lost.
    fn poll(&mut self, timeout: Duration) -> Result<bool, SteerError> {
        let mut batch = std::mem::take(&mut self.batch);
        self.feed.poll(timeout, &mut |at, event| batch.push((at, event)))?;
        // New files may have been reported before their first read.
        self.learn()?;
        let (steering, lag, now) = (&mut self.steering, &mut self.lag, now());
        let mut lost = false;
        for (at, event) in batch.drain(..) {
            let age = now.saturating_sub(at) as f64 / SECOND as f64;
            (lag.events, lag.sum, lag.worst) = (lag.events + 1, lag.sum + age, lag.worst.max(age));
            lost |= matches!(event, Event::Lost(_));
            if matches!(event, Event::Added { .. }) {
                self.missed = now;
            }
            steering.actuator().hear(&event);
            steering.handle(at, &event);
        }
        self.batch = batch;
        Ok(lost)
    }

    /// Asks the kernel for all that is resident, since it could not tell all that has happened.
    fn rebuild(&mut self) {
        self.rebuilt += 1;
        let begun = Instant::now();
        for file in self.steering.watched() {
            self.ask(file, begun);
        }
    }

    /// Asks for what is resident of a file, unless that has taken too long for those before it.
    fn ask(&mut self, file: FileId, begun: Instant) {
        let resident = match begun.elapsed() < ASKING {
            true => self.steering.actuator().resident(file),
            false => Err(ErrorKind::TimedOut.into()),
        };
        match resident.as_ref().map_err(|error| error.kind()) {
            Err(ErrorKind::PermissionDenied) => _ = self.unasked.insert(file),
            Err(ErrorKind::TimedOut) => _ = self.late.insert(file),
            _ => _ = self.late.remove(&file),
        }
        // A file that is gone has nothing resident; the next walk forgets it.
        self.steering.watch(file, &resident.unwrap_or_default(), now());
    }

    /// Takes note of files that have come, changed and gone.
    fn learn(&mut self) -> Result<(), SteerError> {
        let Some(changes) = self.steering.actuator().changes()? else { return Ok(()) };
        for file in changes.gone {
            self.feed.unwatch(file);
            self.steering.forget(file);
            self.unasked.remove(&file);
            self.late.remove(&file);
        }
        // Of a device that is watched as a whole the feed has told, and will tell, whatever is resident.
        let is_told = self.steering.actuator().device().is_some();
        let begun = Instant::now();
        for (id, file) in changes.found {
            if self.feed.watch(id, file.bytes).is_err() && !is_told {
                self.unwatched += 1;
                continue;
            }
            let is_known = self.steering.is_watched(id);
            self.steering.describe(id, &file.path.to_string_lossy(), file.bytes);
            if !is_known && !is_told {
                self.ask(id, begun);
            }
        }
        self.steering.actuator().rest();
        Ok(())
    }

    /// Reads the state that sends no events: memory and pressure.
    fn look(&mut self, now: u64) -> Result<Option<Over>, SteerError> {
        let reading = match self.settings.group.as_ref().map(Cgroup::read) {
            Some(Err(_)) => return Ok(Some(Over::GroupGone)),
            Some(Ok(reading)) => reading,
            None => Reading::default(),
        };
        let is_settled = self.steering_since.is_some_and(|since| now - since >= SETTLED);
        let counts = self.steering.counts();
        let moved = Moved { read: counts.pages_read, taken: counts.pages_taken };
        // A limit that was taken away while it ran bounds nothing any more: the last division stays.
        self.division = self.governor.divide(now, &reading, moved, is_settled).unwrap_or(self.division);
        let (policy, kernel) = blocks(&self.division, self.settings.block);
        let policy = policy.max(LEAST);
        if policy.abs_diff(self.steering.capacity()) > self.steering.capacity() / 100 {
            self.steering.resize(policy, kernel.max(LEAST), now);
        }
        let waiting = self.pressure.as_mut().and_then(|pressure| pressure.waiting(now));
        let misses = Misses { policy: counts.misses, kernel: counts.kernel_misses };
        if let Some(state) = self.judge.look(now, misses, self.steering.capacity(), waiting)
            && self.settings.when == When::Pays
        {
            self.enter(state, now);
        }
        Ok(None)
    }

    /// Begins the next phase of a proof when this one is over.
    fn prove(&mut self, now: u64) {
        let counts = self.steering.counts();
        let sample = Sample {
            at: now,
            referenced: counts.references * self.settings.block,
            read: counts.pages_read * PAGE,
            missed: counts.kernel_misses,
        };
        let capacity = u64::from(blocks(&self.division, self.settings.block).1);
        let waited = || self.pressure.as_ref().and_then(Pressure::waited);
        if self.proof.look(sample, capacity, waited) && self.proof.is_steering() != self.is_steering() {
            if self.is_steering() {
                self.enter(State::Watching, now);
                // The kernel took for active what it was made to keep, and would keep that for many turns.
                self.steering.drop_all();
            } else {
                self.enter(State::Steering, now);
            }
        }
    }

    fn is_steering(&self) -> bool {
        self.steering_since.is_some()
    }

    fn enter(&mut self, state: State, now: u64) {
        self.steered += self.steering_since.take().map_or(0, |since| now - since);
        if state == State::Steering {
            self.steering_since = Some(now);
            self.steering.act(now);
        } else {
            self.steering.rest();
        }
    }

    /// The report so far.
    pub fn report(&self) -> Report {
        let now = now();
        let steered = self.steered + self.steering_since.map_or(0, |since| now - since);
        let (state, reason) = match (self.settings.when, self.is_steering()) {
            (When::Pays, _) => (self.judge.state(), self.judge.reason()),
            (When::Always, _) => (State::Steering, self.judge.reason()),
            (When::Proof, true) => (State::Steering, self.proof.reason()),
            (When::Proof, false) => (State::Watching, self.proof.reason()),
        };
        let seconds = |nanos: u64| nanos as f64 / SECOND as f64;
        Report {
            policy: self.settings.policy.to_string(),
            directories: self.settings.directories.clone(),
            cgroup: self.settings.group.as_ref().map(|group| group.folder().to_owned()),
            block_bytes: self.settings.block,
            counts: self.steering.counts(),
            state,
            reason,
            apps: self.steering.apps(),
            seconds: seconds(now - self.began),
            seconds_steered: seconds(steered),
            memory: self.settings.group.is_some().then_some(self.division),
            blocks: self.steering.capacity(),
            blocks_held: self.steering.held(),
            what_if: self.steering.shadows().map_or(Vec::new(), Shadows::estimates),
            eviction_ages: self.steering.shadows().map(Shadows::ages),
            blocks_pending: self.steering.pending(),
            files: self.steering.ground().files(),
            files_unwatched: self.unwatched,
            files_unasked: self.unasked.len() as u64,
            files_late: self.late.len() as u64,
            lag_mean: self.lag.sum / self.lag.events.max(1) as f64,
            lag_worst: self.lag.worst,
            rebuilt: self.rebuilt,
            pages_resident: self.steering.resident(),
            cpu_seconds: (cpu() - self.cpu).as_secs_f64(),
            proof: (self.settings.when == When::Proof)
                .then(|| self.proof.proven(self.pressure.as_ref().is_some_and(Pressure::is_of_group))),
            residency: None,
        }
    }

    /// The last report: the kernel is asked for the resident pages.
    pub fn finish(&mut self) -> Report {
        let mut residency = Residency::default();
        let begun = Instant::now();
        for (file, found) in self.steering.ground().all() {
            if begun.elapsed() > ASKING {
                break;
            }
            let resident = match self.steering.actuator().resident(file) {
                Err(error) if error.kind() == ErrorKind::PermissionDenied => continue,
                // A file that is gone has nothing resident.
                resident => resident.unwrap_or_default(),
            };
            let resident: HashSet<u64> = resident.into_iter().flatten().collect();
            let is_there = |page: &u64| *page < found.bytes.div_ceil(PAGE);
            let held: HashSet<u64> = self.steering.pages_held(file).filter(is_there).collect();
            residency.resident += resident.len() as u64;
            residency.held += held.len() as u64;
            residency.missing += held.difference(&resident).count() as u64;
            residency.extra += resident.difference(&held).count() as u64;
        }
        self.steering.actuator().rest();
        Report { residency: Some(residency), ..self.report() }
    }
}

/// Finds out whether a session can be had with these settings, without a feed or a file.
///
/// # Errors
///
/// The policy cannot run here, or nothing bounds the memory.
pub fn check(settings: &Settings, telling: Telling) -> Result<(), SteerError> {
    begin(settings, &mut Governor::new(settings.memory), now(), telling, Advice::default()).map(drop)
}

/// The policy, with what it may hold.
fn begin<A: Actuator>(
    settings: &Settings,
    governor: &mut Governor,
    now: u64,
    telling: Telling,
    actuator: A,
) -> Result<(Steering<A>, Division), SteerError> {
    let reading = match &settings.group {
        Some(group) => group.read().map_err(|_| no_group(group))?,
        None => Reading::default(),
    };
    let unlimited = || SteerError::Unlimited {
        cgroup: settings.group.as_ref().map_or_else(PathBuf::new, |group| group.folder().to_owned()),
    };
    let division = governor.divide(now, &reading, Moved::default(), false).ok_or_else(unlimited)?;
    let (policy, kernel) = blocks(&division, settings.block);
    if policy < LEAST {
        return Err(SteerError::TooSmall { memory: division.policy, block: settings.block, least: LEAST });
    }
    let steering = Steering::new(&settings.policy, settings.block, policy, kernel, telling, actuator)?;
    Ok((steering, division))
}

/// Blocks for the policy and for the kernel.
fn blocks(division: &Division, block: u64) -> (u32, u32) {
    let of = |bytes: u64| u32::try_from(bytes / block).unwrap_or(u32::MAX).min(1 << 31);
    (of(division.policy), of(division.kernel))
}

fn no_group(group: &Cgroup) -> SteerError {
    SteerError::Io {
        what: format!("read the memory of {}", group.folder().display()),
        error: std::io::ErrorKind::NotFound.into(),
    }
}

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Pages of a block that has one time stamp in the feed.
pub fn pages_per_stamp(block: u64) -> u32 {
    (block / PAGE).clamp(1, 1 << 16) as u32
}
