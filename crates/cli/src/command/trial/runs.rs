//! Rounds: each runs the command once under each candidate.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::io::{IsTerminal, Write, stderr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hotset_core::policy::PolicySpec;
use hotset_serve::steering::naming;
use hotset_steer::{Cgroup, Gain, Hierarchy, Made, Session, Settings, SteerError, Telling, When, paired};
use serde::Serialize;

use super::command::{self, Beside, Ended, Run};
use super::files::{self, Stamps};
use super::mounted::Running;
use crate::command::steer::running::Asked;
use crate::command::steer::{feed, fetcher};
use crate::failure::Failure;
use crate::output::{human, note};

/// Bytes of a block of steered files, as by default in `hotset steer`.
pub(super) const BLOCK: u64 = 65536;
/// Of all bytes of the files, one in so many may stay in the page cache without a remark.
const STAY: u64 = 20;

/// A way to run the command.
#[derive(Clone, Debug)]
pub(super) enum Candidate {
    /// The kernel alone.
    Kernel,
    /// The kernel steered by a policy.
    Steered(PolicySpec),
    /// A mount with a cache of so many bytes, under the same limit.
    Mounted(u64),
    /// The kernel alone under this limit.
    Memory(u64),
}

impl fmt::Display for Candidate {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Candidate::Kernel => write!(out, "as it is"),
            Candidate::Steered(policy) => write!(out, "steer {policy}"),
            Candidate::Mounted(_) => out.write_str("mount"),
            Candidate::Memory(bytes) => write!(out, "memory {}", human::bytes(*bytes)),
        }
    }
}

/// Why no round is complete.
pub(super) enum Stop {
    /// The budget is used up.
    Budget,
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failed(failure)
    }
}

impl From<SteerError> for Stop {
    fn from(error: SteerError) -> Stop {
        Stop::Failed(error.into())
    }
}

/// All runs of a candidate, and its gain over the kernel alone.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    pub name: String,
    pub runs: Vec<Run>,
    /// Seconds.
    pub seconds: Gain,
    /// Bytes read from storage; absent where the kernel does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<Gain>,
}

/// Runs the command.
pub(super) struct Runner<'a> {
    command: &'a [OsString],
    memory: u64,
    directories: &'a [PathBuf],
    stamps: Stamps,
    /// The kernel counts what is read from storage.
    is_counted: bool,
    deadline: Instant,
    asked: Asked,
    /// Complete rounds: a run of each candidate.
    rounds: Vec<Vec<Run>>,
    /// Digest of the output of the first run.
    output: Option<u64>,
    longest: Duration,
}

