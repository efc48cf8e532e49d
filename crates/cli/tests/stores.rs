//! `hotset mount s3://…` as a command: its words, its recordings, and that it keeps secrets. Needs /dev/fuse; the store
//! is a small one of our own.

mod support;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use hotset_testkit::s3::{Fault, S3};
use rustix::process::{Pid, Signal, kill_process};

use support::mounted::{can_mount, pattern, unmount, wait_for};
use support::{Folder, Run, finish, hotset};

const KEY: &str = "AKIAKEYOFTHETEST";
const SECRET: &str = "wJalrSecretOfTheTest";
const TOKEN: &str = "TokenOfTheTest";

/// The command with credentials in its environment, and none of its user's.
fn command(s3: &S3, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotset"));
    command.arg("mount").args(arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("AWS_ENDPOINT_URL", s3.url()).env("AWS_ACCESS_KEY_ID", KEY);
    command.env("AWS_SECRET_ACCESS_KEY", SECRET).env("AWS_SESSION_TOKEN", TOKEN);
    command
}

fn check_has_no_secrets(what: &str, bytes: &[u8]) {
    for secret in [KEY, SECRET, TOKEN, "Signature="] {
        let has = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!has, "{what} has {secret}: {}", String::from_utf8_lossy(bytes));
    }
}

/// Mounts and waits until it serves.
fn start(mut command: Command, at: &str) -> Child {
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    wait_for(Path::new(at), &mut child);
    child
}

/// Ends it; gives all that it said.
fn stop(mut child: Child) -> String {
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    said
}

#[test]
fn a_store_is_mounted_recorded_and_nobody_sees_a_secret() {
    if !can_mount() {
        return;
    }
    let (s3, folder) = (S3::start(), Folder::new());
    for number in 0..20 {
        s3.put(&format!("shots/{number}.png"), pattern(number, 300_000));
    }
    let (at, record, log) = (folder.path("at"), folder.path("day.hst"), folder.path("log"));
    fs::create_dir(&at).unwrap();
    let options = ["--memory", "4M", "--policy", "render", "--record", &record, "--log", &log, "--timeout", "5s"];
    let child = start(command(&s3, &[&["s3://bucket/shots", &at], &options[..]].concat()), &at);
    for turn in 0..2 {
        for number in 0..20 {
            let read = fs::read(Path::new(&at).join(format!("{number}.png"))).unwrap();
            assert!(read == pattern(number, 300_000), "turn {turn}, {number}");
        }
    }
    // The key is sent, so it could leak.
    assert!(s3.take_asked().iter().all(|asked| asked.header("authorization").unwrap().contains(KEY)));
    s3.fail(|asked| asked.range.is_some().then_some(Fault::Status(403)));
    // Not all of them fit.
    assert!((0..20).any(|number| fs::read(Path::new(&at).join(format!("{number}.png"))).is_err()));
    let status = hotset(&["ctl", &at, "status"]);
    assert_eq!(status.status, 0, "{status:?}");
    check_has_no_secrets("the status", status.out.as_bytes());
    let told: serde_json::Value = serde_json::from_str(&status.out).unwrap();
    assert!(told["store"]["reads"].as_u64() > Some(20) && told["store"]["hedges"].is_u64(), "{told}");
    let top = hotset(&["top", &at, "--once"]).good();
    assert!(top.out.lines().any(|line| line.starts_with("object store reads ") && line.contains("hedged")), "{top:?}");
    check_has_no_secrets("the table of mounts", &fs::read("/proc/self/mountinfo").unwrap());
    assert!(String::from_utf8_lossy(&fs::read("/proc/self/mounts").unwrap()).contains("s3://bucket/shots "));
    let said = stop(child);
    assert!(said.contains("s3://bucket/shots is served at"), "{said}");
    check_has_no_secrets("the terminal", said.as_bytes());
    check_has_no_secrets("the log", &fs::read(&log).unwrap());
    check_has_no_secrets("the recording", &fs::read(&record).unwrap());
    let shown = hotset(&["inspect", &record]);
    check_has_no_secrets("the recording", shown.out.as_bytes());
    // The recording has the default block size.
    let row = hotset(&["simulate", &record, "--policy", "render", "--size", "4M", "--json", "-"]).rows().remove(0);
    let number = |key: &str| row[key].as_u64().unwrap();
    let expected = format!("hotset: {} of {} references hit", number("hits"), number("references"));
    assert!(said.replace(',', "").contains(&expected), "{said}\nexpected {expected}");
}

