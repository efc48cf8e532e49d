//! Applications on a mount: how the mount distinguishes them, and how their targets are changed and shown while it
//! serves. Needs /dev/fuse.

mod support;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use support::hotset;
use support::mounted::{Mount, can_mount, pattern};

/// A mount of a source with two files that every user may read.
fn mount(arguments: &[&str]) -> Mount {
    let mount = Mount::new(arguments);
    for (name, length) in [("one", 60_000), ("two", 40_000)] {
        fs::write(mount.source(name), pattern(7, length)).unwrap();
    }
    // Each open reads a recently changed file again.
    thread::sleep(Duration::from_millis(2100));
    mount
}

fn run(program: &str, file: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg(file).stdout(std::process::Stdio::null());
    command
}

fn done(mut command: Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

fn ctl(mount: &Mount, words: &[&str]) -> support::Run {
    let at = mount.at("");
    hotset(&[&["ctl", at.to_str().unwrap()], words].concat())
}

fn status(mount: &Mount) -> Value {
    ctl(mount, &["status"]).rows().remove(0)
}

fn app(mount: &Mount, name: &str) -> Value {
    let status = status(mount);
    let apps = status["apps"].as_array().unwrap();
    apps.iter().find(|app| app["name"] == name).unwrap_or_else(|| panic!("no {name}: {status}")).clone()
}

/// Settings that the mount refuses change nothing.
fn check_refusals(mount: &Mount) {
    let now = status(mount);
    for (words, expected) in [
        (&["set", "arc.k=1"][..], "arc.k is not a setting of qos("),
        (&["set", "qos.cat=150%"], "is not allowed"),
        (&["set", "qos.interval=never"], "is not allowed"),
        (&["set", "memory=64K", "policy=opt"], "must know the future"),
        (&["set", "policy=lru", "memory=1"], "do not hold one block"),
        (&["set", "colour=blue"], "unknown setting"),
    ] {
        let run = ctl(mount, words);
        assert!(run.status != 0 && run.err.contains(expected), "{words:?}: {run:?}");
        assert_eq!((&status(mount)["policy"], &status(mount)["memory_bytes"]), (&now["policy"], &now["memory_bytes"]));
    }
}

#[test]
fn promises_are_kept_changed_and_shown_while_applications_come() {
    if !can_mount() {
        return;
    }
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut mount = mount(&[
        "--memory",
        "256K",
        "--policy",
        "qos(lru, interval=1000, cat=50%)",
        "--log",
        log.path().to_str().unwrap(),
    ]);
    for _ in 0..5 {
        done(run("cat", &mount.at("one")));
    }
    let cat = app(&mount, "cat");
    assert_eq!((&cat["promised_percent"], &cat["flagged"]), (&50.0.into(), &false.into()), "{cat}");
    assert!(cat["reached_percent"].as_f64().unwrap() > 50.0 && cat["room_bytes"] == 256 << 10, "{cat}");

    done(run("cksum", &mount.at("two")));
    let newcomer = app(&mount, "cksum");
    assert!(newcomer["promised_percent"].is_null() && newcomer["room_bytes"].as_u64().unwrap() >= 4096, "{newcomer}");

    // A target for cksum leaves the blocks that it has read resident.
    let said = ctl(&mount, &["set", "qos.cksum=0.3"]).good().out;
    assert!(said.starts_with("policy: qos(lru,") && said.ends_with(",cksum=30%) (keeps its state)\n"), "{said}");
    done(run("cksum", &mount.at("two")));
    let read = status(&mount)["bytes_read"].clone();
    done(run("cksum", &mount.at("two")));
    done(run("cat", &mount.at("one")));
    let now = status(&mount);
    let policy = now["policy"].as_str().unwrap();
    assert!(policy.starts_with("qos(lru,") && policy.ends_with(",cat=50%,cksum=30%)"), "{policy}");
    assert_eq!(now["bytes_read"], read, "nothing was dropped");
    let rooms: u64 = now["apps"].as_array().unwrap().iter().filter_map(|app| app["room_bytes"].as_u64()).sum();
    assert!(rooms == 256 << 10 && now["repartitions"].as_u64().unwrap() >= 3, "{now}");
    let top = hotset(&["top", "--once", mount.at("").to_str().unwrap()]).good().out;
    assert!(top.contains("target 30.0 %: met") && top.contains("app cat"), "{top}");

    check_refusals(&mount);
    let said = ctl(&mount, &["set", "policy=qos(arc)", "qos.cksum=5ms", "memory=128K"]).good().out;
    assert!(said.contains(",cksum=5ms) (starts without learnt state)\nmemory: 256K -> 128K\n"), "{said}");
    let said = ctl(&mount, &["set", "memory=128K"]).good().out;
    assert!(
        said.starts_with("nothing changes: the policy is qos(arc,") && said.ends_with("the memory 128K\n"),
        "{said}"
    );
    let now = status(&mount);
    let policy = now["policy"].as_str().unwrap();
    assert!(
        policy.starts_with("qos(arc,") && policy.ends_with(",cksum=5ms)") && now["memory_bytes"] == 128 << 10,
        "{now}"
    );
    mount.stop();
    let log = fs::read_to_string(log.path()).unwrap();
    assert!(log.lines().next().unwrap().ends_with(": cat 256K, target 50 %"), "{log}");
    assert!(log.lines().any(|line| line.contains(", cksum ") && line.contains("target 30 %")), "{log}");
}

#[test]
fn applications_are_told_apart_as_asked() {
    if !can_mount() {
        return;
    }
    let by = |kind: &str| mount(&["--memory", "256K", "--policy", "lru", "--app-by", kind]);

    let mut mount = by("exe");
    done(run("cat", &mount.at("one")));
    assert_eq!(app(&mount, "cat")["references"], 15);
    mount.stop();

    let mut mount = by("pid");
    let mut child = run("cat", &mount.at("one")).spawn().unwrap();
    let number = child.id();
    assert!(child.wait().unwrap().success());
    app(&mount, &format!("pid {number}"));
    // A thread is its process.
    let two = mount.at("two");
    thread::spawn(move || fs::read(two).unwrap()).join().unwrap();
    app(&mount, &format!("pid {}", std::process::id()));
    mount.stop();

    let mut mount = by("uid");
    done(run("cat", &mount.at("one")));
    let own = rustix::process::geteuid();
    app(&mount, &format!("uid {}", own.as_raw()));
    if own.is_root() {
        mount.open_to_all();
        let mut cat = run("cat", &mount.at("two"));
        cat.uid(65534).gid(65534);
        done(cat);
        assert_eq!(app(&mount, "uid 65534")["references"], 10);
    }
    mount.stop();

    let mut mount = by("cgroup");
    done(run("cat", &mount.at("one")));
    let name = status(&mount)["apps"][0]["name"].clone();
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
    assert!(groups.lines().any(|line| line.ends_with(&format!(":{}", name.as_str().unwrap()))), "{name} of {groups}");
    mount.stop();
}

#[test]
fn processes_that_have_ended_are_told_together() {
    if !can_mount() {
        return;
    }
    let mut mount = mount(&["--memory", "1M", "--policy", "lru", "--app-by", "pid"]);
    // A process with an open file has not ended, and the status has its name.
    let one = fs::File::open(mount.at("one")).unwrap();
    for _ in 0..600 {
        done(run("cat", &mount.at("two")));
    }
    let mut first = [0; 4096];
    std::os::unix::fs::FileExt::read_exact_at(&one, &mut first, 0).unwrap();
    let status = status(&mount);
    let apps = status["apps"].as_array().unwrap();
    assert!(apps.len() < 300, "{} applications", apps.len());
    let references: u64 = apps.iter().map(|app| app["references"].as_u64().unwrap()).sum();
    assert_eq!((references, status["references"].as_u64().unwrap()), (6001, 6001), "none is lost");
    assert!(app(&mount, "ended processes")["references"].as_u64().unwrap() >= 3000);
    assert_eq!(app(&mount, &format!("pid {}", std::process::id()))["references"], 1);
    drop(one);
    mount.stop();
}

#[test]
fn a_scheme_that_learns_tells_what_it_has_learnt() {
    if !can_mount() {
        return;
    }
    let mut mount = mount(&["--memory", "64K", "--policy", "auto(period=1, curves=inline)"]);
    for _ in 0..40 {
        done(run("cksum", &mount.at("one")));
        done(run("cat", &mount.at("two")));
    }
    let told = ctl(&mount, &["explain", "--json"]).good();
    let told: Vec<Value> = serde_json::from_str(&told.out).unwrap();
    let of = |key: &str, value: &str| told.iter().any(|one| one[key].as_str().is_some_and(|text| text.contains(value)));
    assert!(of("file", "one") && of("app", "cksum") && of("app", "cat"), "{told:#?}");
    let room: f64 = told.iter().map(|one| one["room_percent"].as_f64().unwrap()).sum();
    assert!((99.0..101.0).contains(&room), "{told:#?}");
    let of_one = ctl(&mount, &["explain", "one"]).good().out;
    assert!(of_one.contains("one") && of_one.contains("keeps") && !of_one.contains("of cat"), "{of_one}");
    assert!(ctl(&mount, &["explain", "stranger"]).good().out.starts_with("Nothing was learnt of stranger"));
    let at = mount.at("");
    assert!(hotset(&["top", at.to_str().unwrap(), "--once"]).good().out.contains("\nlearnt "));
    ctl(&mount, &["set", "policy=lru"]).good();
    assert!(ctl(&mount, &["explain"]).good().out.contains("does not tell what it learns"));
    mount.stop();
}
