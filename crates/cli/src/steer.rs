//! `hotset steer`: the kernel's page cache under a policy.

mod running;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Args;
use hotset_core::policy::{PolicySpec, Setting};
use hotset_core::spec::Value;
use hotset_feed::{Feed, Kind, Options, available};
use hotset_steer::{Group, Hierarchy, Session, Settings, SteerError, pages_per_stamp};

use crate::control::{Claim, claim};
use crate::failure::Failure;

/// Have the kernel keep in its page cache what a policy would keep
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset steer --policy lirs --memory 512M -- ./train.py data      (files below the working directory)
  hotset steer /srv/data --policy lirs --cgroup /system.slice/postgresql.service
  hotset steer /srv/data --policy arc --cgroup batch --memory 2G

No byte passes through hotset: it listens to what is read, and advises the kernel what to drop. It steers while that saves at least a tenth \
of the misses and somebody waits for storage, and only watches otherwise. End it by Ctrl-C or SIGTERM; killed in any way, it leaves a plain \
kernel behind. It needs to be run by root (docs/guide/steer-the-page-cache.md tells what it needs, costs and cannot do).")]
pub(crate) struct Steer {
    /// Directories whose files are steered; the working directory where a command is given
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// The scheme, e.g. lirs, arc, s3-fifo(small=5%) (see `hotset policies`); it must need no more than which blocks
    /// are read
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
    /// Listen to every single read in order, which costs each reader a little more
    #[arg(long)]
    exact: bool,
    /// Write what was done as JSON as well; `-` is standard output, in place of words
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A command to run in a control group of its own with a limit of --memory; its exit status becomes that of hotset
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Steer {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let policy = PolicySpec::parse(&self.policy)
            .map_err(|error| Failure::spec("--policy", &self.policy, &error))?
            .set_in(Setting::Serving);
        let directories = self.directories()?;
        match (&self.cgroup, self.memory) {
            (Some(cgroup), memory) => {
                let group = Hierarchy::find()?.group(cgroup)?;
                let mut claims = claims(&directories)?;
                claims.push(claimed(group.folder())?);
                let session = self.session(policy, memory, group, directories)?;
                running::watch(session, self.json.as_deref())
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
                match self.session(policy, None, made.group().clone(), directories) {
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
        let settings =
            Settings { policy, block: self.block, memory, group: Some(group), directories, always: self.always };
        Ok(Session::new(settings, self.feed()?)?)
    }

    /// The best feed that can be had.
    fn feed(&self) -> Result<Box<dyn Feed>, Failure> {
        let options = Options { pages_per_stamp: pages_per_stamp(self.block), ..Options::default() };
        let kinds = if self.exact { &[Kind::Ring][..] } else { &Kind::ALL[..] };
        let mut opened = kinds.iter().filter_map(|&kind| hotset_feed::open(kind, &options).ok());
        opened.next().ok_or_else(|| Failure::Work(available().to_string()))
    }
}

fn claims(directories: &[PathBuf]) -> Result<Vec<Claim>, Failure> {
    directories.iter().map(|directory| claimed(directory)).collect()
}

/// Makes sure that nobody else steers what is at `place`.
fn claimed(place: &Path) -> Result<Claim, Failure> {
    let shown = place.display();
    let failed = |error| Failure::Work(format!("cannot find out whether {shown} is steered already: {error}"));
    let about = fs::metadata(place).map_err(failed)?;
    let claimed = claim(&format!("steer-{}-{}", about.dev(), about.ino())).map_err(failed)?;
    claimed.ok_or_else(|| {
        Failure::Work(format!("{shown} is steered by another hotset already: end that one first, or name another"))
    })
}

impl From<SteerError> for Failure {
    fn from(error: SteerError) -> Failure {
        match error {
            SteerError::Policy(_)
            | SteerError::Kinds { .. }
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
