//! `hotset steer` as its users meet it. What steers needs root, BPF and control groups with memory; what is refused
//! does not.

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{Folder, Run, command, finish, hotset};

/// Words of a machine where nothing can be steered.
const CANNOT: [&str; 4] =
    ["no feed of the page cache", "control group", "controller of memory", "cannot find control groups"];

/// True if the run could not be for want of rights or of a kernel that tells; says so.
fn cannot(run: &Run) -> bool {
    let why = run.status == 1 && CANNOT.iter().any(|words| run.err.contains(words));
    if why {
        println!("NOT RUN: {}", run.err.trim());
    }
    why
}

fn steered(arguments: &[&str], script: &str) -> Run {
    let line = [&["steer"], arguments, &["--", "sh", "-c", script]].concat();
    hotset(&line)
}

#[test]
fn what_makes_no_sense_is_refused_in_a_sentence() {
    let folder = Folder::new();
    let (here, file) = (folder.path(""), folder.file("file", "x"));
    let refused = |arguments: &[&str]| {
        let run = hotset(&[&["steer"], arguments].concat());
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{run:?}");
        run.err
    };
    assert!(refused(&[]).contains("which files? Expected one or more directories"));
    assert!(refused(&[&here]).contains("whose memory is it? Expected --cgroup"));
    assert!(refused(&[&here, "--", "true"]).contains("expected --memory SIZE, such as --memory 512M"));
    assert!(refused(&[&file, "--memory", "64M", "--", "true"]).contains("is no directory"));
    assert!(refused(&[&here, "--policy", "lirz", "--memory", "64M", "--", "true"]).contains("did you mean lirs?"));
    assert!(refused(&["/nowhere", "--memory", "64M", "--", "true"]).contains("No such file or directory"));
}

#[test]
fn a_command_is_steered_and_its_status_is_ours() {
    let folder = Folder::new();
    let here = folder.path("data");
    fs::create_dir(&here).unwrap();
    let block: Vec<u8> = (0..1 << 20).map(|at| at as u8).collect();
    fs::write(format!("{here}/file"), block.repeat(96)).unwrap();
    let report = folder.path("report.json");
    let script = format!(
        "cat /proc/self/cgroup >{here}/group; sync {here}/file; for lap in 1 2 3 4; do cat {here}/file >/dev/null; sleep 0.3; done; exit 7"
    );
    let run = steered(&[&here, "--memory", "64M", "--always", "--json", &report], &script);
    if cannot(&run) {
        return;
    }
    assert_eq!(run.status, 7, "{run:?}");
    let group = fs::read_to_string(format!("{here}/group")).unwrap();
    let name = group.lines().find_map(|line| Some(line[line.find("hotset-steer-")?..].to_owned())).expect("a group");
    let root = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].map(|root| format!("{root}/{name}"));
    assert!(root.iter().all(|group| !support::exists(group)), "{name} is still there");
    let told: Value = serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
    let figure = |key: &str| told[key].as_u64().unwrap_or_else(|| panic!("{key} of {told}"));
    if figure("references") == 0 {
        return println!("NOT RUN: the file system of {here} has no page cache that tells");
    }
    // 96 MiB are 1536 blocks, four times, and a file of one. What is read twice before anybody looks counts once.
    assert!((1536..=4 * 1536 + 1).contains(&figure("references")), "{told}");
    assert!(figure("misses") <= figure("kernel_misses"), "{told}");
    assert!(figure("pages_dropped") > 0 && told["residency"]["held"].as_u64().unwrap() > 0, "{told}");
    assert!(run.err.contains("hotset: steered ") && run.err.contains("missed by lirs"), "{}", run.err);
}

#[test]
fn a_command_that_cannot_be_started_leaves_nothing_behind() {
    let folder = Folder::new();
    let run = hotset(&["steer", &folder.path(""), "--memory", "64M", "--", "/nowhere/command"]);
    if cannot(&run) {
        return;
    }
    assert_eq!(run.status, 1);
    assert!(run.err.contains("cannot run /nowhere/command"), "{}", run.err);
}

