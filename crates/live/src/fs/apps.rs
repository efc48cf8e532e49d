//! Who asks: the application behind a request, found out once at each open.

use std::fs;
use std::path::Path;

/// What applications are told apart by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AppBy {
    /// The program that runs.
    #[default]
    Exe,
    /// The control group.
    Cgroup,
    /// The user.
    Uid,
    /// The process.
    Pid,
}

impl AppBy {
    /// The name of the application of process `pid` of user `uid`.
    pub fn name(self, pid: u32, uid: u32) -> String {
        match self {
            AppBy::Exe => exe(pid).unwrap_or_else(|| "unknown".to_owned()),
            AppBy::Cgroup => cgroup(pid).unwrap_or_else(|| "unknown".to_owned()),
            AppBy::Uid => format!("uid {uid}"),
            AppBy::Pid => format!("pid {pid}"),
        }
    }
}

/// The last component of the program's path; threads of the kernel have none.
fn exe(pid: u32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(name.strip_suffix(" (deleted)").unwrap_or(&name).to_owned())
}

/// The path of the control group, in the unified hierarchy or else in the first one.
fn cgroup(pid: u32) -> Option<String> {
    let text = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("cgroup")).ok()?;
    let line = text.lines().find(|line| line.starts_with("0::")).or_else(|| text.lines().next())?;
    line.splitn(3, ':').nth(2).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_name_of_every_kind() {
        let pid = std::process::id();
        let exe = std::env::current_exe().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(AppBy::Exe.name(pid, 7), exe);
        assert!(AppBy::Cgroup.name(pid, 7).starts_with('/'));
        assert_eq!((AppBy::Uid.name(pid, 7), AppBy::Pid.name(9, 7)), ("uid 7".to_owned(), "pid 9".to_owned()));
        assert_eq!(AppBy::Exe.name(u32::MAX, 0), "unknown");
    }
}
