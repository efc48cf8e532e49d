//! Control groups, version 1 and 2: what one says of its memory, and one made for a command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process};

use crate::error::{SteerError, io as at};

/// Statistics of a control group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Its limit in bytes, or that of a group around it; none if there is none.
    pub limit: Option<u64>,
    /// Bytes that reading files cannot push out: anonymous memory, shared memory, the kernel's own.
    pub fixed: u64,
}

/// The two ways in which kernels offer control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Where control groups with a controller of memory are.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    version: Version,
    root: PathBuf,
    /// The group of this process in it, from the root on.
    own: PathBuf,
}

impl Hierarchy {
    /// The machine's.
    ///
    /// # Errors
    ///
    /// There is none, or what it is cannot be read.
    pub fn find() -> Result<Hierarchy, SteerError> {
        let text = |file: &str| fs::read_to_string(file).map_err(at(format!("read {file}")));
        Hierarchy::told(&text("/proc/self/mounts")?, &text("/proc/self/cgroup")?).ok_or_else(|| SteerError::Io {
            what: "find control groups with a controller of memory in /proc/self/mounts".to_owned(),
            error: io::ErrorKind::NotFound.into(),
        })
    }

    /// Out of the kernel's lists of mounts and of groups of this process.
    fn told(mounts: &str, groups: &str) -> Option<Hierarchy> {
        let found = mounts.lines().filter_map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let (&place, &kind, &options) = (words.get(1)?, words.get(2)?, words.get(3)?);
            let version = match kind {
                "cgroup" if options.split(',').any(|option| option == "memory") => Version::One,
                "cgroup2" => Version::Two,
                _ => return None,
            };
            Some((version, PathBuf::from(place)))
        });
        // Where both are mounted the first has the controller.
        let (version, root) = found.min_by_key(|(version, _)| *version == Version::Two)?;
        let own = groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let is_it = match version {
                Version::One => controllers.split(',').any(|name| name == "memory"),
                Version::Two => controllers.is_empty(),
            };
            is_it.then(|| PathBuf::from(path.trim_start_matches('/')))
        })?;
        Some(Hierarchy { version, root, own })
    }

    /// The group at `path`, which may be given from the root of the file system or of the hierarchy on.
    ///
    /// # Errors
    ///
    /// The group does not exist or has no controller of memory.
    pub fn group(&self, path: &Path) -> Result<Cgroup, SteerError> {
        let inside = self.root.join(path.strip_prefix("/").unwrap_or(path));
        let found = [path.to_owned(), inside].into_iter().find_map(|folder| Cgroup::at(&folder));
        found.ok_or_else(|| SteerError::NoCgroup {
            cgroup: path.to_owned(),
            example: self.root.join("system.slice/postgresql.service").display().to_string(),
        })
    }

    /// Makes a group with a limit of `bytes`, for a command. It is removed by [`Made::remove`].
    ///
    /// # Errors
    ///
    /// The system does not let this user make one.
    pub fn make(&self, name: &str, bytes: u64) -> Result<Made, SteerError> {
        let made = self.make_without_limit(name)?;
        let limit = made.group.limit_file();
        made.set(limit, bytes)
    }

    /// Makes a group for a command whose page cache is kept small by [`Made::keep_cache_small`]. Processes in it are
    /// never killed for lack of memory: they wait until the limit is raised. It is removed by [`Made::remove`].
    ///
    /// # Errors
    ///
    /// The system does not let this user make one.
    pub fn make_small(&self, name: &str, cache_bytes: u64) -> Result<Made, SteerError> {
        let made = self.make_without_limit(name)?;
        match made.group.version {
            Version::One => made.set("memory.oom_control", 1)?.set("memory.limit_in_bytes", cache_bytes),
            Version::Two => made.set("memory.high", cache_bytes),
        }
    }

    fn make_without_limit(&self, name: &str) -> Result<Made, SteerError> {
        // Below one's own group where that may be; a group of version 2 that has processes has no groups with limits.
        let parent = if self.version == Version::One { self.root.join(&self.own) } else { self.root.clone() };
        let folder = parent.join(name);
        if self.version == Version::Two {
            let switch = parent.join("cgroup.subtree_control");
            fs::write(&switch, "+memory").map_err(at(format!("give groups limits by {}", switch.display())))?;
        }
        fs::create_dir(&folder).map_err(at(format!("make the control group {}", folder.display())))?;
        Ok(Made {
            group: Cgroup { version: self.version, folder },
            home: self.root.join(&self.own),
            extra: AtomicU64::new(0),
        })
    }
}

