//! `hotset run`: a program whose large allocations are paged under a policy.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Write, stderr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use clap::Args;
use hotset_core::spec::Value;
use hotset_core::words::reason;
use hotset_pager::control::{Control, State, VARIABLE};
use hotset_pager::program::{self, ProgramError};
use hotset_pager::{PAGE, PagerError, PagerSettings, Region};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::command::record::status;
use crate::failure::Failure;
use crate::output::{human, note};

/// The library that the program loads.
const LIBRARY: &str = "libhotset_preload.so";

const AFTER: &str = "\
Examples:
  hotset run --memory 512M -- python3 train.py
  hotset run --memory 2G --policy clock --swap /data/tmp -- ./solver

Allocations of at least 40 KB are placed in a private, unlinked file below --swap, which is on ext4 or XFS. The kernel reads pages on demand; a thread in the program evicts pages by the policy. Other memory is not limited. A program that fills memory faster than the device can take it is held back, and may exceed --memory for moments; the end of the run states the most.

It needs Linux 6.7 and no privileges. A fork of a program with several threads fails with EAGAIN; the child of another fork gets a copy as ordinary memory. Programs that are linked statically or change users are refused (docs/guide/page-a-program.md).";

/// Run a program with its large allocations paged under a policy
#[derive(Args)]
#[command(after_help = AFTER)]
pub(crate) struct Run {
    /// Memory for large allocations
    #[arg(long, value_name = "SIZE", value_parser = Value::capacity)]
    memory: u64,
    /// Replacement policy, of those that need no call on a hit
    #[arg(short, long, value_name = "POLICY", default_value = "eta")]
    policy: String,
    /// Folder for evicted pages
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    swap: PathBuf,
    /// Do not read ahead of sweeps
    #[arg(long)]
    no_read_ahead: bool,
    /// Also page the programs that it starts, each with its own memory
    #[arg(long)]
    children: bool,
    /// Program to run, and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Run {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let swap = fs::canonicalize(&self.swap)
            .map_err(|error| Failure::Usage(format!("--swap: {}: {}", self.swap.display(), reason(&error))))?;
        let settings =
            PagerSettings::new(self.memory, &self.policy, swap, !self.no_read_ahead).map_err(|error| match error {
                PagerError::Policy(error) => Failure::spec("--policy", &self.policy, &error),
                error => Failure::Usage(error.to_string()),
            })?;
        let path = find(&self.command[0])?;
        program::check(&path).map_err(|error| match error {
            ProgramError::Unreadable(..) => Failure::NotStarted(error.to_string()),
            ProgramError::Unsupported(..) => Failure::Work(error.to_string()),
        })?;
        // What the program would find out too late.
        let tried = Region::create(&settings.folder, 1).and_then(|mut region| region.try_out());
        tried.map_err(|error| Failure::Work(error.to_string()))?;
        let library = library()?;
        let failed =
            |error: std::io::Error| Failure::Work(format!("cannot write a temporary file: {}", reason(&error)));
        let mut file = tempfile::NamedTempFile::with_prefix("hotset-run-").map_err(failed)?;
        let control = Control::create(file.as_file_mut(), &settings, self.children).map_err(failed)?;
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).env(VARIABLE, file.path()).env("LD_PRELOAD", preload(&library));
        control.admit_child(&mut command);
        note(
            "paging makes a program slower than enough memory does; the kernel's swap is faster than this for some programs, \
             such as sorting and k-means, and slower for sweeps",
        );
        let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]).map_err(failed)?;
        let mut child = command.spawn().map_err(|error| Failure::not_started(&self.command[0], &error))?;
        let ended = wait(&mut child, &mut signals).map_err(failed)?;
        self.say(&control, &settings)?;
        match status(ended) {
            0 => Ok(()),
            status => Err(Failure::Status(status)),
        }
    }

    /// Says what was done, beside the program's own output.
    fn say(&self, control: &Control, settings: &PagerSettings) -> Result<(), Failure> {
        let (counts, name) = (control.counts(), Path::new(&self.command[0]).display());
        let mut err = stderr().lock();
        match control.state() {
            State::Absent => writeln!(err, "hotset: {name}: its memory was not paged: it did not load {LIBRARY}")?,
            State::Loaded => writeln!(err, "hotset: {name}: nothing was paged: no allocation has 40 KB")?,
            State::Stopped if counts.faults == 0 => {
                writeln!(err, "hotset: {name}: its memory was not paged: {}", control.message())?;
            }
            State::Stopped => writeln!(err, "hotset: {name}: paging stopped: {}", control.message())?,
            State::Failed => writeln!(err, "hotset: {name}: {}", control.message())?,
            State::Paging => {}
        }
        if counts.faults > 0 {
            let size = |pages: u64| human::bytes(pages * PAGE as u64);
            writeln!(
                err,
                "hotset: {} in {}: {}, {} ({} written back), {} read ahead, at most {} in memory, held back {}",
                settings.policy,
                size(settings.frames.into()),
                human::counted(counts.faults, "fault"),
                human::counted(counts.evictions, "eviction"),
                human::count(counts.written),
                human::counted(counts.read_ahead, "page"),
                size(counts.peak),
                human::counted(counts.holds, "time"),
            )?;
        }
        if control.ordinary() > 0 {
            let count = human::counted(control.ordinary(), "large allocation");
            writeln!(err, "hotset: {name}: {count} could not be paged and went to ordinary memory")?;
        }
        Ok(())
    }
}

/// Finds a program as a shell does.
fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    if name.as_encoded_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let is_program =
        |path: &PathBuf| fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    let found = env::split_paths(&folders).map(|folder| folder.join(name)).find(is_program);
    found.ok_or_else(|| Failure::NotStarted(format!("cannot run {}: it does not exist", name.display())))
}

/// Finds the library: beside the command, where cargo builds it, or where packages install it.
fn library() -> Result<PathBuf, Failure> {
    let own = env::current_exe().unwrap_or_default();
    let folder = own.parent().unwrap_or(Path::new("/"));
    let places = ["deps", ".", "../lib/hotset"].map(|place| folder.join(place).join(LIBRARY));
    let found = places.iter().find(|place| place.is_file());
    found.map(|place| fs::canonicalize(place).unwrap_or_else(|_| place.clone())).ok_or_else(|| {
        let message =
            format!("{LIBRARY} is missing: expected it in {}, or in ../lib/hotset from there", folder.display());
        Failure::Work(message)
    })
}

/// The libraries to load before others: ours, then those that the user has.
fn preload(library: &Path) -> OsString {
    let mut value = library.as_os_str().to_owned();
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    value
}

/// Waits for the program. Signals that only this process got are passed on; those of the terminal reach both.
fn wait(child: &mut Child, signals: &mut Signals) -> std::io::Result<ExitStatus> {
    let handle = signals.handle();
    let pid = Pid::from_child(child);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for signal in signals.forever() {
                if let Some(signal) = Signal::from_named_raw(signal).filter(|_| [SIGHUP, SIGTERM].contains(&signal)) {
                    // The program may have ended meanwhile; its number stays reserved until it is waited for.
                    let _ = kill_process(pid, signal);
                }
            }
        });
        let ended = child.wait();
        handle.close();
        ended
    })
}
