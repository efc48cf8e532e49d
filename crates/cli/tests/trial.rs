//! `hotset try` as users meet it. Measurements need root, BPF and control groups with memory.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use support::mounted::{Mount, can_mount};
use support::{Folder, Run, command, exists, finish, hotset};

/// True if the machine does not permit the run; says so.
fn cannot(run: &Run) -> bool {
    let words = ["steering cannot be tried", "control group", "controller of memory"];
    let why = run.status == 1 && words.iter().any(|words| run.err.contains(words));
    // Where files stay in memory nothing is read from storage.
    let why = why || run.err.contains("stay in the page cache") || run.out.contains("reads only 0B");
    if why {
        println!("NOT RUN: {}{}", run.err.trim(), run.out.trim());
    }
    why
}

/// Runs a trial, with a signal once `begun` exists. No control group stays.
fn trial(folder: &str, options: &[&str], script: &str, begun: Option<&str>) -> Run {
    let all = [&["try", folder, "--memory", "64M", "--policy", "lirs", "--yes"], options, &["--", "sh", "-c", script]];
    let child = command(&all.concat()).spawn().unwrap();
    let pid = child.id();
    if let Some(begun) = begun {
        while !exists(begun) && exists(&format!("/proc/{pid}/exe")) {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::INT);
    }
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    for root in ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"] {
        assert!(!exists(&format!("{root}/hotset-try-{pid}")), "{script}: a control group is still there");
    }
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { status: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
}

/// True if the process whose id the file holds has ended. Its parent may not have asked for its status yet.
fn has_ended(file: &str) -> bool {
    let pid = fs::read_to_string(file).expect("the script has written its process id");
    !exists(&format!("/proc/{}/exe", pid.trim()))
}

#[test]
fn nothing_runs_without_consent() {
    let folder = Folder::new();
    let run = hotset(&["try", &folder.path(""), "--", "touch", &folder.path("ran")]);
    if !cannot(&run) {
        assert!(run.status == 2 && run.err.contains("would run 13 times; give --yes"), "{run:?}");
    }
    assert_eq!(folder.names(), [""; 0]);
    let run = hotset(&["try", &folder.path("absent"), "--yes", "--", "true"]);
    assert!(run.status != 0 && (cannot(&run) || run.err.contains("No such file")), "{run:?}");
}

/// Each message names what was found; the status of a command that fails is kept.
#[test]
fn commands_whose_runs_cannot_be_compared_are_refused() {
    let (folder, other) = (Folder::new(), Folder::new());
    let (file, pid, once) = (folder.file("data", "x".repeat(4 << 20)), other.path("pid"), other.path("once"));
    let refused = |options: &[&str], script: &str, status: i32, words: &[&str]| {
        let run = trial(&folder.path(""), options, script, None);
        if !cannot(&run) {
            let has_words = words.iter().all(|words| run.err.contains(words));
            assert!(run.status == status && run.out.is_empty() && has_words, "{script}: {run:?}");
        }
    };
    refused(&[], "echo broken >&2; exit 7", 7, &["broken\n", "failed with exit status 7", "no terminal"]);
    refused(&[], &format!("cat {file} | wc -c; date +%N"), 1, &["another output in each run"]);
    refused(&[], &format!("cat {file} | wc -c; mkdir {once}"), 1, &["exit status 1", "cannot run twice"]);
    refused(&[], &format!("echo y >> {file}"), 1, &["changes", "data, so its runs differ"]);
    refused(&[], "kill -9 $$", 137, &["--memory 64M is too little"]);
    refused(&["--budget", "1s"], "sleep 60", 1, &["--budget: one run takes more than 1.00 s"]);
    refused(&[], &format!("sleep 60 & echo $! > {pid}"), 1, &["left 1 process running, now killed"]);
    if exists(&pid) {
        assert!(has_ended(&pid));
    }
}

#[test]
fn an_interrupt_ends_the_command_and_all_it_has_started() {
    let (folder, other) = (Folder::new(), Folder::new());
    let (pid, begun) = (other.path("pid"), other.path("begun"));
    let script = format!("sleep 60 & echo $! > {pid}; mkdir {begun}; wait");
    let run = trial(&folder.path(""), &[], &script, Some(&begun));
    if !cannot(&run) {
        assert!(run.status == 130 && run.out.is_empty() && run.err.contains("interrupted"), "{run:?}");
        assert!(has_ended(&pid));
    }
}