impl<'a> Runner<'a> {
    pub fn new(
        command: &'a [OsString],
        memory: u64,
        directories: &'a [PathBuf],
        budget: Duration,
    ) -> Result<Runner<'a>, Failure> {
        let (stamps, asked) = (files::stamps(directories)?, Asked::new()?);
        let (deadline, is_counted) = (Instant::now() + budget, files::is_counted(directories)?);
        let (rounds, output, longest) = (Vec::new(), None, Duration::ZERO);
        Ok(Runner { command, memory, directories, stamps, is_counted, deadline, asked, rounds, output, longest })
    }

    /// Number of complete rounds.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// Bytes of all files.
    pub fn files_bytes(&self) -> u64 {
        self.stamps.values().map(|stamp| stamp.bytes).sum()
    }

    /// True if a round as long as the longest ends within the budget.
    pub fn has_time_for_a_round(&self) -> bool {
        Instant::now() + self.longest <= self.deadline
    }

    /// Runs the command once to check it; also the programs that it runs are in the page cache after that.
    pub fn first(&mut self) -> Result<Run, Stop> {
        let stay = files::drop_from_page_cache(&self.stamps)?;
        if stay * STAY > self.files_bytes() {
            let stay = human::bytes(stay);
            note(format_args!(
                "{stay} of the files stay in the page cache between runs: another program maps or locks them, or they are in memory only"
            ));
        }
        self.once(&Candidate::Kernel)
    }

    /// Starts and ends a mount, to find out whether it can be tried. Fails with the reason why it cannot.
    pub fn check_mount(&self, bytes: u64) -> Result<(), Failure> {
        let made = group(self.memory)?;
        let started = Running::start(&self.directories[0], bytes, &made).map(drop);
        made.remove()?;
        started
    }

    /// Runs each candidate once, in reverse order every other time.
    pub fn round(&mut self, candidates: &[Candidate]) -> Result<(), Stop> {
        let began = Instant::now();
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        if self.rounds.len() % 2 == 1 {
            order.reverse();
        }
        let mut runs = Vec::with_capacity(candidates.len());
        for at in order {
            runs.push((at, self.once(&candidates[at])?));
        }
        runs.sort_by_key(|(at, _)| *at);
        self.rounds.push(runs.into_iter().map(|(_, run)| run).collect());
        self.longest = self.longest.max(began.elapsed());
        Ok(())
    }

    /// Gains over the first candidate; empty without a round.
    pub fn outcomes(&self, candidates: &[Candidate]) -> Vec<Outcome> {
        let gain = |at: usize, figure: &dyn Fn(&Run) -> Option<f64>| {
            let pairs = self.rounds.iter().map(|runs| Some((figure(&runs[0])?, figure(&runs[at])?)));
            paired(&pairs.collect::<Option<Vec<_>>>()?)
        };
        let outcome = |(at, candidate): (usize, &Candidate)| {
            Some(Outcome {
                name: candidate.to_string(),
                runs: self.rounds.iter().map(|runs| runs[at].clone()).collect(),
                seconds: gain(at, &|run| Some(run.seconds))?,
                read_bytes: gain(at, &|run| Some(run.read_bytes? as f64)),
            })
        };
        candidates.iter().enumerate().filter_map(outcome).collect()
    }

    fn once(&mut self, candidate: &Candidate) -> Result<Run, Stop> {
        if stderr().is_terminal() {
            // Progress is worth no failure.
            let _ = writeln!(stderr(), "hotset: round {}: {candidate}", self.rounds.len() + 1);
        }
        files::drop_from_page_cache(&self.stamps)?;
        let limit = if let Candidate::Memory(bytes) = candidate { *bytes } else { self.memory };
        let made = group(limit)?;
        let beside = match candidate {
            Candidate::Steered(policy) => session(policy, made.group(), self.directories, When::Pays)
                .map(|session| Beside::Session(Box::new(session))),
            Candidate::Mounted(bytes) => Running::start(&self.directories[0], *bytes, &made).map(Beside::Mount),
            Candidate::Kernel | Candidate::Memory(_) => Ok(Beside::Nothing),
        };
        let ended = beside.map_err(Stop::from).and_then(|beside| {
            let command = match &beside {
                Beside::Mount(running) => Cow::Owned(running.bound(self.command)),
                _ => Cow::Borrowed(self.command),
            };
            command::run(&command, &made, beside, self.deadline, &self.asked)
        });
        let removed = made.remove();
        let mut ended = ended?;
        removed?;
        self.check(&ended)?;
        ended.run.read_bytes = ended.run.read_bytes.filter(|_| self.is_counted);
        Ok(ended.run)
    }

    /// Refuses a command whose runs cannot be compared.
    fn check(&mut self, ended: &Ended) -> Result<(), Failure> {
        let shown = self.command[0].display();
        if ended.status != 0 {
            stderr().write_all(&ended.errors)?;
            let why = match (self.output, ended.status) {
                (Some(_), _) => "it ran once before and cannot run twice, or not under each candidate".to_owned(),
                (None, 137) => {
                    format!("it was killed, which also happens if --memory {} is too little", human::bytes(self.memory))
                }
                (None, _) => {
                    "it has no terminal and no input here; only a command that succeeds can be tried".to_owned()
                }
            };
            note(format_args!("{shown} failed with exit status {}: {why}", ended.status));
            return Err(Failure::Status(ended.status));
        }
        if ended.left > 0 {
            let left = human::counted_as(ended.left as u64, "process", "processes");
            return Err(Failure::Work(format!(
                "{shown} left {left} running, now killed, so it is unknown when its work ends; try a command that ends with all it starts"
            )));
        }
        let now = files::stamps(self.directories)?;
        if let Some(path) = files::changed(&self.stamps, &now) {
            let path = path.display();
            return Err(Failure::Work(format!(
                "{shown} changes {path}, so its runs differ; have it write outside of the directories"
            )));
        }
        if *self.output.get_or_insert(ended.output) != ended.output {
            return Err(Failure::Work(format!(
                "{shown} has another output in each run, so it cannot be verified that a candidate changes nothing; redirect what varies to /dev/null"
            )));
        }
        Ok(())
    }
}

/// A control group with this limit of memory.
fn group(limit: u64) -> Result<Made, SteerError> {
    Hierarchy::find()?.make(&format!("hotset-try-{}", std::process::id()), limit)
}

/// A session that steers the reads of the programs in a group.
pub(super) fn session(
    policy: &PolicySpec,
    group: &Cgroup,
    directories: &[PathBuf],
    when: When,
) -> Result<Session, Failure> {
    let feed = feed(policy, BLOCK, false).map_err(|why| Failure::Work(format!("steering cannot be tried: {why}")))?;
    let settings = Settings {
        policy: policy.clone(),
        block: BLOCK,
        memory: None,
        group: Some(group.clone()),
        directories: directories.to_vec(),
        when,
        fetcher: fetcher(),
    };
    let telling = Telling { rules: None, naming: naming(policy, hotset_mount::AppBy::Exe) };
    Session::new(settings, telling, feed).map_err(|error| match error {
        // A trial has no size that could take the place of a limit.
        SteerError::Unlimited { cgroup } => Failure::Usage(format!(
            "{} has no limit of memory; set one first, as with MemoryMax= of its unit",
            cgroup.display()
        )),
        error => error.into(),
    })
}