/// A control group.
#[derive(Clone, Debug)]
pub struct Cgroup {
    version: Version,
    folder: PathBuf,
}

impl Cgroup {
    fn at(folder: &Path) -> Option<Cgroup> {
        let versions = [Version::One, Version::Two].into_iter();
        let mut found = versions.map(|version| Cgroup { version, folder: folder.to_owned() });
        found.find(|group| group.folder.join(group.limit_file()).is_file())
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn limit_file(&self) -> &'static str {
        match self.version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        }
    }

    /// Reads its statistics.
    ///
    /// # Errors
    ///
    /// It is gone.
    pub fn read(&self) -> io::Result<Reading> {
        let stat = fs::read_to_string(self.folder.join("memory.stat"))?;
        let of = |keys: &[&str]| keys.iter().filter_map(|key| value(&stat, key)).sum();
        Ok(match self.version {
            Version::One => Reading {
                limit: value(&stat, "hierarchical_memory_limit").filter(|&limit| limit < UNLIMITED),
                fixed: of(&["total_rss", "total_shmem"])
                    + self.number("memory.kmem.usage_in_bytes").unwrap_or_default(),
            },
            Version::Two => Reading { limit: self.least_limit(), fixed: of(&["anon", "shmem", "kernel"]) },
        })
    }

    /// The least limit of the group and of those around it.
    fn least_limit(&self) -> Option<u64> {
        let limit = |folder: &Path| {
            let text = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
            text("memory.max").into_iter().chain(text("memory.high")).min()
        };
        self.folder.ancestors().filter_map(limit).min()
    }

    /// Bytes that only the processes themselves can give back.
    fn unreclaimable(&self) -> io::Result<u64> {
        let stat = fs::read_to_string(self.folder.join("memory.stat"))?;
        let of = |key: &str| value(&stat, key).unwrap_or(0);
        Ok(match self.version {
            Version::One => of("total_rss") + of("total_shmem"),
            Version::Two => of("anon") + of("shmem") + of("kernel").saturating_sub(of("slab_reclaimable")),
        })
    }

    fn number(&self, file: &str) -> Option<u64> {
        fs::read_to_string(self.folder.join(file)).ok()?.trim().parse().ok()
    }
}

/// Version 1 says of groups without a limit that they have one of so many bytes or more.
const UNLIMITED: u64 = 1 << 60;