/// A steer that runs, with the group it is in.
struct Running {
    child: Child,
    err: BufReader<std::process::ChildStderr>,
}

impl Running {
    fn start(arguments: &[&str]) -> Running {
        let mut child = command(&[&["steer"], arguments].concat()).spawn().unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        Running { child, err }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.err.read_line(&mut line).unwrap();
        line
    }

    fn rest(mut self) -> (i32, String) {
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.err, &mut rest).unwrap();
        (self.child.wait().unwrap().code().unwrap_or(-1), rest)
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.child.id() as i32).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

/// A group with a limit, as a service would have one; `None` where it cannot be made.
fn group(name: &str) -> Option<String> {
    let name = format!("hotset-test-{name}-{}", std::process::id());
    let (old, new) = (format!("/sys/fs/cgroup/memory/{name}"), format!("/sys/fs/cgroup/{name}"));
    let made = [(old, "memory.limit_in_bytes"), (new, "memory.max")].into_iter().find_map(|(folder, limit)| {
        fs::create_dir(&folder).ok()?;
        let limited = fs::write(format!("{folder}/{limit}"), (64 << 20).to_string());
        if limited.is_err() {
            let _ = fs::remove_dir(&folder);
        }
        limited.ok().map(|()| folder)
    });
    if made.is_none() {
        println!("NOT RUN: no control group can be made here");
    }
    made
}

#[test]
fn a_group_is_steered_once_until_a_signal_or_its_end() {
    use rustix::process::Signal;
    let folder = Folder::new();
    folder.file("file", "data");
    let here = folder.path("");
    let Some(group) = group("once") else { return };
    let limit = || {
        fs::read_to_string(format!("{group}/memory.limit_in_bytes"))
            .or_else(|_| fs::read_to_string(format!("{group}/memory.max")))
    };
    let before = limit().unwrap();
    let mut first = Running::start(&[&here, "--cgroup", &group, "--memory", "8M"]);
    let line = first.line();
    if !line.contains("watching 1 file") {
        let _ = fs::remove_dir(&group);
        assert!(CANNOT.iter().any(|words| line.contains(words)), "{line}");
        return println!("NOT RUN: {}", line.trim());
    }
    let second = hotset(&["steer", &here, "--cgroup", &group]);
    assert!(second.status == 1 && second.err.contains("is steered by another hotset already"), "{second:?}");
    first.signal(Signal::TERM);
    let (status, said) = first.rest();
    assert_eq!((status, limit().unwrap()), (0, before), "{said}");
    assert!(said.contains("watched for") && said.contains("the cache has not turned over once"), "{said}");
    // Killed in any way it leaves nothing that keeps the next one from beginning; the next one ends with its group.
    let mut killed = Running::start(&[&here, "--cgroup", &group]);
    assert!(killed.line().contains("watching"));
    killed.signal(Signal::KILL);
    killed.rest();
    let mut last = Running::start(&[&here, "--cgroup", &group]);
    assert!(last.line().contains("watching"));
    fs::remove_dir(&group).unwrap();
    let started = Instant::now();
    assert!(last.line().contains("the control group was removed, so there is nothing left to steer"));
    assert!(started.elapsed() < Duration::from_secs(120));
    assert_eq!(last.rest().0, 0);
}

#[test]
fn files_that_go_and_come_do_not_stop_anything() {
    let folder = Folder::new();
    let here = folder.path("data");
    fs::create_dir(&here).unwrap();
    let script = format!(
        "cd {here}; for number in 1 2 3 4 5 6; do head -c 20000000 /dev/zero >$number; sync $number; cat * >/dev/null; sleep 0.5; rm $number; done; rmdir {here}; sleep 2; exit 0"
    );
    let mut line = command(&["steer", &here, "--memory", "64M", "--always", "--", "sh", "-c", &script]);
    line.current_dir(folder.path(""));
    let run = finish(line);
    if cannot(&run) {
        return;
    }
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.err.contains("the command goes on without being steered"), "the directory itself went: {}", run.err);
}
