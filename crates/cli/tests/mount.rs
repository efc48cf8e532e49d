//! `hotset mount` as a command: its life, its words, its recordings. Needs /dev/fuse.

mod support;

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use support::mounted::{Mount, can_mount, pattern, unmount};
use support::{Run, hotset};

#[test]
fn a_recording_of_a_mount_replayed_gives_the_same_counts() {
    if !can_mount() {
        return;
    }
    for policy in ["lru", "2q", "render", "attribute", "undivided(gdsf)", "bypass(arc,output)"] {
        let record = tempfile::Builder::new().suffix(".hst").tempfile().unwrap().into_temp_path();
        let record = record.to_str().unwrap();
        let mut mount = Mount::new(&["--memory", "256K", "--policy", policy, "--record", record]);
        for number in 0..12u64 {
            fs::write(mount.source(&format!("{number}.png")), pattern(number, 40_000)).unwrap();
        }
        for turn in 0..4u64 {
            for number in 0..12u64 {
                let bytes = fs::read(mount.at(&format!("{number}.png"))).unwrap();
                assert_eq!(bytes, pattern(number, 40_000), "turn {turn}");
            }
            fs::write(mount.at(&format!("frame{turn}.png")), pattern(turn, 30_000)).unwrap();
        }
        let said = mount.stop();
        let row = hotset(&["simulate", record, "--policy", policy, "--size", "256K", "--json", "-"]).rows().remove(0);
        let number = |key: &str| row[key].as_u64().unwrap();
        let expected = format!("hotset: {} of {} references hit", number("hits"), number("references"));
        let said = said.replace(',', "");
        assert!(said.contains(&expected), "{policy}: {said}\nexpected {expected}");
        assert!(number("references") > 400, "{row}");
    }
}

#[test]
fn what_was_synced_survives_a_kill_and_the_place_is_mounted_again() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(&["--memory", "1M", "--policy", "lru"]);
    let log = mount.at("log");
    let (tell, told) = channel();
    let writer = thread::spawn(move || {
        let mut file = File::create(log).unwrap();
        let mut synced = 0u64;
        while file.write_all(&pattern(synced, 4096)).is_ok() && file.sync_data().is_ok() {
            synced += 1;
            // After the kill their count is lost.
            let _ = tell.send(());
        }
        synced
    });
    assert_eq!(told.iter().take(20).count(), 20);
    drop(told);
    mount.kill();
    let synced = writer.join().unwrap();
    let bytes = fs::read(mount.source("log")).unwrap();
    assert!(synced >= 20 && bytes.len() as u64 >= synced * 4096);
    for number in 0..synced {
        assert!(bytes[number as usize * 4096..][..4096] == pattern(number, 4096));
    }
    let run = hotset(&["ctl", mount.at("").to_str().unwrap(), "status"]);
    assert!(run.status == 1 && run.err.contains("is dead, because its process was killed"), "{run:?}");
    assert!(fs::metadata(mount.at("")).is_err(), "a stale mount is left");
    mount.start();
    assert_eq!(fs::read(mount.at("log")).unwrap(), bytes);
    mount.stop();
}

#[test]
fn it_goes_to_the_background_and_refuses_what_cannot_be() {
    if !can_mount() {
        return;
    }
    let folder = support::Folder::new();
    let (source, at) = (folder.path("source"), folder.path("at"));
    fs::create_dir(&source).unwrap();
    fs::create_dir(&at).unwrap();
    let mount = |more: &[&str]| -> Run { hotset(&[&["mount", &source, &at, "--memory", "1M"], more].concat()) };
    let run = mount(&["--policy", "opt"]);
    assert!(run.status == 2 && run.err.contains("opt must know the future"), "{run:?}");
    let run = mount(&["--policy", "lru", "--block", "5000"]);
    assert!(run.status == 2 && run.err.contains("a block of 5000B is not possible here"), "{run:?}");
    for option in ["--record", "--log"] {
        let (file, run) = (folder.path("told"), ["mount", &source, &at, "--policy", "lru", "--memory", "0B"]);
        let run = hotset(&[&run[..], &[option, &file]].concat());
        assert!(run.status == 2 && run.err.contains("cannot be combined with --memory 0"), "{run:?}");
    }
    let run = mount(&["--policy", "lru", "--daemon", "--block", "1"]);
    assert!(run.status == 2 && run.err.contains("a block of 1B is not possible here"), "{run:?}");
    let run = mount(&["--policy", "lru", "--daemon"]);
    assert!(run.status == 0, "{run:?}");
    fs::write(Path::new(&at).join("f"), "served").unwrap();
    assert_eq!(fs::read(Path::new(&source).join("f")).unwrap(), b"served");
    let run = mount(&["--policy", "lru"]);
    assert!(run.status == 2 && run.err.contains("a mountpoint of FUSE already"), "{run:?}");
    unmount(Path::new(&at));
    assert_eq!(fs::read_dir(&at).unwrap().count(), 0);
    // The server of the mount before may still be about to end.
    for turn in 0..10 {
        let run = mount(&["--policy", "lru", "--daemon"]);
        assert!(run.status == 0, "{turn}: {run:?}");
        assert_eq!(fs::read(Path::new(&at).join("f")).unwrap(), b"served");
        unmount(Path::new(&at));
    }
}

