//! A mount under trial: it serves the directory, and the command finds it in place of the directory.
//!
//! The mount runs in the control group of the command, so both share one limit of memory. The command runs in a
//! private mount namespace where the mount is bound over the directory; other programs see the directory itself.
//!
//! The mount is read-only, and nothing below its place is ever removed: the files there are those of the user.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use hotset_steer::Made;
use rustix::mount::UnmountFlags;
use rustix::process::{Pid, Signal, kill_process};

use crate::failure::Failure;

/// Memory that the process of a mount needs beside its cache.
const PROCESS: u64 = 48 << 20;
/// The smallest cache that is tried.
const LEAST: u64 = 16 << 20;
/// Time in which a mount must be there, or have ended.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between looks.
const STEP: Duration = Duration::from_millis(10);
/// Binds the first argument over the second, and runs the rest where it would have run, seen through the new mount.
const BOUND: &str = r#"mount --bind -- "$1" "$2" && shift 2 && exec env -C "$PWD" "$@""#;
/// Programs that this takes.
const TOOLS: [&str; 4] = ["unshare", "sh", "mount", "env"];

/// A program of [`TOOLS`] that is missing.
pub(super) fn missing_tool() -> Option<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |tool: &&str| std::env::split_paths(&path).any(|folder| folder.join(tool).is_file());
    TOOLS.into_iter().find(|tool| !is_there(tool))
}

/// The memory for the cache of a mount beside a command that needs `own` bytes; `None` if the limit leaves too little.
pub(super) fn cache_bytes(limit: u64, own: u64) -> Option<u64> {
    let bytes = limit.saturating_sub(own.saturating_add(PROCESS)) >> 20 << 20;
    (bytes >= LEAST).then_some(bytes)
}

/// A mount that runs. It ends when this is dropped.
pub(super) struct Running {
    source: PathBuf,
    /// An empty directory, which may be removed only by `rmdir`.
    place: PathBuf,
    process: Option<Child>,
}

impl Running {
    /// Mounts `source` with a cache of `bytes`, within the group.
    pub fn start(source: &Path, bytes: u64, made: &Made) -> Result<Running, Failure> {
        let place = tempfile::Builder::new().prefix("hotset-try-").tempdir().map_err(cannot)?.keep();
        let mut running = Running { source: source.to_owned(), place, process: None };
        let mut command = Command::new(std::env::current_exe().map_err(cannot)?);
        command.arg("mount").arg(source).arg(&running.place).arg("--readonly");
        command.arg("--memory").arg(bytes.to_string() + "B");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let device = fs::metadata(&running.place).map_err(cannot)?.dev();
        let process = running.process.insert(made.start(&mut command).map_err(cannot)?);
        let until = Instant::now() + PATIENCE;
        while fs::metadata(&running.place).map_err(cannot)?.dev() == device {
            if process.try_wait().map_err(cannot)?.is_some() {
                return Err(refused(source, process));
            }
            if Instant::now() > until {
                return Err(Failure::Work("the mount under trial was not there in time".to_owned()));
            }
            thread::sleep(STEP);
        }
        Ok(running)
    }

    /// The command, seeing the mount in place of the directory.
    pub fn bound(&self, command: &[OsString]) -> Vec<OsString> {
        let fixed = ["unshare", "--mount", "--propagation", "private", "sh", "-c", BOUND, "sh"];
        let places = [self.place.as_os_str().to_owned(), self.source.as_os_str().to_owned()];
        fixed.into_iter().map(OsString::from).chain(places).chain(command.iter().cloned()).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            if let Some(pid) = Pid::from_raw(process.id() as i32) {
                // It may have ended already.
                let _ = kill_process(pid, Signal::TERM);
            }
            let until = Instant::now() + PATIENCE;
            while matches!(process.try_wait(), Ok(None)) {
                if Instant::now() > until {
                    let _ = process.kill();
                    let _ = process.wait();
                    break;
                }
                thread::sleep(STEP);
            }
            // A process that was killed leaves a dead mount.
            let _ = rustix::mount::unmount(&self.place, UnmountFlags::DETACH);
        }
        // This fails if anything is still mounted, and then it must.
        let _ = fs::remove_dir(&self.place);
    }
}

/// The failure of a mount that has ended too early, in its own words.
fn refused(source: &Path, process: &mut Child) -> Failure {
    let mut text = String::new();
    if let Some(mut errors) = process.stderr.take() {
        // Without words the failure is still told.
        let _ = errors.read_to_string(&mut text);
    }
    Failure::Work(format!("{} cannot be mounted for the trial: {}", source.display(), text.trim()))
}

fn cannot(error: std::io::Error) -> Failure {
    Failure::Work(format!("cannot try a mount: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_has_what_the_command_and_the_process_leave() {
        const MIB: u64 = 1 << 20;
        assert_eq!(cache_bytes(256 * MIB, 20 * MIB), Some(188 * MIB));
        assert_eq!(cache_bytes(256 * MIB, 20 * MIB + 1), Some(187 * MIB));
        assert_eq!(cache_bytes(64 * MIB, 0), Some(16 * MIB));
        assert_eq!(cache_bytes(64 * MIB, 1), None);
        assert_eq!(cache_bytes(64 * MIB, u64::MAX), None);
    }
}