#[test]
fn what_is_kept_of_objects_outlives_the_process() {
    if !can_mount() {
        return;
    }
    let (s3, folder) = (S3::start(), Folder::new());
    let put = |number: u64, seed: u64| s3.put(&format!("shots/{number}.png"), pattern(seed, 300_000));
    (0..10).for_each(|number| put(number, number));
    // So that their times tell versions apart.
    thread::sleep(Duration::from_millis(2100));
    let (at, ssd) = (folder.path("at"), folder.path("ssd"));
    fs::create_dir(&at).unwrap();
    let begin = || {
        let options = ["--memory", "512K", "--policy", "lru", "--ssd", &ssd, "--ssd-size", "8M"];
        start(command(&s3, &[&["s3://bucket/shots", &at], &options[..]].concat()), &at)
    };
    // Gives how often the store was asked for bytes.
    let read_all = |seed: &dyn Fn(u64) -> u64| {
        s3.take_asked();
        for number in 0..10 {
            let read = fs::read(Path::new(&at).join(format!("{number}.png"))).unwrap();
            assert!(read == pattern(seed(number), 300_000), "{number}");
        }
        s3.take_asked().iter().filter(|asked| asked.range.is_some()).count()
    };
    let first = begin();
    assert!(read_all(&|number| number) >= 10);
    stop(first);
    let second = begin();
    assert_eq!(read_all(&|number| number), 0, "all of it is on the disk");
    stop(second);
    put(3, 33);
    thread::sleep(Duration::from_millis(2100));
    let third = begin();
    let asked = read_all(&|number| if number == 3 { 33 } else { number });
    assert!((1..=3).contains(&asked), "{asked} reads of one object");
    stop(third);
}

/// The same name, key, size and etag, which is all that a version of an object is known by.
#[test]
fn what_is_kept_of_one_server_is_not_served_as_anothers() {
    if !can_mount() {
        return;
    }
    let (one, other, folder) = (S3::start(), S3::start(), Folder::new());
    let (at, ssd, config) = (folder.path("at"), folder.path("ssd"), folder.path("config"));
    fs::create_dir(&at).unwrap();
    for (s3, seed) in [(&one, 1), (&other, 2)] {
        s3.put("f", pattern(seed, 300_000));
    }
    for (s3, seed) in [(&one, 1), (&other, 2), (&other, 2)] {
        fs::write(&config, format!("[default]\nendpoint_url = {}\n", s3.url())).unwrap();
        let options = ["--memory", "512K", "--policy", "lru", "--ssd", &ssd, "--ssd-size", "8M"];
        let mut mount = command(s3, &[&["s3://bucket", &at], &options[..]].concat());
        mount.env_remove("AWS_ENDPOINT_URL").env("AWS_CONFIG_FILE", &config);
        let child = start(mount, &at);
        assert!(fs::read(Path::new(&at).join("f")).unwrap() == pattern(seed, 300_000), "bytes of the other one");
        stop(child);
    }
    let asked = other.take_asked().iter().filter(|asked| asked.range.is_some()).count();
    assert!((1..=3).contains(&asked), "{asked} reads: the second time it is on the disk");
}

