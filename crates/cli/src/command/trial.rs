//! `hotset try`: runs a command as it is and with each candidate, and reports the measured gain.

mod command;
mod files;
mod mounted;
mod runs;
mod service;
mod words;

use std::ffi::OsString;
use std::io::{IsTerminal, Write, stderr, stdin, stdout};
use std::iter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use hotset_core::policy::{PolicySpec, Setting};
use hotset_core::spec::Value;
use hotset_mount::is_remote;
use serde::Serialize;

use crate::command::mount::parse_time;
use crate::command::steer::{canonical, claims, feed};
use crate::failure::Failure;
use crate::options::report::ReportArgs;
use crate::options::results;
use crate::output::shell::quoted;
use crate::output::{human, style};
use command::Run;
use runs::{Candidate, Outcome, Runner, Stop};

/// Bytes read from storage below which no cache can help.
const LEAST: u64 = 1 << 20;

/// Run a command as it is and with each candidate in turns, and report what each gains
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset try --memory 256M data -- ./train.py data
  hotset try --memory 512M --policy lirs,arc --runs 5 --yes -- sh -c 'grep -r word .'
  hotset try /var/lib/postgresql --cgroup /system.slice/postgresql.service --budget 30m

The first run checks the command and is not counted. Each round then runs it once per candidate: the kernel alone, the kernel steered by each policy, a mount if DIR is on a network or FUSE file system, and twice the memory. Before each run the files below the directories leave the page cache. A command that fails, changes those files or its output, needs a terminal, or leaves processes behind is refused with a reason. With --cgroup no command is run: phases of steering and of the plain kernel alternate for a running service. It needs root or the capabilities of `hotset steer`.")]
pub(crate) struct Try {
    /// Directories whose files are read [default: the working directory]
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// Memory limit of the command
    #[arg(long, value_name = "SIZE", value_parser = Value::capacity, default_value = "256M", conflicts_with = "cgroup")]
    memory: u64,
    /// Policies that steer the kernel
    #[arg(short, long, value_name = "LIST", default_value = "lirs,arc")]
    policy: String,
    /// Control group of a running service: phases of steering and of the plain kernel alternate, and no command is run
    #[arg(long, value_name = "CGROUP", conflicts_with = "command")]
    cgroup: Option<PathBuf>,
    /// Runs of each candidate
    #[arg(long, value_name = "N", conflicts_with = "cgroup", default_value_t = 3, value_parser = clap::value_parser!(u64).range(2..=100))]
    runs: u64,
    /// Time for all runs; rounds that do not fit are left out. With --cgroup, the time in which all policies are tried
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time)]
    budget: Duration,
    /// Do not ask before the first run
    #[arg(long)]
    yes: bool,
    /// Write the result as JSON; `-` writes to standard output instead of text
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
    /// The command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The result of a trial.
#[derive(Serialize)]
struct Trial {
    command: String,
    memory_bytes: u64,
    /// The run that checks the command, which is not counted.
    first: Run,
    /// Complete rounds.
    rounds: usize,
    /// Empty where the first run reads next to nothing from storage.
    candidates: Vec<Outcome>,
    #[serde(flatten)]
    conclusion: Conclusion,
}

/// The conclusion of a trial.
#[derive(Serialize)]
struct Conclusion {
    /// Name of the best candidate; absent where nothing helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<String>,
    conclusion: String,
    /// The command that makes the best candidate permanent.
    #[serde(skip_serializing_if = "Option::is_none")]
    permanent: Option<String>,
}

/// The content of the page.
#[derive(Serialize)]
struct Paged<'a> {
    trial: &'a Trial,
}

impl Try {
    pub(crate) fn run(self, line: &str) -> Result<(), Failure> {
        // A place that cannot be written would lose the result of all runs.
        self.json.iter().try_for_each(|path| results::check(path, &[]))?;
        if let Some(cgroup) = &self.cgroup {
            return match self.report.is_asked() {
                true => Err(Failure::Usage("--report: a trial with --cgroup has no page; use --json".to_owned())),
                false => self.service(cgroup),
            };
        }
        if self.command.is_empty() {
            let message = "no command; give one after --, or --cgroup with the group of a service that runs";
            return Err(Failure::Usage(message.to_owned()));
        }
        let page = self.report.prepare(&[])?;
        let mut candidates = self.candidates()?;
        let here = [PathBuf::from(".")];
        let directories = canonical(if self.directories.is_empty() { &here } else { &self.directories })?;
        let typed = typed(&self.command);
        // A mount is tried where each request takes a round trip.
        let mut can_mount = matches!(&directories[..], [one] if is_remote(one).unwrap_or(false));
        if let Some(tool) = mounted::missing_tool().filter(|_| can_mount) {
            writeln!(stderr(), "hotset: no mount is tried: {tool} is missing")?;
            can_mount = false;
        }
        self.ask((candidates.len() as u64 + u64::from(can_mount)) * self.runs + 1, &typed)?;
        let _claims = claims(&directories)?;
        let mut runner = Runner::new(&self.command, self.memory, &directories, self.budget)?;
        let first = runner.first().map_err(|stop| self.stopped(stop, "one run"))?;
        if can_mount {
            self.add_mount(&runner, &mut candidates, first.own_bytes)?;
        }
        if first.read_bytes.is_none_or(|bytes| bytes >= LEAST) {
            self.rounds(&mut runner, &candidates)?;
        }
        let outcomes = runner.outcomes(&candidates);
        let (conclusion, best) = match outcomes.is_empty() {
            true => (words::reads_nothing(&first), None),
            false => words::conclusion(&outcomes, &candidates, runner.files_bytes()),
        };
        let trial = Trial {
            memory_bytes: self.memory,
            first,
            rounds: runner.rounds(),
            candidates: outcomes,
            conclusion: Conclusion {
                best: best.map(ToString::to_string),
                conclusion,
                permanent: best.map(|best| words::permanent(best, self.memory, &directories, &typed)),
            },
            command: typed,
        };
        let has_table = !trial.candidates.is_empty();
        let table = has_table.then(|| format!("{}\n", words::table(&trial.candidates)));
        self.show(&trial, &table.unwrap_or_default(), &trial.conclusion)?;
        page.map_or(Ok(()), |page| page.write(line, Paged { trial: &trial }))
    }

