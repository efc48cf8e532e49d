//! `hotset mount s3://… --writable` as a command: how it ends in mid-write, and what it records. Needs /dev/fuse; the
//! store is a small one of our own.

mod support;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use hotset_testkit::s3::{Fault, S3};
use rustix::process::{Pid, Signal, kill_process};

use support::mounted::{can_mount, pattern, wait_for};
use support::{Folder, hotset};

/// A mount of `s3://bucket/data` in a separate process, which ends with the test.
struct Mount {
    at: String,
    process: Child,
}

impl Drop for Mount {
    fn drop(&mut self) {
        // It may have ended, and nothing be mounted any more.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = Command::new("umount").arg("-l").arg(&self.at).stderr(Stdio::null()).status();
    }
}

/// Mounts it and waits until it serves.
fn start(s3: &S3, at: &str, options: &[&str]) -> Mount {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotset"));
    command.args(["mount", "s3://bucket/data", at, "--policy", "lru"]).args(options);
    command.env("AWS_ENDPOINT_URL", s3.url()).env("AWS_ACCESS_KEY_ID", "k").env("AWS_SECRET_ACCESS_KEY", "s");
    let process = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut mount = Mount { at: at.to_owned(), process };
    wait_for(Path::new(at), &mut mount.process);
    mount
}

/// Ends it; gives what it said.
fn stop(mut mount: Mount) -> String {
    kill_process(Pid::from_child(&mount.process), Signal::TERM).unwrap();
    let mut said = String::new();
    mount.process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(mount.process.wait().unwrap().success(), "{said}");
    said
}

fn object(s3: &S3, key: &str) -> Option<Vec<u8>> {
    s3.objects().into_iter().find(|(known, _)| known == key).map(|(_, bytes)| bytes)
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Killed at any moment of a write: the old object, or the new one if its close has succeeded.
#[test]
fn a_mount_that_is_killed_in_mid_write_leaves_the_old_object() {
    if !can_mount() {
        return;
    }
    let (s3, folder) = (S3::start(), Folder::new());
    let at = folder.path("at");
    fs::create_dir(&at).unwrap();
    let path = Path::new(&at).join("f");
    let new = pattern(7, 40 << 20);
    for turn in 0..6 {
        s3.put("data/f", "the old one");
        let mut mount = start(&s3, &at, &["--memory", "4M", "--writable"]);
        s3.fail(|_| Some(Fault::Late(Duration::from_millis(10))));
        let mut file = File::create(&path).unwrap();
        let written = thread::scope(|scope| {
            let writer = scope.spawn(|| file.write_all(&new).and_then(|()| file.sync_all()));
            thread::sleep(Duration::from_millis(40 * turn));
            mount.process.kill().unwrap();
            writer.join().unwrap()
        });
        mount.process.wait().unwrap();
        drop(file);
        let there = object(&s3, "data/f").unwrap();
        assert!(there == b"the old one" || there == new, "turn {turn}: {} bytes", there.len());
        assert!(written.is_err() || there == new, "turn {turn}");
        drop(mount);
    }
}

#[test]
fn what_is_open_at_the_end_is_given_up_and_what_is_closed_is_there() {
    if !can_mount() {
        return;
    }
    let (s3, folder) = (S3::start(), Folder::new());
    let at = folder.path("at");
    fs::create_dir(&at).unwrap();
    let options = ["--memory", "4M", "--writable", "--stop-timeout", "100ms"];
    let mount = start(&s3, &at, &options);
    let mut file = File::create(Path::new(&at).join("open")).unwrap();
    file.write_all(&pattern(1, 20 << 20)).unwrap();
    wait_until("parts are sent", || s3.uploads() == 1);
    s3.fail(|_| Some(Fault::Late(Duration::from_millis(300))));
    // Nothing was written to it: who closes it does not wait.
    drop(File::create(Path::new(&at).join("empty")).unwrap());
    stop(mount);
    assert_eq!((s3.uploads(), object(&s3, "data/open")), (0, None));
    assert_eq!(object(&s3, "data/empty"), Some(Vec::new()));
}

#[test]
fn what_is_written_is_recorded_as_it_is_of_a_directory() {
    if !can_mount() {
        return;
    }
    let (s3, folder) = (S3::start(), Folder::new());
    let (at, recording) = (folder.path("at"), folder.path("r.hst"));
    fs::create_dir(&at).unwrap();
    let options = ["--memory", "8M", "--block", "128K", "--writable", "--record", &recording];
    let mount = start(&s3, &at, &options);
    let at = |name: &str| Path::new(&at).join(name);
    fs::write(at("f"), pattern(1, 1 << 20)).unwrap();
    fs::write(at("g"), pattern(2, 12 << 20)).unwrap();
    assert!(fs::read(at("f")).unwrap() == pattern(1, 1 << 20));
    fs::write(at("f"), pattern(3, 1 << 20)).unwrap();
    assert!(fs::read(at("f")).unwrap() == pattern(3, 1 << 20));
    fs::remove_file(at("g")).unwrap();
    let said = stop(mount);
    let shown = hotset(&["inspect", &recording, "--json", "-"]);
    let written = format!("{{\"name\":\"write\",\"requests\":17,\"failed\":0,\"bytes\":{}}}", 14 << 20);
    assert!(shown.out.contains(&written), "{shown:?}");
    let row = hotset(&["simulate", &recording, "--policy", "lru", "--size", "8M", "--json", "-"]).rows().remove(0);
    let number = |key: &str| row[key].as_u64().unwrap();
    let expected = format!("hotset: {} of {} references hit", number("hits"), number("references"));
    assert!(number("hits") > 0 && said.replace(',', "").contains(&expected), "{said}\nexpected {expected}");
}

#[test]
fn without_the_option_nothing_is_written_and_directories_have_none() {
    if !can_mount() {
        return;
    }
    let (s3, folder) = (S3::start(), Folder::new());
    s3.put("data/f", "f");
    let at = folder.path("at");
    fs::create_dir(&at).unwrap();
    let mount = start(&s3, &at, &["--memory", "4M"]);
    let refused = fs::write(Path::new(&at).join("f"), "x").unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    stop(mount);
    let run = hotset(&["mount", &folder.path(""), &at, "--memory", "1M", "--writable"]);
    assert!(run.status == 2 && run.err.contains("--writable needs an object store"), "{run:?}");
    let run = hotset(&["mount", "s3://bucket/data", &at, "--memory", "1M", "--writable", "--readonly"]);
    assert!(run.status == 2 && run.err.contains("cannot be used with"), "{run:?}");
}
