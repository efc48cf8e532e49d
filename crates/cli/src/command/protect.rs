//! `hotset protect`: runs a command without displacing what is in the page cache.

use std::ffi::OsString;
use std::io::{Write, stderr};
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use clap::Args;
use hotset_core::spec::Value;
use hotset_core::words::reason;
use hotset_steer::{CachedPages, Hierarchy, Made};

use crate::command::steer::running::{Asked, end, pass_on, remove};
use crate::failure::Failure;
use crate::output::human;

/// Time between two settings of the limit.
const STEP: Duration = Duration::from_millis(10);

/// Run a backup, scan or copy without displacing what is in the page cache
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset protect /srv/db -- tar -cf /backup/db.tar /srv/db
  hotset protect /srv -- grep -r word /srv

The command runs in a control group whose page cache is limited to --cache. What it reads and writes is dropped there; pages that were cached before stay. The command's own memory is not limited. The exit status is the command's. It needs root, or the right to make control groups.")]
pub(crate) struct Protect {
    /// Directories and files; at the end hotset reports how much of their cached data is still cached
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Page cache of the command
    #[arg(long, value_name = "SIZE", value_parser = Value::capacity, default_value = "64M")]
    cache: u64,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The least page cache of a command: below it the kernel is busy with reclaiming.
const LEAST: u64 = 4 << 20;

impl Protect {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.cache < LEAST {
            let given = human::bytes(self.cache);
            return Err(Failure::Usage(format!("--cache {given}: expected at least {}", human::bytes(LEAST))));
        }
        for path in &self.paths {
            let absent = |error| Failure::Work(format!("cannot look at {}: {}", path.display(), reason(&error)));
            std::fs::metadata(path).map_err(absent)?;
        }
        let asked = Asked::new()?;
        let name = format!("hotset-protect-{}", std::process::id());
        let made = Hierarchy::find()?.make_small(&name, self.cache)?;
        let before = CachedPages::of(&self.paths);
        let ran = before.map_err(|error| Failure::Work(format!("cannot look into the page cache: {error}")));
        let ran = ran.and_then(|before| Ok((self.attend(&made, &asked)?, before)));
        if made.processes() == 0 {
            made.drop_cache();
        }
        // A command that has ended is reported with its own status, also where the group stays.
        let removed = remove(made);
        let (ended, before) = ran?;
        removed?;
        if !self.paths.is_empty() {
            let (had, still) = (human::bytes(before.bytes()), human::bytes(before.still_cached_bytes()));
            writeln!(stderr(), "hotset: {still} of {had} that were cached before are still cached")?;
        }
        end(ended)
    }

    /// Runs the command to its end.
    fn attend(&self, made: &Made, asked: &Asked) -> Result<std::process::ExitStatus, Failure> {
        let (program, arguments) = self.command.split_first().ok_or_else(|| Failure::Usage("no command".to_owned()))?;
        let started = made.start(Command::new(program).args(arguments));
        let mut child = started.map_err(|error| Failure::not_started(program, &error))?;
        let mut has_failed = false;
        loop {
            thread::sleep(STEP);
            if let Err(error) = made.keep_cache_small(self.cache)
                && !has_failed
            {
                has_failed = true;
                // The terminal may be closed.
                let _ = writeln!(stderr(), "hotset: cannot limit the page cache of the command: {error}");
            }
            let waited = child.try_wait();
            if let Some(ended) = waited.map_err(|error| Failure::Work(format!("cannot wait for it: {error}")))? {
                return Ok(ended);
            }
            if let Some(signal) = asked.take() {
                pass_on(&child, signal);
            }
        }
    }
}
