//! `hotset run` where something is short or ends: space on the device, addresses, the program. This file's own binary
//! runs under it. Needs Linux 6.7 with userfaultfd, and a build on ext4 or XFS.

mod support;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use hotset_pager::Region;
use hotset_testkit::inputs::skip;

use support::{Folder, Run, command, finish};

const CHECK: &str = "HOTSET_PAGER_CHECK";
const THREADS: u64 = 2000;

/// A folder on the file system of the build: that of temporary files is often in memory.
fn swap() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned()
}

fn can_page() -> bool {
    let tried = Region::create(&swap(), 1).and_then(|mut region| region.try_out());
    tried.inspect_err(|error| skip(&error.to_string())).is_ok()
}

/// The command that runs a check of this file under `hotset run`, after `before` in a shell.
fn under(check: &str, swap: &Path, memory: &str, before: &str) -> Command {
    let own = env::current_exe().unwrap();
    let line = format!("{before} exec {} --exact {check} --nocapture", own.display());
    let mut command = command(&["run", "--swap", swap.to_str().unwrap(), "--memory", memory, "--", "sh", "-c", &line]);
    command.env(CHECK, check);
    command
}

fn ended_well(run: &Run) {
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("every word is right"), "{}", run.out);
}

/// True in a process that [`under`] started.
fn is_checker() -> bool {
    env::var_os(CHECK).is_some()
}

/// Fills vectors of 4 MiB with known words, and verifies them.
fn fill_and_verify(count: u64) {
    let vectors: Vec<Vec<u64>> = (0..count).map(|seed| (0..512 << 10).map(|at| at ^ seed).collect()).collect();
    for (seed, words) in vectors.iter().enumerate() {
        assert!(words.iter().enumerate().all(|(at, &word)| word == at as u64 ^ seed as u64), "vector {seed}");
    }
    println!("every word is right");
}

#[test]
fn check_much() {
    if is_checker() {
        fill_and_verify(40);
    }
}

#[test]
fn check_little() {
    if is_checker() {
        fill_and_verify(8);
    }
}

#[test]
fn check_endless() {
    if is_checker() {
        loop {
            fill_and_verify(4);
        }
    }
}

#[test]
fn check_threads() {
    if !is_checker() {
        return;
    }
    let all = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let all = &all;
            let run = move || {
                let words: Vec<u64> = (0..8192).map(|at| at ^ seed).collect();
                all.wait();
                assert!(words.iter().enumerate().all(|(at, &word)| word == at as u64 ^ seed));
            };
            thread::Builder::new().stack_size(64 << 10).spawn_scoped(scope, run).unwrap();
        }
    });
    println!("every word is right");
}

/// A file system of its own, which ends with this value.
struct Small(Folder);

impl Small {
    /// An ext4 of 64 MiB; `None`, with the reason on standard error, where none can be mounted.
    fn mount() -> Option<Small> {
        let folder = Folder::new();
        let image = folder.file("image", vec![0; 64 << 20]);
        let at = folder.path("mounted");
        fs::create_dir(&at).unwrap();
        let made = [vec!["mkfs.ext4", "-q", "-F", &image], vec!["mount", "-o", "loop", &image, &at]];
        let is_mounted = made.iter().all(|line| {
            let quiet = Command::new(line[0]).args(&line[1..]).stderr(Stdio::null()).status();
            quiet.is_ok_and(|status| status.success())
        });
        if !is_mounted {
            skip("no small file system can be mounted");
            return None;
        }
        Some(Small(folder))
    }

    fn path(&self) -> PathBuf {
        self.0.path("mounted").into()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

#[test]
fn what_a_full_device_does_not_take_is_ordinary_memory() {
    let Some(small) = can_page().then(Small::mount).flatten() else { return };
    let run = finish(under("check_much", &small.path(), "8M", ""));
    ended_well(&run);
    assert!(run.err.contains("could not be paged and went to ordinary memory"), "{}", run.err);
    assert!(run.err.contains("evictions"), "{}", run.err);
    let left: Vec<_> = fs::read_dir(small.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["lost+found"]);
}

#[test]
fn nothing_remains_of_a_killed_program() {
    let Some(small) = can_page().then(Small::mount).flatten() else { return };
    let free = || rustix::fs::statvfs(small.path()).unwrap().f_bfree;
    let before = free();
    let mut child = under("check_endless", &small.path(), "8M", "echo $$;").stdout(Stdio::piped()).spawn().unwrap();
    let out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(out).map(Result::unwrap);
    let pid = lines.next().unwrap();
    assert!(lines.by_ref().any(|line| line.contains("every word is right")));
    assert!(free() < before);
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    // Its output ends with it.
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(128 + 9));
    let until = Instant::now() + Duration::from_secs(10);
    while free() < before && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(free(), before);
}

#[test]
fn a_limited_address_space_is_enough_or_is_said_to_be_too_small() {
    if !can_page() {
        return;
    }
    for (kib, memory) in [(1 << 20, "8M"), (300 << 10, "8M")] {
        let run = finish(under("check_much", &swap(), memory, &format!("ulimit -v {kib};")));
        ended_well(&run);
        assert!(run.err.contains("evictions"), "{kib}: {}", run.err);
    }
}

#[test]
fn two_thousand_threads_share_paged_memory() {
    if can_page() {
        let run = finish(under("check_threads", &swap(), "8M", ""));
        ended_well(&run);
        assert!(run.err.contains("evictions"), "{}", run.err);
    }
}

#[test]
fn twenty_processes_page_at_once() {
    if !can_page() {
        return;
    }
    let runs = thread::scope(|scope| {
        let started: Vec<_> =
            (0..20).map(|_| scope.spawn(|| finish(under("check_little", &swap(), "4M", "")))).collect();
        started.into_iter().map(|run| run.join().unwrap()).collect::<Vec<_>>()
    });
    for run in runs {
        ended_well(&run);
        assert!(run.err.contains("evictions"), "{}", run.err);
    }
}