#[test]
fn a_command_that_reads_nothing_is_run_once() {
    let (folder, other) = (Folder::new(), Folder::new());
    let log = other.path("log");
    let run = trial(&folder.path(""), &[], &format!("echo ran >> {log}"), None);
    if exists(&log) {
        let is_told = run.out.starts_with("Nothing helps: with its files dropped");
        assert!(run.status == 0 && is_told, "{run:?}");
        assert_eq!(fs::read_to_string(&log).unwrap(), "ran\n");
    } else {
        assert!(cannot(&run), "{run:?}");
    }
}

/// Twice the memory holds a loop that the limit does not hold: storage is read once, not each lap.
#[test]
fn more_memory_is_measured_on_a_loop() {
    let folder = Folder::new();
    let file = folder.file("data", "0123456789abcdef".repeat(96 << 16));
    let script = format!("for lap in 1 2 3 4; do cat {file} > /dev/null; done");
    let other = Folder::new();
    let page = other.path("trial.html");
    let run = trial(&folder.path(""), &["--runs", "2", "--json", "-", "--report", &page], &script, None);
    if cannot(&run) {
        return;
    }
    let told = run.rows().remove(0);
    let shown = fs::read_to_string(&page).unwrap();
    assert!(shown.contains(r#""trial":{"command":"sh -c"#) && shown.contains("hotset try "), "the page has the trial");
    let candidates = told["candidates"].as_array().unwrap();
    let names: Vec<&str> = candidates.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["as it is", "steer lirs", "memory 128M"]);
    let read = |at: usize| candidates[at]["read_bytes"]["steered"].as_f64().unwrap();
    let once = f64::from(96 << 20);
    assert!(read(0) > 3.0 * once, "the kernel alone reads each lap: {told}");
    assert!(read(2) < 1.5 * once, "twice the memory reads once: {told}");
    assert!(candidates[1]["runs"].as_array().unwrap().iter().all(|run| run["reason"].is_string()), "{told}");
    assert!(candidates.iter().all(|one| one["runs"].as_array().unwrap().len() == 2), "{told}");
    assert_eq!((&told["rounds"], told["best"].is_null()), (&2.into(), told["permanent"].is_null()));
}

/// A mount is a candidate where a program serves the files. The kernel does not count what is read there.
#[test]
fn a_mount_is_tried_on_a_slow_source() {
    if !can_mount() {
        return;
    }
    let source = Mount::new(&["--memory", "0", "--mode", "fast"]);
    fs::write(source.source("data"), "x".repeat(4 << 20)).unwrap();
    let at = source.at("").display().to_string();
    let all = ["try", &at, "--policy", "lirs", "--yes", "--runs", "2", "--json", "-"];
    let try_with = |memory: &str| {
        let options = [&all[..], &["--memory", memory, "--", "sh", "-c", "cd -P . && cat data | wc -c"]].concat();
        let mut command = command(&options);
        command.current_dir(&at);
        finish(command)
    };
    let run = try_with("96M");
    if cannot(&run) {
        return;
    }
    let told = run.rows().remove(0);
    let candidates = told["candidates"].as_array().unwrap();
    let names: Vec<&str> = candidates.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["as it is", "steer lirs", "mount", "memory 192M"], "{told}");
    assert!(candidates.iter().all(|one| one["read_bytes"].is_null()), "{told}");
    let run = try_with("40M");
    assert!(run.err.contains("no mount is tried: the command needs"), "{run:?}");
    assert!(!run.out.contains("\"mount\""), "{run:?}");
    nothing_is_left(&source);
}

/// The file of the user is there, and no mount of a trial is.
fn nothing_is_left(source: &Mount) {
    assert_eq!(fs::metadata(source.source("data")).map(|about| about.len()).unwrap(), 4 << 20);
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains("hotset-try-"), "a mount is still there: {mounts}");
}

