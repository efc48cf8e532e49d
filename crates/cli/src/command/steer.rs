//! `hotset steer`: the kernel's page cache under a policy.

pub(crate) mod proved;
pub(crate) mod running;
pub(crate) mod words;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use hotset_core::policy::{PolicySpec, Setting};
use hotset_core::spec::Value;
use hotset_feed::Feed;
use hotset_serve::control::{Claim, Listening, claim, serve_steered};
use hotset_serve::steering::{self, Shown, naming};
use hotset_steer::{
    Cgroup, Hierarchy, Session, Settings, SteerError, Telling, When, serve_fetches, tells_applications,
};

use crate::failure::Failure;
use crate::options::control::{listen, serve_status};
use crate::options::values;
use crate::options::values::By;
use crate::output::note;

/// Make the kernel's page cache follow a replacement policy
#[derive(Args)]
#[command(after_help = "\
Examples:
  Run a command; its working directory is steered:
    hotset steer --policy lirs --memory 512M -- ./train.py data
  Steer the reads of a running service:
    hotset steer /srv/data --cgroup /system.slice/postgresql.service
  Measure the gain; Ctrl-C ends and reports it:
    hotset steer /srv/data --cgroup batch --prove

hotset observes reads with BPF and tells the kernel which pages to drop; no data passes through it. It steers only while that saves at least a tenth of the misses and processes wait for storage. Ctrl-C or SIGTERM ends it; if it is killed, the kernel continues unchanged. `hotset top DIR` shows its state. It needs root or the capabilities in docs/reference/steer.md.")]
pub(crate) struct Steer {
    /// Directories whose files are steered [default with a command: the working directory]
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// Policy, e.g. lirs, arc, render, qos(cc1=60%) (see `hotset policies`)
    #[arg(short, long, value_name = "SPEC", default_value = "lirs", help_heading = "Policy")]
    policy: String,
    /// Control group of the programs that read; its memory limit is not changed
    #[arg(long, value_name = "CGROUP", conflicts_with = "command")]
    cgroup: Option<PathBuf>,
    /// Memory limit of the command. With --cgroup, the maximum that the policy may use [default: the remainder of the
    /// group's limit]
    #[arg(long, value_name = "SIZE", value_parser = Value::capacity, help_heading = "Policy")]
    memory: Option<u64>,
    /// Block size, a power of two from 4K to 2M
    #[arg(long, value_name = "SIZE", value_parser = Value::bytes, default_value = "64K", help_heading = "Policy")]
    block: u64,
    /// Steer even if the model predicts no gain
    #[arg(long, help_heading = "Policy")]
    always: bool,
    /// Measure the gain: alternate between steering and the plain kernel, and report the difference with a confidence
    /// interval. A phase lasts three turns of the cache, at least 15 s; its first third is not counted
    #[arg(long, conflicts_with = "always", help_heading = "Measuring and monitoring")]
    prove: bool,
    /// Process every read in order; costs each reader a little more
    #[arg(long, help_heading = "Policy")]
    exact: bool,
    /// What identifies an application, for policies that partition by application; implies --exact
    #[arg(long, value_enum, default_value_t = By::Exe, help_heading = "Policy")]
    app_by: By,
    /// Rules that assign classes of data by path, size and application (see docs/reference/classes.md)
    #[arg(long, value_name = "FILE", help_heading = "Policy")]
    classes: Option<PathBuf>,
    /// Serve Prometheus metrics and a JSON status over HTTP, e.g. at 127.0.0.1:9400; port 0 picks a free port
    #[arg(long, value_name = "HOST:PORT", help_heading = "Measuring and monitoring")]
    listen: Option<String>,
    /// Write the summary as JSON; `-` writes to standard output instead of text
    #[arg(long, value_name = "FILE", help_heading = "Measuring and monitoring")]
    json: Option<PathBuf>,
    /// Internal: this process prefetches for the steering process
    #[arg(long, hide = true)]
    fetcher: bool,
    /// Command to run in its own control group with the limit --memory; hotset returns its exit status
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Steer {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.fetcher {
            return serve_fetches().map_err(|error| Failure::Work(format!("cannot fetch: {error}")));
        }
        let policy = PolicySpec::parse(&self.policy)
            .map_err(|error| Failure::spec("--policy", &self.policy, &error))?
            .set_in(Setting::Serving);
        let directories = self.directories()?;
        let listening = self.listen.as_deref().map(listen).transpose()?;
        match (&self.cgroup, self.memory) {
            (Some(cgroup), memory) => {
                let group = Hierarchy::find()?.group(cgroup)?;
                let mut claims = claims(&directories)?;
                claims.push(claimed(group.folder())?);
                let session = self.session(policy, memory, group, directories)?;
                running::watch(shown(session, listening)?, self.json.as_deref())
            }
            (None, _) if self.command.is_empty() => Err(Failure::Usage(
                "no control group; give --cgroup with the group of the reading programs, or a command after --"
                    .to_owned(),
            )),
            (None, None) => Err(Failure::Usage(
                "a command needs a memory limit; expected --memory SIZE, such as --memory 512M".to_owned(),
            )),
            (None, Some(limit)) => {
                let _claims = claims(&directories)?;
                let made = Hierarchy::find()?.make(&format!("hotset-steer-{}", std::process::id()), limit)?;
                let session = self.session(policy, None, made.group().clone(), directories);
                match session.and_then(|session| shown(session, listening)) {
                    Ok(session) => running::run(session, made, &self.command, self.json.as_deref()),
                    Err(failure) => {
                        made.remove()?;
                        Err(failure)
                    }
                }
            }
        }
    }

