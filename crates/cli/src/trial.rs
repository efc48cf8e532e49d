//! `hotset try`: runs a command as it is and with each candidate, and reports the measured gain.

mod files;
mod runs;
mod words;

use std::ffi::OsString;
use std::io::{IsTerminal, Write, stderr, stdin, stdout};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use hotset_core::policy::{PolicySpec, Setting};
use hotset_core::spec::Value;
use serde::Serialize;

use crate::failure::Failure;
use crate::mount::parse_time;
use crate::results;
use crate::shell::quoted;
use crate::steer::claims;
use runs::{Candidate, Outcome, Runner};

/// Run a command as it is and with each candidate in turns, and report what each gains
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset try --memory 256M data -- ./train.py data
  hotset try --memory 512M --policy lirs,arc --runs 5 --yes -- sh -c 'grep -r word .'

Each round runs the command once per candidate: the kernel alone, the kernel steered by each policy, and twice the memory. Before each run the \
files below the directories leave the page cache. A command that fails, changes those files or its output, or leaves processes behind is \
refused with a reason. It needs root or the capabilities of `hotset steer`. For a service that runs, use `hotset steer DIR --cgroup NAME --prove`.")]
pub(crate) struct Try {
    /// Directories whose files are read [default: the working directory]
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// Limit of the command's memory
    #[arg(long, value_name = "SIZE", value_parser = Value::capacity, default_value = "256M")]
    memory: u64,
    /// Policies that steer the kernel
    #[arg(short, long, value_name = "LIST", default_value = "lirs,arc")]
    policy: String,
    /// Runs of each candidate
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(2..=100))]
    runs: u64,
    /// Time for all runs; rounds that do not fit are left out
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time)]
    budget: Duration,
    /// Do not ask before the first run
    #[arg(long)]
    yes: bool,
    /// Write the result as JSON; `-` is standard output, in place of words
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The result of a trial.
#[derive(Serialize)]
struct Trial {
    memory_bytes: u64,
    rounds: usize,
    candidates: Vec<Outcome>,
    conclusion: String,
    /// The command that makes the best candidate permanent; absent where nothing helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    permanent: Option<String>,
}

impl Try {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let policies = PolicySpec::parse_list(&self.policy)
            .map_err(|error| Failure::spec("--policy", &self.policy, &error))?
            .into_iter()
            .map(|policy| policy.set_in(Setting::Serving));
        let directories = files::directories(&self.directories)?;
        let mut candidates = vec![Candidate::Kernel];
        candidates.extend(policies.map(Candidate::Steered));
        candidates.push(Candidate::Memory(self.memory.saturating_mul(2)));
        let typed = self.command.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ");
        self.ask(candidates.len() as u64 * self.runs, &typed)?;
        let _claims = claims(&directories)?;
        let deadline = Instant::now() + self.budget;
        let mut runner = Runner::new(&self.command, self.memory, directories.clone(), deadline)?;
        let mut rounds = 0;
        for round in 0..self.runs {
            // A round that would not end in time is not begun.
            if round > 0 && Instant::now() + runner.longest_round() > deadline {
                writeln!(stderr(), "hotset: {rounds} of {} rounds fit into the budget", self.runs)?;
                break;
            }
            runner.round(&candidates, round % 2 == 1)?;
            rounds += 1;
        }
        let outcomes = runner.outcomes(&candidates);
        let (conclusion, best) = words::conclusion(&outcomes, &candidates);
        let folders = directories.iter().map(|folder| quoted(&folder.to_string_lossy())).collect::<Vec<_>>().join(" ");
        let permanent = best.map(|best| match best {
            Candidate::Steered(policy) => {
                let policy = quoted(&policy.to_string());
                format!("hotset steer {folders} --policy {policy} --memory {} -- {typed}", self.memory)
            }
            Candidate::Memory(bytes) => format!("systemd-run --scope -p MemoryMax={bytes} {typed}"),
            Candidate::Kernel => typed.clone(),
        });
        let trial = Trial { memory_bytes: self.memory, rounds, candidates: outcomes, conclusion, permanent };
        self.show(&trial)
    }

    /// Asks whether the command may run so often.
    fn ask(&self, times: u64, typed: &str) -> Result<(), Failure> {
        if self.yes {
            return Ok(());
        }
        if !stdin().is_terminal() {
            let message = format!("`{typed}` would run {times} times; give --yes to agree");
            return Err(Failure::Usage(message));
        }
        write!(stderr(), "hotset: `{typed}` will run {times} times. Go on? [y/N] ")?;
        let mut answer = String::new();
        stdin().read_line(&mut answer)?;
        match answer.trim() {
            "y" | "Y" | "yes" => Ok(()),
            _ => Err(Failure::Work("nothing was run".to_owned())),
        }
    }

    fn show(&self, trial: &Trial) -> Result<(), Failure> {
        if let Some(path) = &self.json {
            results::write(path, |out| {
                serde_json::to_writer(&mut *out, trial).map_err(Into::into).and_then(|()| writeln!(out))
            })?;
            if path == Path::new("-") {
                return Ok(());
            }
        }
        let mut out = stdout().lock();
        writeln!(out, "{}\n\n{}", words::table(&trial.candidates), trial.conclusion)?;
        if let Some(permanent) = &trial.permanent {
            writeln!(out, "To keep it:\n  {permanent}")?;
        }
        Ok(out.flush()?)
    }
}