/// Other mounts at that place stay, and a mount that is left to its open files does not block the next one.
#[test]
fn mounts_one_above_the_other_do_not_touch_each_other() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(&["--memory", "1M", "--policy", "lru"]);
    let (at, source) = (mount.at(""), mount.source(""));
    fs::write(mount.at("f"), "below").unwrap();
    let open = File::open(mount.at("f")).unwrap();
    let status = |policy: &str| {
        let said = hotset(&["ctl", at.to_str().unwrap(), "status"]).good();
        assert!(said.out.contains(&format!("\"{policy}\"")), "{said:?}");
    };
    status("lru");
    rustix::mount::unmount(&at, rustix::mount::UnmountFlags::DETACH).unwrap();
    let run = ["mount", source.to_str().unwrap(), at.to_str().unwrap(), "--memory", "1M", "--policy", "arc"];
    let daemon = hotset(&[&run[..], &["--daemon"]].concat());
    assert!(daemon.status == 0 && daemon.err.starts_with("hotset: this source is a local directory"), "{daemon:?}");
    status("arc");
    // The first is asked to end, and does once its files are closed; the second stays.
    mount.signal(Signal::TERM);
    drop(open);
    mount.wait();
    assert_eq!(fs::read(mount.at("f")).unwrap(), b"below");
    status("arc");
    unmount(&at);
}

#[test]
fn more_files_than_a_process_may_have_open() {
    if !can_mount() {
        return;
    }
    let folder = support::Folder::new();
    let (source, at) = (folder.path("source"), folder.path("at"));
    fs::create_dir(&at).unwrap();
    for number in 0..1500 {
        let name = format!("{source}/{}", number % 3);
        fs::create_dir_all(&name).unwrap();
        fs::write(format!("{name}/{number}"), format!("{number}")).unwrap();
    }
    let few = Command::new("sh")
        .args(["-c", "ulimit -n 128; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_hotset"), "mount", &source, &at])
        .args(["--memory", "1M", "--policy", "lru", "--daemon"])
        .status();
    assert!(few.unwrap().success());
    for _ in 0..2 {
        for number in 0..1500 {
            assert_eq!(fs::read_to_string(format!("{at}/{}/{number}", number % 3)).unwrap(), format!("{number}"));
        }
    }
    unmount(Path::new(&at));
}

const SHUT: Option<i32> = Some(rustix::io::Errno::SHUTDOWN.raw_os_error());

#[test]
fn a_mount_that_is_told_to_end_does_so_with_the_last_close() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(&["--memory", "1M", "--policy", "lru"]);
    fs::write(mount.at("g"), "there").unwrap();
    let mut file = File::create(mount.at("f")).unwrap();
    // A process has its working directory there, which is not an open file.
    let mut home = Command::new("sleep").arg("60").current_dir(mount.at("")).spawn().unwrap();
    mount.signal(Signal::TERM);
    while File::open(mount.at("g")).is_ok() {
        thread::yield_now();
    }
    file.write_all(b"open files go on").unwrap();
    assert_eq!(fs::metadata(mount.at("f")).unwrap().len(), 16);
    assert_eq!(File::open(mount.at("g")).unwrap_err().raw_os_error(), SHUT);
    assert_eq!(File::create(mount.at("h")).unwrap_err().raw_os_error(), SHUT);
    assert_eq!(fs::read_dir(mount.at("")).unwrap_err().raw_os_error(), SHUT);
    drop(file);
    mount.wait();
    home.kill().unwrap();
    home.wait().unwrap();
    assert_eq!(fs::read_dir(mount.at("")).unwrap().count(), 0, "it is unmounted");
    assert_eq!(fs::read(mount.source("f")).unwrap(), b"open files go on");
    assert!(!mount.source("h").exists());
}