    /// The directories, by names that stay theirs.
    fn directories(&self) -> Result<Vec<PathBuf>, Failure> {
        let here = [PathBuf::from(".")];
        let given = match (self.directories.is_empty(), self.command.is_empty()) {
            (true, true) => {
                return Err(Failure::Usage(
                    "no directories; give one or more directories whose files are read".to_owned(),
                ));
            }
            (true, false) => &here[..],
            (false, _) => &self.directories,
        };
        canonical(given)
    }

    fn session(
        &self,
        policy: PolicySpec,
        memory: Option<u64>,
        group: Cgroup,
        directories: Vec<PathBuf>,
    ) -> Result<Session, Failure> {
        let when = match (self.always, self.prove) {
            (true, _) => When::Always,
            (_, true) => When::Proof,
            _ => When::Pays,
        };
        let rules = self.classes.as_deref().map(values::classes).transpose()?;
        let telling = Telling { rules, naming: naming(&policy, self.app_by.into()) };
        let feed = feed(&policy, self.block, self.exact)
            .map_err(|why| Failure::Work(format!("{why}. `hotset mount` runs the same policies without BPF")))?;
        let (block, fetcher) = (self.block, fetcher());
        let settings = Settings { policy, block, memory, group: Some(group), directories, when, fetcher };
        Ok(Session::new(settings, telling, feed)?)
    }
}

/// Answers clients that ask for the directories or the control group of a session.
fn shown(session: Session, listening: Option<Listening>) -> Result<Shown, Failure> {
    let report = session.report();
    let mut shown = Shown::new(session, "end `hotset steer` and begin it anew");
    for path in report.directories.iter().chain(&report.cgroup) {
        match serve_steered(path, shown.subject()) {
            Ok(place) => shown.keep(place),
            Err(error) => {
                note(format_args!("{} is steered, but `hotset top` cannot reach it: {error}", path.display()));
            }
        }
    }
    listening.map_or(Ok(()), |listening| serve_status(listening, shown.subject()))?;
    Ok(shown)
}

/// The best feed for a policy, as [`steering::feed`] chooses it. Says if the policy makes that cost more.
pub(crate) fn feed(policy: &PolicySpec, block: u64, exact: bool) -> Result<Box<dyn Feed>, String> {
    if tells_applications(policy) && !exact {
        let name = policy.info().name;
        note(format_args!(
            "{name} tells applications apart, so each single read is listened to, which costs more than a time per block"
        ));
    }
    steering::feed(policy, block, exact)
}

/// The directories by their canonical paths.
pub(crate) fn canonical(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let canonical = given.iter().map(|directory| {
        let shown = directory.display();
        let found = fs::canonicalize(directory).map_err(|error| Failure::Usage(format!("{shown}: {error}")))?;
        match found.is_dir() {
            true => Ok(found),
            false => Err(Failure::Usage(format!("{shown} is not a directory; expected one whose files are read"))),
        }
    });
    canonical.collect()
}

/// The command that prefetches for a session: this program, in the control group of the readers.
pub(crate) fn fetcher() -> Vec<OsString> {
    let program = std::env::current_exe().map(OsString::from);
    program.map_or(Vec::new(), |program| vec![program, "steer".into(), "--fetcher".into()])
}

pub(crate) fn claims(directories: &[PathBuf]) -> Result<Vec<Claim>, Failure> {
    directories.iter().map(|directory| claimed(directory)).collect()
}

/// Makes sure that no other process steers the files at `place`.
pub(crate) fn claimed(place: &Path) -> Result<Claim, Failure> {
    let shown = place.display();
    let failed = |error| Failure::Work(format!("cannot check whether {shown} is already steered: {error}"));
    let about = fs::metadata(place).map_err(failed)?;
    let claimed = claim(&about).map_err(failed)?;
    claimed.ok_or_else(|| {
        Failure::Work(format!("{shown} is already steered by another hotset; end that one first, or name another"))
    })
}

impl From<SteerError> for Failure {
    fn from(error: SteerError) -> Failure {
        match error {
            SteerError::Policy(_)
            | SteerError::Parts { .. }
            | SteerError::Profile { .. }
            | SteerError::Applications { .. }
            | SteerError::Writes { .. }
            | SteerError::Block(_)
            | SteerError::TooSmall { .. }
            | SteerError::Unlimited { .. }
            | SteerError::NoCgroup { .. } => Failure::Usage(error.to_string()),
            error => Failure::Work(error.to_string()),
        }
    }
}
