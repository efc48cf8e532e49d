//! `hotset steer`: the kernel's page cache under a policy.

pub(crate) mod feeding;
mod proved;
pub(crate) mod running;
pub(crate) mod shown;
pub(crate) mod words;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use hotset_core::policy::{PolicySpec, Setting};
use hotset_core::spec::Value;
use hotset_steer::{Group, Hierarchy, Session, Settings, SteerError, Telling, When, serve_fetches};

use crate::app_by::By;
use crate::classes;
use crate::control::{self, Claim, claim};
use crate::failure::Failure;
use feeding::{feed, naming};
use shown::Shown;

/// Have the kernel keep in its page cache what a policy would keep
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset steer --policy lirs --memory 512M -- ./train.py data      (files below the working directory)
  hotset steer /srv/data --policy lirs --cgroup /system.slice/postgresql.service
  hotset steer /srv/data --policy arc --cgroup batch --memory 2G
  hotset steer /srv/data --cgroup batch --prove                     (is anything gained? Ctrl-C tells)

No byte passes through hotset: it listens to what is read, and advises the kernel what to drop. It steers while that saves at least a tenth \
of the misses and somebody waits for storage, and only watches otherwise. End it by Ctrl-C or SIGTERM; killed in any way, it leaves a plain \
kernel behind. `hotset top DIR` shows what it does meanwhile. It needs root, or some capabilities (docs/guide/steer-the-page-cache.md tells which, what it costs and what it cannot do).")]
pub(crate) struct Steer {
    /// Directories whose files are steered; the working directory where a command is given
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// The scheme, e.g. lirs, arc, render, qos(cc1=60%) (see `hotset policies`)
    #[arg(short, long, value_name = "SPEC", default_value = "lirs")]
    policy: String,
    /// The control group of the programs that read; its limit of memory is never changed
    #[arg(long, value_name = "CGROUP", conflicts_with = "command")]
    cgroup: Option<PathBuf>,
    /// With a command: the limit of its memory. With --cgroup: the most that the policy may hold, else what the limit
    /// leaves
    #[arg(long, value_name = "SIZE", value_parser = Value::bytes)]
    memory: Option<u64>,
    /// Bytes of a block, a power of two from 4K to 2M
    #[arg(long, value_name = "SIZE", value_parser = Value::bytes, default_value = "64K")]
    block: u64,
    /// Steer even where it does not pay
    #[arg(long)]
    always: bool,
    /// Measure what is gained: steer and leave the kernel alone in turns, and tell the difference with an interval.
    /// A phase takes three turns of the cache and 15 s at least; its first turn is left out
    #[arg(long, conflicts_with = "always")]
    prove: bool,
    /// Listen to every single read in order, which costs each reader a little more
    #[arg(long)]
    exact: bool,
    /// What applications are told apart by, for schemes that do; each single read is listened to then, as with --exact
    #[arg(long, value_enum, default_value_t = By::Exe)]
    app_by: By,
    /// Classes of data by path, size and application, for schemes that tell them apart (see docs/reference/classes.md)
    #[arg(long, value_name = "FILE")]
    classes: Option<PathBuf>,
    /// Serve metrics for Prometheus and a JSON status over HTTP, e.g. at 127.0.0.1:9400; port 0 takes any that is free
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Write what was done as JSON as well; `-` is standard output, in place of words
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// This process fetches for the one that steers
    #[arg(long, hide = true)]
    fetcher: bool,
    /// A command to run in a control group of its own with a limit of --memory; its exit status becomes that of hotset
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
        let listening = self.listen.as_deref().map(control::listen).transpose()?;
        match (&self.cgroup, self.memory) {
            (Some(cgroup), memory) => {
                let group = Hierarchy::find()?.group(cgroup)?;
                let mut claims = claims(&directories)?;
                claims.push(claimed(group.folder())?);
                let session = self.session(policy, memory, group, directories)?;
                running::watch(Shown::new(session, listening)?, self.json.as_deref())
            }
            (None, _) if self.command.is_empty() => Err(Failure::Usage(
                "whose memory is it? Expected --cgroup with that of the programs that read, or a command behind --"
                    .to_owned(),
            )),
            (None, None) => Err(Failure::Usage(
                "a command needs a limit of memory: expected --memory SIZE, such as --memory 512M".to_owned(),
            )),
            (None, Some(limit)) => {
                let _claims = claims(&directories)?;
                let made = Hierarchy::find()?.make(&format!("hotset-steer-{}", std::process::id()), limit)?;
                let session = self.session(policy, None, made.group().clone(), directories);
                match session.and_then(|session| Shown::new(session, listening)) {
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
            (true, true) => return Err(Failure::Usage("which files? Expected one or more directories".to_owned())),
            (true, false) => &here[..],
            (false, _) => &self.directories,
        };
        let named = given.iter().map(|directory| {
            let shown = directory.display();
            let found = fs::canonicalize(directory).map_err(|error| Failure::Usage(format!("{shown}: {error}")))?;
            match found.is_dir() {
                true => Ok(found),
                false => Err(Failure::Usage(format!("{shown} is no directory: expected one whose files are read"))),
            }
        });
        named.collect()
    }

    fn session(
        &self,
        policy: PolicySpec,
        memory: Option<u64>,
        group: Group,
        directories: Vec<PathBuf>,
    ) -> Result<Session, Failure> {
        let when = match (self.always, self.prove) {
            (true, _) => When::Always,
            (_, true) => When::Proof,
            _ => When::Pays,
        };
        let rules = self.classes.as_deref().map(classes::read).transpose()?;
        let telling = Telling { rules, naming: naming(&policy, self.app_by.into()) };
        let feed = feed(&policy, self.block, self.exact)
            .map_err(|why| Failure::Work(format!("{why}. `hotset mount` runs the same policies without")))?;
        // What has to be fetched is fetched by this very program.
        let program = std::env::current_exe().map(OsString::from);
        let fetcher = program.map_or(Vec::new(), |program| vec![program, "steer".into(), "--fetcher".into()]);
        let settings = Settings { policy, block: self.block, memory, group: Some(group), directories, when, fetcher };
        Ok(Session::new(settings, telling, feed)?)
    }
}

pub(crate) fn claims(directories: &[PathBuf]) -> Result<Vec<Claim>, Failure> {
    directories.iter().map(|directory| claimed(directory)).collect()
}

/// Makes sure that nobody else steers what is at `place`.
fn claimed(place: &Path) -> Result<Claim, Failure> {
    let shown = place.display();
    let failed = |error| Failure::Work(format!("cannot find out whether {shown} is steered already: {error}"));
    let about = fs::metadata(place).map_err(failed)?;
    let claimed = claim(&about).map_err(failed)?;
    claimed.ok_or_else(|| {
        Failure::Work(format!("{shown} is steered by another hotset already: end that one first, or name another"))
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