#[test]
fn a_mount_that_is_told_to_end_does_so_after_a_while_though_a_file_is_open() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(&["--memory", "1M", "--policy", "lru", "--stop-timeout", "1s"]);
    let mut file = File::create(mount.at("f")).unwrap();
    file.write_all(b"acknowledged").unwrap();
    mount.signal(Signal::TERM);
    let took = mount.wait();
    assert!(took >= Duration::from_millis(900), "{took:?}");
    assert_eq!(fs::read_dir(mount.at("")).unwrap().count(), 0, "it is unmounted");
    assert_eq!(file.write(b"x").unwrap_err().kind(), ErrorKind::NotConnected);
    assert_eq!(fs::read(mount.source("f")).unwrap(), b"acknowledged");
}

#[test]
fn a_second_signal_ends_a_mount_at_once() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(&["--memory", "1M", "--policy", "lru"]);
    let _file = File::create(mount.at("f")).unwrap();
    mount.signal(Signal::TERM);
    thread::sleep(Duration::from_millis(300));
    mount.signal(Signal::INT);
    mount.wait();
    assert_eq!(fs::read_dir(mount.at("")).unwrap().count(), 0, "it is unmounted");
}

/// However it ends, unless it is killed: with a file open, too.
#[test]
fn writes_that_wait_are_at_risk_until_the_mount_ends() {
    if !can_mount() {
        return;
    }
    let arguments = ["--memory", "1M", "--policy", "lru", "--stop-timeout", "1s", "--write-back", "3600s"];
    let mut mount = Mount::new(&arguments);
    let open = |mount: &Mount| File::create(mount.at("f")).unwrap();
    // Starting a program closes open files here, which writes: so another process has the file.
    let mut writer = Command::new("cat").stdin(Stdio::piped()).stdout(open(&mount)).spawn().unwrap();
    writer.stdin.as_mut().unwrap().write_all(&[1; 5000]).unwrap();
    let status = loop {
        let status = hotset(&["ctl", mount.at("").to_str().unwrap(), "status"]).rows().remove(0);
        if status["waiting_bytes"] == 5000 || writer.try_wait().unwrap().is_some() {
            break status;
        }
    };
    assert_eq!((status["waiting_bytes"].as_u64(), status["waiting_files"].as_u64()), (Some(5000), Some(1)));
    assert!(fs::read(mount.source("f")).unwrap().is_empty());
    let top = hotset(&["top", mount.at("").to_str().unwrap()]).out;
    assert!(top.contains("at risk 4.9K of at most 1M in 1 files"), "{top}");
    mount.signal(Signal::TERM);
    mount.wait();
    assert_eq!(fs::read(mount.source("f")).unwrap(), [1; 5000]);
    writer.kill().unwrap();
    writer.wait().unwrap();
    mount.start();
    let file = open(&mount);
    file.write_all_at(&[2; 5000], 0).unwrap();
    file.sync_all().unwrap();
    file.write_all_at(&[3; 5000], 0).unwrap();
    mount.kill();
    assert_eq!(fs::read(mount.source("f")).unwrap(), [2; 5000], "the synced data is there");
    drop(file);
    for (more, word) in [("--readonly", "--readonly"), ("--memory=0B", "--memory 0")] {
        let (source, at) = (mount.source(""), mount.at(""));
        let words = ["mount", source.to_str().unwrap(), at.to_str().unwrap(), "--policy", "lru", "--write-back", more];
        let words = if more == "--readonly" { [&words[..], &["--memory", "1M"]].concat() } else { words.to_vec() };
        let run = hotset(&words);
        assert!(
            run.status == 2 && run.err.contains(&format!("--write-back cannot be combined with {word}")),
            "{run:?}"
        );
    }
}

/// `systemd-analyze verify` warns of keys that it does not know, and ends well all the same.
#[test]
fn the_unit_in_the_guide_is_one_that_systemd_takes() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/speed-up-a-directory.md");
    let guide = fs::read_to_string(guide).unwrap();
    let unit = guide.split("```\n").find(|part| part.starts_with("[Unit]\n")).expect("the guide has a unit");
    let here = unit.replace("=/usr/bin/hotset ", concat!("=", env!("CARGO_BIN_EXE_hotset"), " "));
    assert!(here != unit, "it starts the command");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hotset.service");
    fs::write(&path, here).unwrap();
    match Command::new("systemd-analyze").arg("verify").arg(&path).output() {
        Ok(verified) => {
            let said = String::from_utf8_lossy(&verified.stderr);
            assert!(verified.status.success() && !said.contains("hotset.service"), "{said}");
        }
        Err(error) => eprintln!("SKIPPED: systemd-analyze is missing: {error}"),
    }
}