#[test]
fn what_cannot_be_served_is_refused_before_it_is_mounted() {
    if !can_mount() {
        return;
    }
    let (s3, folder) = (S3::start(), Folder::new());
    s3.put("there/f", "x");
    let at = folder.path("at");
    fs::create_dir(&at).unwrap();
    let run = |source: &str, more: &[&str], change: fn(&mut Command)| -> Run {
        let arguments = [&[source, &at, "--memory", "1M", "--policy", "lru", "--timeout", "3s"], more].concat();
        let mut command = command(&s3, &arguments);
        change(&mut command);
        let run = finish(command);
        check_has_no_secrets("the terminal", (run.out.clone() + &run.err).as_bytes());
        run
    };
    let nothing: fn(&mut Command) = |_| {};
    for (source, more, status, words) in [
        ("s3://bucket/ther", &[][..], 1, "no object's key begins so"),
        ("ftp://host/x", &[], 2, "unknown scheme ftp://: expected s3://, gs:// or az://"),
        ("s3://u:p@bucket/x", &[], 2, "must not have a user or a password"),
        ("s3://bucket/there", &["--write-back"], 2, "--write-back is not supported for s3://bucket/there"),
        ("s3://bucket/there", &["--allow-dev"], 2, "--allow-dev is not supported"),
        (
            "az://container/x",
            &[],
            1,
            "a setting of the store is missing or malformed: check AZURE_STORAGE_ACCOUNT_NAME",
        ),
    ] {
        let run = run(source, more, nothing);
        assert!(run.status == status && run.err.contains(words), "{source}: {run:?}");
    }
    s3.fail(|_| Some(Fault::Status(403)));
    let refused = run("s3://bucket/there", &[], nothing);
    assert!(refused.status == 1 && refused.err.contains("the store refuses it (401 or 403)"), "{refused:?}");
    s3.fail(|_| Some(Fault::Status(503)));
    let busy = run("s3://bucket/there", &[], nothing);
    assert!(busy.status == 1 && busy.err.contains("the store answers 503, also when it is asked again"), "{busy:?}");
    s3.fail(|_| Some(Fault::Status(301)));
    let moved = run("s3://bucket/there", &[], nothing);
    assert!(moved.status == 1 && moved.err.contains("check the region (AWS_REGION)"), "{moved:?}");
    let gone = run("s3://bucket/there", &[], |command| {
        command.env("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
    });
    assert!(gone.status == 1 && gone.err.contains("cannot be reached: Connection refused"), "{gone:?}");
    let half = run("s3://bucket/there", &[], |command| {
        command.env_remove("AWS_SECRET_ACCESS_KEY");
    });
    assert!(half.status == 1 && half.err.contains("check AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY"), "{half:?}");
    let directory = hotset(&["mount", &folder.path("x"), &at, "--memory", "1M", "--requests", "3"]);
    assert!(directory.status == 2 && directory.err.contains("--requests needs an object store"), "{directory:?}");
    assert_eq!(fs::read_dir(&at).unwrap().count(), 0);
}

#[test]
fn a_web_server_that_cannot_be_served_is_refused_before_it_is_mounted() {
    if !can_mount() {
        return;
    }
    let (s3, folder) = (S3::start(), Folder::new());
    s3.put("there/f", "x");
    let at = folder.path("at");
    fs::create_dir(&at).unwrap();
    let run = |source: &str, more: &[&str]| {
        let arguments = [&[source, &at, "--memory", "1M", "--policy", "lru", "--timeout", "3s"], more].concat();
        finish(command(&s3, &arguments))
    };
    for (source, more, status, words) in [
        ("https://host/x", &["--writable"][..], 2, "--writable: https://host/x is a web server"),
        ("https://u:p@host/x", &[], 2, "must not have a user or a password"),
        ("https://host/x?token=p", &[], 2, "expected an address without ? and #"),
        ("https://host/x#p", &[], 2, "expected an address without ? and #"),
        ("https:///x", &[], 2, "expected an address of a directory, such as https://host/directory"),
        ("http://127.0.0.1:1/x", &[], 1, "cannot be reached: Connection refused"),
    ] {
        let refused = run(source, more);
        assert!(refused.status == status && refused.err.contains(words), "{source}: {refused:?}");
    }
    let web = format!("{}/bucket/there", s3.url());
    for (fault, words) in [
        (
            Some(Fault::Status(405)),
            "the server answers 405 to PROPFIND, where WebDAV tells what is in a directory (207): check",
        ),
        (Some(Fault::Status(501)), "the server answers 501 to PROPFIND"),
        (Some(Fault::Status(404)), "the server answers 404 to PROPFIND"),
        (Some(Fault::Text("<html></html>")), "the store's answer is not what was expected"),
        (
            Some(Fault::Status(401)),
            "lists it only with credentials (401 or 403 to PROPFIND), and web servers are given none",
        ),
        (None, "this is a file: expected the address of a directory"),
    ] {
        s3.fail(move |_| fault);
        let web = if fault.is_some() { web.clone() } else { format!("{web}/f") };
        let refused = run(&web, &[]);
        assert!(refused.status == 1 && refused.err.contains(words) && refused.err.lines().count() == 1, "{refused:?}");
    }
    // Nothing that the environment holds is sent there.
    assert!(s3.take_asked().iter().all(|asked| asked.header("authorization").is_none()));
    assert_eq!(fs::read_dir(&at).unwrap().count(), 0);
}

#[test]
fn credentials_of_a_profile_are_used_and_a_file_is_a_directory() {
    if !can_mount() {
        return;
    }
    let (s3, folder) = (S3::start(), Folder::new());
    s3.put("f", "from the store");
    let (at, source) = (folder.path("at"), folder.path("source"));
    fs::create_dir(&at).unwrap();
    fs::create_dir_all(folder.path(".aws")).unwrap();
    let profile = format!("[work]\naws_access_key_id = AKIAOFTHEPROFILE\naws_secret_access_key = {SECRET}\n");
    fs::write(folder.path(".aws/credentials"), profile).unwrap();
    let mut mount = command(&s3, &["s3://bucket", &at, "--memory", "1M", "--policy", "lru"]);
    mount.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY").env_remove("AWS_SESSION_TOKEN");
    mount.env("AWS_PROFILE", "work").env("HOME", folder.path(""));
    let child = start(mount, &at);
    assert_eq!(fs::read(Path::new(&at).join("f")).unwrap(), b"from the store");
    assert!(s3.take_asked().iter().all(|asked| asked.header("authorization").unwrap().contains("AKIAOFTHEPROFILE")));
    check_has_no_secrets("the terminal", stop(child).as_bytes());
    // `file://` is a directory as any other.
    fs::create_dir(&source).unwrap();
    let run = hotset(&["mount", &format!("file://{source}"), &at, "--memory", "1M", "--policy", "lru", "--daemon"]);
    assert_eq!(run.status, 0, "{run:?}");
    fs::write(Path::new(&at).join("new"), "written").unwrap();
    assert_eq!(fs::read(Path::new(&source).join("new")).unwrap(), b"written");
    unmount(Path::new(&at));
}
