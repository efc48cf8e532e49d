//! The application behind a request, determined once at each open.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use hotset_cache::FileCache;

use crate::served::credentials::Caller;

/// How applications are distinguished.
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
    /// The name of the application of user `uid` of which `pid` is a process or a thread.
    pub fn name(self, pid: u32, uid: u32) -> String {
        match self {
            AppBy::Exe => exe(pid).map_or_else(unknown, printable),
            AppBy::Cgroup => cgroup(pid).map_or_else(unknown, printable),
            AppBy::Uid => format!("uid {uid}"),
            AppBy::Pid => format!("pid {}", process(pid).unwrap_or(pid)),
        }
    }

    /// True if the application with this name is a process that has ended.
    pub fn is_over(self, name: &str) -> bool {
        let pid = name.strip_prefix("pid ").filter(|_| self == AppBy::Pid);
        pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
    }
}

/// The applications of a mount.
#[derive(Debug)]
pub(crate) struct Apps {
    by: AppBy,
    /// From this number of an application on it is looked which of them have ended.
    fold_at: AtomicU32,
}

/// [`Apps::fold_at`] at least.
const APPS: u32 = 256;

impl Apps {
    pub fn new(by: AppBy) -> Apps {
        Apps { by, fold_at: AtomicU32::new(APPS) }
    }

    /// The number that the cache has for the application that asks. `open` tells whose files are open.
    pub fn number(&self, cache: &FileCache, caller: Caller, open: impl FnOnce() -> HashSet<u32>) -> u32 {
        let number = cache.app(&self.by.name(caller.pid, caller.uid));
        if number >= self.fold_at.load(Ordering::Relaxed) {
            self.fold(cache, &open());
        }
        number
    }

    /// Has the cache fold the applications that have ended and have nothing open. The next time is when there are twice
    /// as many as are left.
    fn fold(&self, cache: &FileCache, open: &HashSet<u32>) {
        let names = cache.apps();
        let ended = (0..).zip(&names).filter(|(number, name)| !open.contains(number) && self.by.is_over(name));
        cache.fold(ended.map(|(number, _)| number));
        let left = cache.apps().iter().filter(|name| !name.is_empty()).count() as u32;
        self.fold_at.store(APPS.max(2 * left), Ordering::Relaxed);
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// Names reach terminals and logs, where control characters would do more than be read.
fn printable(name: String) -> String {
    name.replace(char::is_control, "\u{fffd}")
}

/// The process of a thread: the kernel's requests carry thread numbers.
pub(crate) fn process(thread: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// The thread is being ended by a signal, and closes what it has open on its way.
pub(crate) fn is_killed(thread: u32) -> bool {
    let ends = || {
        let text = fs::read_to_string(format!("/proc/{thread}/stat")).ok()?;
        // The name of the program, in brackets, may have anything in it. Behind it come fields 3 to 52.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let [flags, status] = [9, 52].map(|field: usize| fields.get(field - 3)?.parse::<u32>().ok());
        Some(flags? & EXITING != 0 && status? & SIGNAL != 0)
    };
    ends().unwrap_or(false)
}

/// Of the flags of a task: it is ending (`PF_EXITING`).
const EXITING: u32 = 4;

/// Of its status: the signal that ends it, 0 if it has ended itself.
const SIGNAL: u32 = 0x7f;

/// The last component of the program's path; threads of the kernel have none.
fn exe(pid: u32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(name.strip_suffix(" (deleted)").unwrap_or(&name).to_owned())
}

fn cgroup(pid: u32) -> Option<String> {
    let text = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("cgroup")).ok()?;
    Some(group(&text)?.to_owned())
}

/// The path of the control group: in the unified hierarchy or, where that one is not used, in the first that is.
fn group(text: &str) -> Option<&str> {
    let paths = |unified: bool| {
        let lines = text.lines().filter(move |line| line.starts_with("0::") == unified);
        lines.filter_map(|line| line.splitn(3, ':').nth(2))
    };
    let mut all = paths(true).chain(paths(false));
    all.clone().find(|&path| path != "/").or_else(|| all.next())
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
        assert_eq!((AppBy::Uid.name(pid, 7), AppBy::Pid.name(pid, 7)), ("uid 7".to_owned(), format!("pid {pid}")));
        let of_thread =
            std::thread::spawn(|| AppBy::Pid.name(rustix::thread::gettid().as_raw_nonzero().get() as u32, 7));
        assert_eq!(of_thread.join().unwrap(), format!("pid {pid}"));
        assert!(!AppBy::Pid.is_over(&format!("pid {pid}")) && AppBy::Pid.is_over("pid 4194305"));
        assert!(!AppBy::Exe.is_over("pid 4194305"), "a program of that name");
        assert_eq!(AppBy::Exe.name(u32::MAX, 0), "unknown");
    }

    #[test]
    fn names_do_nothing_to_a_terminal() {
        assert_eq!(printable("e\u{1b}[31m\nX".to_owned()), "e\u{fffd}[31m\u{fffd}X");
    }

    #[test]
    fn the_control_group_is_that_of_the_hierarchy_in_use() {
        assert_eq!(group("0::/user.slice/a:b\n"), Some("/user.slice/a:b"));
        assert_eq!(group("4:memory:/\n1:name=systemd:/a\n0::/\n"), Some("/a"));
        assert_eq!(group("4:memory:/a\n0::/b\n"), Some("/b"));
        assert_eq!((group("4:memory:/\n0::/\n"), group("")), (Some("/"), None));
    }
}
