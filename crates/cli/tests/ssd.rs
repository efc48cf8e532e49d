//! `hotset mount --ssd` as a command: its contents outlive the process, however it ends; and its refusals. Needs
//! /dev/fuse.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use support::mounted::{Mount, can_mount, pattern, wait_for};
use support::{Folder, hotset};

const FILES: u64 = 20;
const BYTES: usize = 50_000;
const ALL: u64 = FILES * BYTES as u64;

fn name(number: u64) -> String {
    format!("{number}.bin")
}

/// Files that were changed so long ago that their times tell.
fn fill(mount: &Mount) {
    for number in 0..FILES {
        fs::write(mount.source(&name(number)), pattern(number, BYTES)).unwrap();
    }
    thread::sleep(Duration::from_millis(2100));
}

/// Reads all files through the mount; `seed` says what is in each.
fn read_all(mount: &Mount, seed: impl Fn(u64) -> u64) {
    for number in 0..FILES {
        assert!(fs::read(mount.at(&name(number))).unwrap() == pattern(seed(number), BYTES), "file {number}");
    }
}

fn status(mount: &Mount) -> Value {
    let run = hotset(&["ctl", mount.at("").to_str().unwrap(), "status"]).good();
    serde_json::from_str(&run.out).unwrap()
}

/// Waits until all blocks that left memory are written.
fn settled(mount: &Mount) -> Value {
    loop {
        let now = status(mount);
        if now["tier"]["blocks_written"] == now["tier"]["demotions"] {
            return now;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_memory_lets_go_of_is_read_from_the_ssd_after_a_kill_too() {
    if !can_mount() {
        return;
    }
    let folder = Folder::new();
    let ssd = folder.path("ssd");
    let mut mount =
        Mount::new(&["--memory", "256K", "--policy", "lru", "--block", "4K", "--ssd", &ssd, "--ssd-size", "8M"]);
    fill(&mount);
    for _ in 0..3 {
        read_all(&mount, |number| number);
    }
    let told = settled(&mount);
    assert_eq!((told["bytes_read"].as_u64(), told["tier"]["skipped"].as_u64()), (Some(ALL), Some(0)), "{told}");
    assert!(told["tier"]["hits"].as_u64() > Some(300), "{told}");
    mount.kill();
    // A file that has changed meanwhile counts as new, even at the same size and with a forged time.
    let changed = |number: u64| if number.is_multiple_of(5) { number + 100 } else { number };
    for number in (0..FILES).step_by(5) {
        let path = mount.source(&name(number));
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, pattern(changed(number), BYTES)).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    }
    mount.start();
    assert!(status(&mount)["tier"]["restored_blocks"].as_u64() > Some(150));
    read_all(&mount, changed);
    let (told, must) = (settled(&mount), ALL / 5);
    let read = told["bytes_read"].as_u64().unwrap();
    assert!(read >= must && read <= must + (256 << 10), "{read} bytes, {must} of them changed: {told}");
    assert_eq!(told["tier"]["damaged"], 0);
    // One that is ended in order loses nothing.
    thread::sleep(Duration::from_millis(2100));
    read_all(&mount, changed);
    let said = mount.stop();
    assert!(said.contains(" in the SSD tier, "), "{said}");
    mount.start();
    read_all(&mount, changed);
    assert_eq!(status(&mount)["bytes_read"], 0, "{}", status(&mount));
    let top = hotset(&["top", mount.at("").to_str().unwrap(), "--once"]);
    assert!(top.out.contains("SSD tier lru"), "{top:?}");
}

#[test]
fn what_memory_holds_is_sent_down_though_nobody_hears_of_it() {
    if !can_mount() {
        return;
    }
    let folder = Folder::new();
    let ssd = folder.path("ssd");
    let mut mount = Mount::new(&["--memory", "4M", "--policy", "lru", "--ssd", &ssd, "--ssd-size", "8M"]);
    fill(&mount);
    read_all(&mount, |number| number);
    mount.hang_up();
    mount.stop();
    mount.start();
    read_all(&mount, |number| number);
    assert_eq!(status(&mount)["bytes_read"], 0, "{}", status(&mount));
}

/// Here a mount, which numbers files as it likes.
#[test]
fn what_is_kept_of_files_that_are_not_known_again_ends_with_the_mount() {
    if !can_mount() {
        return;
    }
    let (below, folder) = (Mount::new(&["--memory", "0B"]), Folder::new());
    fill(&below);
    let (at, ssd) = (folder.path("at"), folder.path("ssd"));
    fs::create_dir(&at).unwrap();
    for _ in 0..2 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hotset"))
            .args(["mount", below.at("").to_str().unwrap(), &at, "--memory", "256K", "--policy", "lru"])
            .args(["--ssd", &ssd, "--ssd-size", "8M"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for(Path::new(&at), &mut child);
        let told = |key: &str| {
            let run = hotset(&["ctl", &at, "status"]).good();
            serde_json::from_str::<Value>(&run.out).unwrap()["tier"][key].as_u64().unwrap()
        };
        assert_eq!(told("restored_blocks"), 0);
        for _ in 0..3 {
            for number in 0..FILES {
                let read = fs::read(Path::new(&at).join(name(number))).unwrap();
                assert!(read == pattern(number, BYTES), "file {number}");
            }
            thread::sleep(Duration::from_millis(100));
        }
        assert!(told("hits") > 100, "as long as it runs all of it is used");
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let said = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
        assert!(said.contains("after a restart the files of "), "{said}");
    }
}

#[test]
fn what_cannot_work_is_refused_in_words() {
    if !can_mount() {
        return;
    }
    let folder = Folder::new();
    let ssd = folder.path("ssd");
    let mount = Mount::new(&["--memory", "1M", "--ssd", &ssd, "--ssd-size", "8M"]);
    fs::create_dir(folder.path("source")).unwrap();
    fs::create_dir(folder.path("at")).unwrap();
    let within = folder.path("source/ssd");
    let refused = |more: &[&str]| {
        let run = hotset(&[&["mount", &folder.path("source"), &folder.path("at")], more].concat());
        assert!(run.status != 0, "{run:?}");
        run.err
    };
    for (more, why) in [
        (&["--memory", "1M", "--ssd", &ssd, "--ssd-size", "8M"][..], "another mount uses it"),
        (&["--memory", "0B", "--ssd", &ssd, "--ssd-size", "8M"], "--memory 0"),
        (&["--memory", "1M", "--ssd", &within, "--ssd-size", "8M"], "is in the source"),
        (&["--memory", "1M", "--ssd", &ssd], "--ssd-size"),
        (&["--memory", "16M", "--ssd", &folder.path("new"), "--ssd-size", "1000000G", "--block", "16M"], "free"),
        (&["--memory", "1M", "--ssd", &folder.path("new"), "--ssd-size", "8K"], "too few blocks"),
        (&["--memory", "1M", "--ssd", &folder.path("new"), "--ssd-size", "8M", "--policy", "render"], "render"),
        (
            &["--memory", "1M", "--ssd", &folder.path("new"), "--ssd-size", "8M", "--ssd-policy", "opt"],
            "must know the future",
        ),
    ] {
        let said = refused(more);
        assert!(said.contains(why), "{more:?}: {said}");
    }
    drop(mount);
}

/// On a full disk, which is a small one here.
#[test]
fn a_disk_that_is_too_small_is_refused() {
    if !can_mount() || !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = Folder::new();
    for name in ["disk", "source", "at"] {
        fs::create_dir(folder.path(name)).unwrap();
    }
    let made = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4M", "none", &folder.path("disk")]).status();
    if !made.is_ok_and(|made| made.success()) {
        return;
    }
    let ssd = folder.path("disk/ssd");
    let (source, at) = (folder.path("source"), folder.path("at"));
    let said = hotset(&["mount", &source, &at, "--memory", "1M", "--ssd", &ssd, "--ssd-size", "8M"]);
    let unmounted = rustix::mount::unmount(folder.path("disk"), rustix::mount::UnmountFlags::DETACH);
    assert!(said.status != 0 && said.err.contains("more are needed there, and the disk has"), "{said:?}");
    unmounted.unwrap();
}