/// A failure at any step leaves the files of the directory alone: nothing below the place of a mount is ever removed.
#[test]
fn a_mount_that_fails_leaves_the_files_alone() {
    if !can_mount() {
        return;
    }
    let source = Mount::new(&["--memory", "0", "--mode", "fast"]);
    fs::write(source.source("data"), "x".repeat(4 << 20)).unwrap();
    let (at, tools) = (source.at("").display().to_string(), Folder::new());
    let try_in = |path: &str, folder: &str| {
        let script = format!("/bin/cat {at}/data | /usr/bin/wc -c");
        let options = ["try", &at, "--policy", "lirs", "--yes", "--runs", "2", "--memory", "96M", "--json", "-"];
        let mut command = command(&[&options[..], &["--", "/bin/sh", "-c", &script]].concat());
        command.env("PATH", path).env("TMPDIR", folder);
        let run = finish(command);
        nothing_is_left(&source);
        run
    };
    let try_with = |path: &str| try_in(path, "/tmp");
    let run = try_with(&tools.path(""));
    if cannot(&run) {
        return;
    }
    assert!(run.status == 0 && run.err.contains("no mount is tried: unshare is missing"), "{run:?}");
    // A mount that cannot be started is left out of the trial.
    let run = try_in("/usr/bin:/bin", &tools.path("absent"));
    assert!(run.status == 0 && run.err.contains("no mount is tried: cannot try a mount: "), "{run:?}");
    assert!(run.out.contains("steer lirs") && !run.out.contains("\"mount\""), "{run:?}");
    // It is there, but cannot be run; then it fails.
    let path = format!("{}:/usr/bin:/bin", tools.path(""));
    let tool = tools.file("unshare", "#!/bin/sh\nexit 5\n");
    assert_eq!(try_with(&path).status, 0, "the next one in PATH is taken");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let run = try_with(&path);
    assert!(run.status == 5 && run.err.contains("exit status 5"), "{run:?}");
    let unable = tools.file("unshare", "not a program");
    fs::set_permissions(&unable, fs::Permissions::from_mode(0o755)).unwrap();
    let run = try_with(&path);
    assert!(run.status != 0 && run.out.is_empty(), "{run:?}");
}

/// A service is not run: phases alternate until the budget is over.
#[test]
fn a_service_is_tried_by_its_control_group() {
    let folder = Folder::new();
    let here = folder.path("");
    let refused = |arguments: &[&str]| {
        let run = hotset(&[&["try"], arguments].concat());
        assert!(run.status == 2 && run.out.is_empty(), "{run:?}");
        run.err
    };
    assert!(refused(&[&here]).contains("no command; give one after --, or --cgroup"));
    assert!(refused(&["--cgroup", "batch"]).contains("no directories"));
    assert!(refused(&[&here, "--cgroup", "batch", "--", "true"]).contains("cannot be used with"));
    let root = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"]
        .into_iter()
        .find(|root| exists(&format!("{root}/memory.limit_in_bytes")) || exists(&format!("{root}/cgroup.controllers")));
    let Some(root) = root else { return };
    let (name, limit) = (format!("hotset-service-{}", std::process::id()), "memory.limit_in_bytes");
    let group = format!("{root}/{name}");
    let limit = if exists(&format!("{root}/{limit}")) { limit } else { "memory.max" };
    if let Err(error) = fs::create_dir(&group).and_then(|()| fs::write(format!("{group}/{limit}"), "67108864")) {
        return println!("NOT RUN: {error}");
    }
    let run = hotset(&["try", &here, "--cgroup", &group, "--policy", "lirs,arc", "--budget", "2s", "--json", "-"]);
    let interrupted = {
        let line = ["try", &here, "--cgroup", &group, "--policy", "lirs", "--budget", "1h", "--json", "-"];
        let child = command(&line).spawn().unwrap();
        thread::sleep(Duration::from_secs(3));
        let _ = kill_process(Pid::from_child(&child), Signal::INT);
        let Output { status, stdout, .. } = child.wait_with_output().unwrap();
        (status.code(), String::from_utf8(stdout).unwrap())
    };
    let missing = hotset(&["try", &here, "--cgroup", &format!("{group}/absent"), "--budget", "2s"]);
    let unwritable = folder.path("absent/result.json");
    let unwritable = hotset(&["try", &here, "--cgroup", &group, "--budget", "1h", "--json", &unwritable]);
    let unlimited = hotset(&["try", &here, "--cgroup", root, "--budget", "2s"]);
    fs::remove_dir(&group).unwrap();
    if cannot(&run) {
        return;
    }
    let told: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert!(told["conclusion"].as_str().unwrap().starts_with("No conclusion: too few phases"), "{told}");
    assert!(told["candidates"].as_array().unwrap().len() == 2 && told["best"].is_null(), "{told}");
    assert!(interrupted.0 == Some(130) && interrupted.1.contains("No conclusion"), "{interrupted:?}");
    assert!(unwritable.status != 0 && unwritable.err.contains("absent/result.json"), "{unwritable:?}");
    assert!(unlimited.status == 2 && unlimited.err.contains("no limit of memory; set one first"), "{unlimited:?}");
    assert!(missing.status != 0 && missing.err.contains("absent"), "{missing:?}");
}
