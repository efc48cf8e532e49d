//! The memory for this process: the machine's, what its control groups allow (cgroups(7), versions 1 and 2), and what
//! its limits of address space and data allow (getrlimit(2)).

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use hotset_core::spec::Value;
use rustix::process::{Resource, getrlimit};

/// Bytes of memory, as far as the system tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The machine's.
    pub machine: Option<u64>,
    /// The least that any control group of this process allows.
    pub group: Option<u64>,
    /// What `ulimit -v` and `ulimit -d` allow.
    pub process: Option<u64>,
}

impl Memory {
    /// All memory, used or not.
    pub fn total() -> Memory {
        Memory {
            machine: meminfo("MemTotal:"),
            group: groups().filter_map(|group| group.limit()).min(),
            process: limits().into_iter().filter_map(|(limit, _)| limit).min(),
        }
    }

    /// Unused memory.
    pub fn available() -> Memory {
        let left = |(limit, used): (Option<u64>, &str)| Some(limit?.saturating_sub(own(used).unwrap_or(0)));
        Memory {
            machine: meminfo("MemAvailable:"),
            group: groups().filter_map(|group| group.left()).min(),
            process: limits().into_iter().filter_map(left).min(),
        }
    }

    /// The least of them.
    pub fn least(self) -> Option<u64> {
        [self.machine, self.group, self.process].into_iter().flatten().min()
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A group that allows more than the machine has limits nothing; in version 1 every group reports such a limit.
        let limits = |bytes: &u64| self.machine.is_none_or(|machine| *bytes < machine);
        let parts = [
            ("this machine has", self.machine),
            ("the control group allows", self.group.filter(limits)),
            ("ulimit -v allows", self.process.filter(limits)),
        ];
        let told =
            parts.into_iter().filter_map(|(who, bytes)| Some(format!("{who} {}", Value::Size(bytes? >> 20 << 20))));
        let told: Vec<String> = told.collect();
        match told.as_slice() {
            [] => f.write_str("the system does not say what it has"),
            [one] => f.write_str(one),
            [first @ .., last] => write!(f, "{}, and {last}", first.join(", ")),
        }
    }
}

/// Used where the system does not say what it has.
const FALLBACK_BYTES: u64 = 2 << 30;

/// Default memory budget of one task in bytes: half of the memory that is available to this process.
pub fn budget() -> u64 {
    Memory::available().least().unwrap_or(FALLBACK_BYTES) / 2
}

/// The limits of this process, and the line of `/proc/self/status` that says how much of each is used.
fn limits() -> [(Option<u64>, &'static str); 2] {
    let current = |resource| getrlimit(resource).current;
    [(current(Resource::As), "VmSize:"), (current(Resource::Data), "VmData:")]
}

/// A line of `/proc/self/status` in bytes.
fn own(key: &str) -> Option<u64> {
    kibibytes("/proc/self/status", key)
}

fn meminfo(key: &str) -> Option<u64> {
    kibibytes("/proc/meminfo", key)
}

/// The value of a line `key N kB`, in bytes.
fn kibibytes(file: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// A control group: its folder, and the names of the files that tell its limit and its use.
struct Group {
    folder: PathBuf,
    limit: &'static str,
    used: &'static str,
}

impl Group {
    fn read(&self, name: &str) -> Option<u64> {
        // A group without a limit says `max` in version 2, and more than any machine has in version 1.
        fs::read_to_string(self.folder.join(name)).ok()?.trim().parse().ok()
    }

    fn limit(&self) -> Option<u64> {
        self.read(self.limit)
    }

    fn left(&self) -> Option<u64> {
        Some(self.limit()?.saturating_sub(self.read(self.used)?))
    }
}

/// The groups of this process that may limit memory, and those that they are in.
fn groups() -> impl Iterator<Item = Group> {
    let lines = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    groups_of(&lines, Path::new("/sys/fs/cgroup")).into_iter()
}

/// The same out of the lines of `/proc/PID/cgroup`, with what is mounted at `root`.
fn groups_of(lines: &str, root: &Path) -> Vec<Group> {
    let mut groups = Vec::new();
    for line in lines.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (mounted, limit, used) = match controllers {
            "" => (root.to_owned(), "memory.max", "memory.current"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => continue,
        };
        // In a container the path may be the host's, of which there is nothing here but the top.
        let path = Path::new(path.trim_start_matches('/'));
        groups.extend(path.ancestors().map(|path| Group { folder: mounted.join(path), limit, used }));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least limit, and the remainder of each, where `files` are in the folder of control groups.
    fn least(lines: &str, files: &[(&str, &str)]) -> (Option<u64>, Option<u64>) {
        let root = tempfile::TempDir::new().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let groups = groups_of(lines, root.path());
        (groups.iter().filter_map(Group::limit).min(), groups.iter().filter_map(Group::left).min())
    }

    #[test]
    fn the_least_limit_of_all_groups_above_holds() {
        let two = [
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.current", "7\n"),
            ("a/memory.max", "1000\n"),
            ("a/memory.current", "400\n"),
            ("memory.max", "2000\n"),
            ("memory.current", "1500\n"),
        ];
        assert_eq!(least("0::/a/b\n", &two), (Some(1000), Some(500)));
        assert_eq!(least("0::/\n", &two), (Some(2000), Some(500)));
        let one = [("memory/a/memory.limit_in_bytes", "300\n"), ("memory/a/memory.usage_in_bytes", "400\n")];
        assert_eq!(least("5:cpu,memory:/a\n4:cpuset:/a/b\n", &one), (Some(300), Some(0)));
    }

    #[test]
    fn what_is_not_there_limits_nothing() {
        assert_eq!(least("0::/../../elsewhere\nno line\n", &[]), (None, None));
        let top = [("memory/memory.limit_in_bytes", "300\n")];
        assert_eq!(least("3:memory:/docker/0123\n", &top), (Some(300), None), "the host's path");
    }

    #[test]
    fn a_group_is_told_of_where_it_limits() {
        let told = |machine, group| Memory { machine, group, process: None }.to_string();
        let (small, large) = (Some(1 << 30), Some(4 << 30));
        assert_eq!(told(large, small), "this machine has 4G, and the control group allows 1G");
        assert_eq!(told(small, Some(i64::MAX as u64)), "this machine has 1G");
        assert_eq!(told(None, small), "the control group allows 1G");
        let all = Memory { machine: large, group: small, process: small }.to_string();
        assert_eq!(all, "this machine has 4G, the control group allows 1G, and ulimit -v allows 1G");
    }

    #[test]
    fn this_machine_has_memory() {
        let (total, available) = (Memory::total(), Memory::available());
        assert!(available.least().unwrap() > 0 && available.machine < total.machine, "{available:?} of {total:?}");
    }
}
