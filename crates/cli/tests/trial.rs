//! `hotset try` as users meet it. Measurements need root and control groups with memory.

mod support;

use std::fs;

use support::{Folder, Run, hotset};

/// True if the machine does not permit the run; says so.
fn cannot(run: &Run) -> bool {
    let words = ["cannot be tried", "control group", "controller of memory"];
    let why = run.status == 1 && words.iter().any(|words| run.err.contains(words));
    if why {
        println!("NOT RUN: {}", run.err.trim());
    }
    why
}

fn tried(folder: &str, options: &[&str], script: &str) -> Run {
    hotset(&[&["try", folder, "--memory", "64M", "--yes"], options, &["--", "sh", "-c", script]].concat())
}

#[test]
fn nothing_runs_without_consent() {
    let folder = Folder::new();
    let run = hotset(&["try", &folder.path(""), "--", "touch", &folder.path("ran")]);
    assert!(run.status == 2 && run.err.contains("would run 12 times; give --yes"), "{run:?}");
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn commands_whose_runs_cannot_be_compared_are_refused() {
    let (folder, other) = (Folder::new(), Folder::new());
    let file = folder.file("data", "x".repeat(1 << 20));
    let here = folder.path("");
    let refused = |options: &[&str], script: &str, status: i32, words: &str| {
        let run = tried(&here, options, script);
        if !cannot(&run) {
            assert!(run.status == status && run.out.is_empty() && run.err.contains(words), "{script}: {run:?}");
        }
    };
    refused(&[], "exit 7", 7, "failed with exit status 7");
    refused(&[], "date +%N", 1, "another output in each run");
    refused(&["--budget", "1s"], "sleep 60", 1, "it is used up");
    refused(&[], &format!("echo y >> {file}"), 1, "changes");
    let pid = other.path("pid");
    let run = tried(&here, &[], &format!("sleep 60 & echo $! > {pid}"));
    if let Ok(pid) = fs::read_to_string(&pid) {
        let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    assert!(cannot(&run) && !run.err.contains("failed") || run.err.contains("left 1 processes running"), "{run:?}");
}

/// Twice the memory holds all of a loop that the limit does not hold: storage is read once instead of each lap.
#[test]
fn more_memory_is_measured_on_a_loop() {
    let folder = Folder::new();
    let file = folder.file("data", "0123456789abcdef".repeat(96 << 16));
    let script = format!("for lap in 1 2 3 4; do cat {file} > /dev/null; done");
    let run = tried(&folder.path(""), &["--runs", "2", "--policy", "lirs", "--json", "-"], &script);
    if cannot(&run) {
        return;
    }
    let told = run.rows().remove(0);
    let names: Vec<&str> =
        told["candidates"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["as it is", "steer lirs", "memory 128M"]);
    let read = |at: usize| told["candidates"][at]["read_bytes"]["steered"].as_f64().unwrap();
    if read(0) == 0.0 {
        return println!("NOT RUN: the file system does not count what is read");
    }
    let once = f64::from(96 << 20);
    assert!(read(0) > 3.0 * once, "the kernel alone reads each lap: {told}");
    assert!(read(2) < 1.5 * once, "twice the memory reads once: {told}");
    assert_eq!(told["rounds"], 2);
}
