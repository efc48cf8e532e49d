//! `hotset protect` as users meet it. It needs the right to make control groups.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Folder, hotset};

/// A control group of version 1 with a limit, in which a command runs with all that it starts. None where this machine
/// has no such groups.
struct Outer(PathBuf);

impl Outer {
    fn new(limit: u64) -> Option<Outer> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = own.lines().find_map(|line| line.split_once(":memory:"))?.1.trim_start_matches('/');
        let folder = Path::new("/sys/fs/cgroup/memory").join(own).join(format!("hotset-outer-{}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        let outer = Outer(folder);
        fs::write(outer.0.join("memory.limit_in_bytes"), limit.to_string()).ok()?;
        Some(outer)
    }

    fn run(&self, script: &str, arguments: &[&str]) -> String {
        let script = format!("echo $$ > '{}/cgroup.procs' && {script}", self.0.display());
        let run = Command::new("bash").args(["-c", &script, "bash"]).args(arguments).output().unwrap();
        assert!(run.status.success(), "{run:?}");
        String::from_utf8(run.stderr).unwrap()
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("memory.force_empty"), "0");
        fs::remove_dir(&self.0).expect("no process is left in it");
    }
}

/// Bytes such as `1.5M`.
fn bytes(text: &str) -> f64 {
    let (number, unit) = text.split_at(text.len() - 1);
    number.parse::<f64>().unwrap()
        * match unit {
            "M" => 1048576.0,
            "K" => 1024.0,
            _ => 1.0,
        }
}

/// Bytes that stayed and bytes that there were, by what `protect` says.
fn kept(said: &str) -> (f64, f64) {
    let line = said.lines().find(|line| line.contains("still cached")).unwrap_or_else(|| panic!("{said}"));
    let words: Vec<&str> = line.split(' ').collect();
    (bytes(words[1]), bytes(words[3]))
}

#[test]
fn a_scan_leaves_what_was_cached() {
    let Some(outer) = Outer::new(96 << 20) else {
        return println!("NOT RUN: no control group of version 1 can be made here");
    };
    // Where the tests run, files are on a disk; those of /tmp may stay in memory.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = |name: &str, size: usize| {
        let path = folder.path().join(name);
        fs::write(&path, vec![7; size]).unwrap();
        let file = fs::File::open(&path).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        path.display().to_string()
    };
    let (hot, other, large) = (at("hot", 40 << 20), at("other", 40 << 20), at("large", 300 << 20));
    let program = env!("CARGO_BIN_EXE_hotset");
    let with = "cat $1 > /dev/null && $3 protect --cache 16M $1 -- cat $2 > /dev/null";
    let with = outer.run(with, &[&hot, &large, program]);
    let (still, had) = kept(&with);
    assert!(had >= 39e6 && still >= 0.98 * had, "{with}");
    // The pages that the scan has read were dropped when it ended.
    let left = hotset(&["cached", &large, "--json", "-"]).rows()[0]["cached_bytes"].as_u64().unwrap();
    assert!(left <= 1 << 20, "{left} bytes");
    // The same scan outside of the group that `protect` makes: a hot file goes.
    let without = outer.run(
        "cat $1 > /dev/null && $3 protect $1 -- sh -c 'echo $$ > $2/cgroup.procs; cat $1 > /dev/null' sh $2 $4",
        &[&other, &large, program, &outer.0.display().to_string()],
    );
    let (still, had) = kept(&without);
    assert!(still < 0.5 * had, "the test does not press: {without}");
}

#[test]
fn the_status_is_the_commands_and_mistakes_are_told() {
    let folder = Folder::new();
    let run = hotset(&["protect", "--", "sh", "-c", "echo said; exit 7"]);
    if run.err.contains("control group") {
        return println!("NOT RUN: {}", run.err.trim());
    }
    assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (7, "said\n", ""));
    let killed = hotset(&["protect", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(killed.status, 128 + 9);
    let none = hotset(&["protect", "--", &folder.path("absent")]);
    assert!(
        none.status == 127 && none.err.contains("cannot run") && none.err.contains("it does not exist"),
        "{none:?}"
    );
    let absent = hotset(&["protect", &folder.path("absent"), "--", "true"]);
    assert!(absent.status == 1 && absent.err.contains("it does not exist"), "{absent:?}");
    let small = hotset(&["protect", "--cache", "1M", "--", "true"]);
    assert!(small.status == 2 && small.err.contains("expected at least 4M"), "{small:?}");
    assert_eq!(hotset(&["protect"]).status, 2, "no command");
}