/// The value of a line `key value`.
fn value(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

/// A group that was made for a command.
#[derive(Debug)]
pub struct Made {
    group: Cgroup,
    /// The group of this process.
    home: PathBuf,
    /// Bytes that the limit of [`Made::keep_cache_small`] was raised by, since processes waited for memory.
    extra: AtomicU64,
}

impl Made {
    /// The group.
    pub fn group(&self) -> &Cgroup {
        &self.group
    }

    /// Writes a setting of the new group. The group is removed if the system refuses.
    fn set(self, file: &str, value: u64) -> Result<Made, SteerError> {
        let path = self.group.folder.join(file);
        match fs::write(&path, value.to_string()) {
            Ok(()) => Ok(self),
            Err(error) => {
                // The first error is the one to report.
                let _ = self.remove();
                Err(SteerError::Io { what: format!("set {}", path.display()), error })
            }
        }
    }

    /// Sets the limit of a group of [`Hierarchy::make_small`] to what its processes need for themselves and
    /// `cache_bytes` of page cache. Call it every few milliseconds while the command runs.
    ///
    /// # Errors
    ///
    /// The group is gone.
    pub fn keep_cache_small(&self, cache_bytes: u64) -> io::Result<()> {
        let mut limit = self.group.unreclaimable()? + cache_bytes;
        let file = match self.group.version {
            Version::One => {
                // Locked pages and the kernel's own memory count, too: the statistics do not name them.
                let state = fs::read_to_string(self.group.folder.join("memory.oom_control"))?;
                let waits = value(&state, "under_oom") == Some(1);
                let more = if waits { cache_bytes } else { 0 };
                limit += self.extra.fetch_add(more, Ordering::Relaxed) + more;
                "memory.limit_in_bytes"
            }
            Version::Two => "memory.high",
        };
        match fs::write(self.group.folder.join(file), limit.to_string()) {
            // The kernel cannot free enough now; the old limit holds until the next call.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(()),
            written => written,
        }
    }

    /// Bytes that its processes need for themselves: the page cache does not count.
    ///
    /// # Errors
    ///
    /// The group is gone.
    pub fn own_bytes(&self) -> io::Result<u64> {
        self.group.unreclaimable()
    }

    /// Drops the page cache of a group without processes.
    pub fn drop_cache(&self) {
        // The pages stay where the kernel refuses, as those of any program that has ended.
        let _ = match self.group.version {
            Version::One => fs::write(self.group.folder.join("memory.force_empty"), "0"),
            Version::Two => fs::write(self.group.folder.join("memory.high"), "0"),
        };
    }

    /// Starts a command in it: this process goes in, and leaves it when the command has started.
    ///
    /// # Errors
    ///
    /// The command cannot be started, or this process cannot be moved.
    pub fn start(&self, command: &mut Command) -> io::Result<Child> {
        move_here(&self.group.folder)?;
        let started = command.spawn();
        let back = move_here(&self.home);
        let child = started?;
        back.map(|()| child)
    }

    /// Processes in it.
    pub fn processes(&self) -> usize {
        self.pids().len()
    }

    fn pids(&self) -> Vec<Pid> {
        let text = fs::read_to_string(self.group.folder.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
    }

    /// Kills all processes in it, also those that start meanwhile, and waits for their end, 2 s at most. The caller
    /// still has to wait for its child.
    pub fn kill(&self) {
        for _ in 0..200 {
            let pids = self.pids();
            if pids.is_empty() {
                return;
            }
            // Own threads are here only if `start` could not move them back.
            for pid in pids.into_iter().filter(|pid| *pid != getpid()) {
                // The process may already have ended.
                let _ = kill_process(pid, Signal::KILL);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Removes it. The kernel may still be at the end of its last process: that is waited for, 2 s at most.
    ///
    /// # Errors
    ///
    /// Processes are in it.
    pub fn remove(self) -> Result<(), SteerError> {
        let folder = self.group.folder;
        let mut removed = fs::remove_dir(&folder);
        for _ in 0..20 {
            if !removed.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy) {
                break;
            }
            thread::sleep(Duration::from_millis(100));
            removed = fs::remove_dir(&folder);
        }
        removed.map_err(at(format!("remove the control group {}", folder.display())))
    }
}

/// Moves this process, all its threads, into a group.
fn move_here(folder: &Path) -> io::Result<()> {
    fs::write(folder.join("cgroup.procs"), std::process::id().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
        folder
    }

    #[test]
    fn the_first_version_is_read() {
        let stat = "cache 5\nrss 1\nhierarchical_memory_limit 268435456\ntotal_rss 1048576\ntotal_rss_huge 7\ntotal_shmem 4096\n";
        let files =
            [("memory.stat", stat), ("memory.limit_in_bytes", "268435456\n"), ("memory.kmem.usage_in_bytes", "8192\n")];
        let folder = folder(&files);
        let group = Cgroup::at(folder.path()).unwrap();
        let expected = Reading { limit: Some(256 * MIB), fixed: MIB + 4096 + 8192 };
        assert_eq!(group.read().unwrap(), expected);
        fs::write(folder.path().join("memory.stat"), "hierarchical_memory_limit 9223372036854771712\n").unwrap();
        assert_eq!(group.read().unwrap().limit, None);
    }

    #[test]
    fn the_second_version_is_read_and_the_groups_around_count() {
        let outer = folder(&[("memory.max", "134217728\n")]);
        let inner = outer.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let stat = "anon 1048576\nfile 77\nkernel 4096\nshmem 0\n";
        for (name, text) in [("memory.max", "max\n"), ("memory.stat", stat)] {
            fs::write(inner.join(name), text).unwrap();
        }
        let group = Cgroup::at(&inner).unwrap();
        let expected = Reading { limit: Some(128 * MIB), fixed: MIB + 4096 };
        assert_eq!(group.read().unwrap(), expected);
    }

    #[test]
    fn the_hierarchy_with_memory_is_found() {
        let mounts = "cgroup /cg/cpu cgroup rw,cpu 0 0\ncgroup /cg/memory cgroup rw,relatime,memory 0 0\ncgroup2 /cg/unified cgroup2 rw 0 0\n";
        let found = Hierarchy::told(mounts, "4:memory:/jobs/a\n0::/other\n").unwrap();
        assert_eq!(
            (found.version, found.root.as_path(), found.own.as_path()),
            (Version::One, Path::new("/cg/memory"), Path::new("jobs/a"))
        );
        let found = Hierarchy::told("cgroup2 /cg cgroup2 rw 0 0\n", "0::/user.slice\n").unwrap();
        assert_eq!(
            (found.version, found.root.as_path(), found.own.as_path()),
            (Version::Two, Path::new("/cg"), Path::new("user.slice"))
        );
        let error = found.group(Path::new("/nowhere")).unwrap_err().to_string();
        assert_eq!(
            error,
            "/nowhere is not a control group with a controller of memory: expected the path of one, as in /cg/system.slice/postgresql.service"
        );
    }

    #[test]
    fn a_command_runs_in_a_group_of_its_own() {
        let made =
            Hierarchy::find().and_then(|found| found.make(&format!("hotset-test-{}", std::process::id()), 64 * MIB));
        let made = match made {
            Ok(made) => made,
            Err(error) => return println!("NOT RUN: no control group can be made here: {error}"),
        };
        assert_eq!(made.group().read().unwrap().limit, Some(64 * MIB));
        let mut child = made.start(Command::new("sleep").arg("60")).unwrap();
        assert_eq!(made.processes(), 1, "this process has left again");
        child.kill().unwrap();
        child.wait().unwrap();
        let mut shell = made.start(Command::new("sh").args(["-c", "sleep 60 & sleep 60; true"])).unwrap();
        made.kill();
        assert!(shell.wait().unwrap().code().is_none(), "it was killed");
        assert_eq!(made.processes(), 0, "and so was what it started");
        let folder = made.group().folder().to_owned();
        made.remove().unwrap();
        assert!(!folder.exists());
    }

    #[test]
    fn a_command_with_a_small_cache_gets_the_memory_that_it_needs() {
        let made = Hierarchy::find()
            .and_then(|found| found.make_small(&format!("hotset-small-{}", std::process::id()), 16 * MIB));
        let made = match made {
            Ok(made) => made,
            Err(error) => return println!("NOT RUN: no control group can be made here: {error}"),
        };
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let large = folder.path().join("large");
        fs::write(&large, vec![1; 64 << 20]).unwrap();
        let file = fs::File::open(&large).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        // It holds 128 MiB, more than its group allows at first, and reads a file of 64 MiB.
        let script = "x=$(head -c 128M /dev/zero | tr '\\0' x); cat \"$0\" > /dev/null; echo ${#x}";
        let mut command = Command::new("bash");
        command.args(["-c", script]).arg(&large).stdout(std::process::Stdio::piped());
        let mut child = made.start(&mut command).unwrap();
        while child.try_wait().unwrap().is_none() {
            made.keep_cache_small(16 * MIB).unwrap();
            thread::sleep(Duration::from_millis(5));
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), (128 * MIB).to_string());
        let cached = crate::resident_bytes(&file).unwrap();
        assert!(cached <= 32 * MIB, "{cached} bytes");
        made.drop_cache();
        made.remove().unwrap();
        assert_eq!(crate::resident_bytes(&file).unwrap(), 0);
    }
}