    /// The candidates, each of which can be run here.
    fn candidates(&self) -> Result<Vec<Candidate>, Failure> {
        let steered = self.steered()?.into_iter().map(Candidate::Steered);
        let more = Candidate::Memory(self.memory.saturating_mul(2));
        Ok(iter::once(Candidate::Kernel).chain(steered).chain([more]).collect())
    }

    /// The policies, each of which can steer the kernel here.
    fn steered(&self) -> Result<Vec<PolicySpec>, Failure> {
        let policies = PolicySpec::parse_list(&self.policy);
        let policies = policies.map_err(|error| Failure::spec("--policy", &self.policy, &error))?;
        let can_steer = |policy: PolicySpec| {
            let policy = policy.set_in(Setting::Serving);
            feed(&policy, runs::BLOCK, false)
                .map_err(|why| Failure::Work(format!("steering cannot be tried: {why}")))?;
            Ok(policy)
        };
        policies.into_iter().map(can_steer).collect()
    }

    /// Adds the mount before the candidate with more memory, if the command leaves enough memory for its cache and the
    /// mount can be started here.
    fn add_mount(&self, runner: &Runner, candidates: &mut Vec<Candidate>, own_bytes: u64) -> Result<(), Failure> {
        let Some(bytes) = mounted::cache_bytes(self.memory, own_bytes) else {
            writeln!(
                stderr(),
                "hotset: no mount is tried: the command needs {} of {}, and a mount at least 64M more",
                human::bytes(own_bytes),
                human::bytes(self.memory)
            )?;
            return Ok(());
        };
        match runner.check_mount(bytes) {
            Ok(()) => candidates.insert(candidates.len() - 1, Candidate::Mounted(bytes)),
            Err(Failure::Work(why)) => writeln!(stderr(), "hotset: no mount is tried: {why}")?,
            Err(failure) => return Err(failure),
        }
        Ok(())
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
        write!(stderr(), "hotset: `{typed}` will run {times} times. Continue? [y/N] ")?;
        let mut answer = String::new();
        stdin().read_line(&mut answer)?;
        match answer.trim() {
            "y" | "Y" | "yes" => Ok(()),
            _ => Err(Failure::Work("nothing was run".to_owned())),
        }
    }

    /// Runs as many rounds as fit into the budget.
    fn rounds(&self, runner: &mut Runner, candidates: &[Candidate]) -> Result<(), Failure> {
        while (runner.rounds() as u64) < self.runs {
            let has_time = runner.rounds() == 0 || runner.has_time_for_a_round();
            let ran = if has_time { runner.round(candidates) } else { Err(Stop::Budget) };
            match ran {
                Ok(()) => {}
                Err(Stop::Budget) if runner.rounds() > 0 => {
                    writeln!(stderr(), "hotset: {} of {} rounds fit into --budget", runner.rounds(), self.runs)?;
                    break;
                }
                Err(stop) => return Err(self.stopped(stop, "a run of each candidate")),
            }
        }
        Ok(())
    }

    /// The failure of a trial that has no result.
    fn stopped(&self, stop: Stop, what: &str) -> Failure {
        match stop {
            Stop::Failed(failure) => failure,
            Stop::Budget => {
                let budget = human::duration(self.budget.as_secs_f64());
                Failure::Work(format!(
                    "--budget: {what} takes more than {budget}; give a longer budget, or a command that ends sooner"
                ))
            }
        }
    }

    /// Writes the JSON of `trial`, and shows its `figures`, lines each of which ends, and its conclusion.
    fn show(&self, trial: &impl Serialize, figures: &str, conclusion: &Conclusion) -> Result<(), Failure> {
        if let Some(path) = &self.json {
            results::write(path, |out| {
                serde_json::to_writer(&mut *out, trial).map_err(Into::into).and_then(|()| writeln!(out))
            })?;
            if path == Path::new("-") {
                return Ok(());
            }
        }
        let mut out = stdout().lock();
        if !figures.is_empty() {
            writeln!(out, "{figures}")?;
        }
        writeln!(out, "{}", human::wrap(&conclusion.conclusion, style::width()))?;
        if let Some(permanent) = &conclusion.permanent {
            writeln!(out, "To keep it:\n  {permanent}")?;
        }
        Ok(out.flush()?)
    }
}

/// The command as a shell takes it.
fn typed(command: &[OsString]) -> String {
    command.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}
