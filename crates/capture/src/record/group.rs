//! Control groups, of either version: their folders and their processes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hotset_feed::calls::CgroupPath;

use super::RecordError;

/// A control group's folder.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// How the kernel calls it.
    pub group: CgroupPath,
}

impl Folder {
    /// The control group with this folder, as `/sys/fs/cgroup/system.slice/x.service`, or of this name, as the kernel
    /// tells it of a process (`/system.slice/x.service`).
    pub(super) fn of(path: &Path) -> Result<Folder, RecordError> {
        let none = |why: String| RecordError::NoGroup { path: path.to_owned(), why };
        let read = |name: &str| fs::read_to_string(name).map_err(|error| none(format!("{name}: {error}")));
        let (mounts, groups) = (read("/proc/self/mountinfo")?, read("/proc/self/cgroup")?);
        let inside = path.strip_prefix("/").unwrap_or(path);
        let full = first([path.to_owned()].into_iter().chain(below(&mounts, inside)))
            .ok_or_else(|| none("neither a folder with a cgroup.procs in it nor the name of a group".to_owned()))?;
        let full = fs::canonicalize(full).map_err(|error| none(error.to_string()))?;
        let group = find(&full, &mounts, &groups).ok_or_else(|| none("no hierarchy is mounted there".to_owned()))?;
        Ok(Folder { path: full, group })
    }

    /// Processes in it and below it.
    pub(super) fn processes(&self) -> Result<Vec<u32>, RecordError> {
        let mut processes = Vec::new();
        collect(&self.path, &mut processes)
            .map_err(|error| RecordError::NoGroup { path: self.path.clone(), why: error.to_string() })?;
        Ok(processes)
    }
}

/// The folder of a service of systemd.
///
/// # Errors
///
/// No hierarchy has one of this name.
pub fn of_service(name: &str) -> Result<PathBuf, RecordError> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let unit = if name.contains('.') { name.to_owned() } else { format!("{name}.service") };
    first(below(&mounts, &Path::new("system.slice").join(&unit))).ok_or_else(|| RecordError::NoGroup {
        path: PathBuf::from(unit),
        why: "no control group of the system's services has this name; is it running?".to_owned(),
    })
}

/// Where a group of this name would be, in each hierarchy.
fn below<'a>(mounts: &'a str, name: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    hierarchies(mounts).map(move |mount| Path::new(mount.point).join(name))
}

/// The first that is a group.
fn first(mut folders: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    folders.find(|folder| folder.join("cgroup.procs").is_file())
}

/// The control group that a process is in: the one of version 2 unless it is the root, else that of its memory.
pub(super) fn of_process(process: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    let group = |wanted: &str| {
        let mut groups = text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        groups.find(|(controllers, _)| controllers.split(',').any(|name| name == wanted)).map(|(_, path)| path)
    };
    let found = group("").filter(|path| *path != "/").or_else(|| group("memory")).or_else(|| group(""))?;
    Some(found.replace(char::is_control, "\u{fffd}"))
}

/// A mounted hierarchy.
struct Mount<'a> {
    /// What of it is mounted.
    root: &'a str,
    point: &'a str,
    /// Its controllers; none in version 2.
    controllers: Option<&'a str>,
}

fn hierarchies(mounts: &str) -> impl Iterator<Item = Mount<'_>> {
    mounts.lines().filter_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let place: Vec<&str> = place.split(' ').collect();
        let kind: Vec<&str> = kind.split(' ').collect();
        let controllers = match *kind.first()? {
            "cgroup2" => None,
            "cgroup" => Some(*kind.get(2)?),
            _ => return None,
        };
        Some(Mount { root: place.get(3)?, point: place.get(4)?, controllers })
    })
}

/// How the kernel calls the control group of a folder.
fn find(folder: &Path, mounts: &str, groups: &str) -> Option<CgroupPath> {
    let mount =
        hierarchies(mounts).filter(|mount| folder.starts_with(mount.point)).max_by_key(|mount| mount.point.len())?;
    let below = folder.strip_prefix(mount.point).ok()?;
    let path = Path::new(mount.root).join(below);
    let hierarchy = match mount.controllers {
        None => 0,
        Some(options) => groups.lines().find_map(|line| {
            let (number, rest) = line.split_once(':')?;
            let (controllers, _) = rest.split_once(':')?;
            let is_it = !controllers.is_empty()
                && controllers.split(',').all(|name| options.split(',').any(|option| option == name));
            is_it.then(|| number.parse().ok())?
        })?,
    };
    let path = path.to_str()?.trim_end_matches('/');
    Some(CgroupPath { hierarchy, path: path.as_bytes().to_vec() })
}

fn collect(folder: &Path, processes: &mut Vec<u32>) -> io::Result<()> {
    let text = fs::read_to_string(folder.join("cgroup.procs"))?;
    processes.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            // A group that was removed meanwhile has no processes.
            match collect(&entry.path(), processes) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "30 25 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n\
        31 30 0:27 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw\n\
        32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        33 30 0:29 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
    const GROUPS: &str = "5:cpu,cpuacct:/docker/abc\n4:memory:/\n1:name=systemd:/\n0::/x\n";

    #[test]
    fn a_folder_is_found_in_its_hierarchy() {
        let found = |folder: &str| find(Path::new(folder), MOUNTS, GROUPS);
        let group = |hierarchy, path: &str| Some(CgroupPath { hierarchy, path: path.as_bytes().to_vec() });
        assert_eq!(found("/sys/fs/cgroup/unified/system.slice/x"), group(0, "/system.slice/x"));
        assert_eq!(found("/sys/fs/cgroup/memory/batch"), group(4, "/batch"));
        assert_eq!(found("/sys/fs/cgroup/cpu/inner"), group(5, "/docker/abc/inner"));
        assert_eq!(found("/home"), None);
    }
}
