//! What listens, under attack: the pages of `view` and `mount --listen`, and the socket of `ctl`. Part of it needs
//! /dev/fuse.

mod support;

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use support::mounted::{Mount, can_mount, pattern};
use support::viewer::Viewer;
use support::{Folder, hotset, ids};

/// A figure of /proc/PID/status.
fn figure(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process lives");
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).expect("a line");
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Bytes of the most memory that a process has had so far.
fn peak(pid: u32) -> u64 {
    figure(pid, "VmHWM") << 10
}

/// Sends bytes, and gives what is answered until the other side closes.
fn send(address: &str, bytes: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // The end may be a reset.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

fn ask(address: &str, method: &str, path: &str, host: &str) -> String {
    send(address, &format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
}

/// Writes pieces until the other side has enough or there were `most`; gives how many it took.
fn flood(stream: &mut impl Write, piece: &[u8], most: usize) -> usize {
    (0..most).take_while(|_| stream.write_all(piece).is_ok()).count()
}

/// A server of pages survives every attack below.
fn bears_attacks(pid: u32, address: &str, path: &str) {
    let serves = |after: &str| {
        let since = Instant::now();
        assert!(ask(address, "GET", path, address).starts_with("HTTP/1.1 200 "), "after {after}");
        assert!(since.elapsed() < Duration::from_secs(4), "after {after}: {:?}", since.elapsed());
    };
    serves("nothing");
    let descriptors = || fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    let (memory, threads, open) = (peak(pid), figure(pid, "Threads"), descriptors());
    for body in ["Content-Length: 99999999999", "Content-Length: 1", "Transfer-Encoding: chunked"] {
        let answer =
            send(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{body}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 413 "), "{body}: {answer}");
        serves(body);
    }
    for start in ["", "GET ", "GET / HTTP/1.1\r\nA: "] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(start.as_bytes()).unwrap();
        let taken = flood(&mut stream, &[b'x'; 1 << 20], 64);
        assert!(taken < 64, "{start:?}: {taken} MiB of a head were taken");
        serves("a long head");
    }
    let slow: Vec<TcpStream> = (0..500)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            let _ = stream.write_all(b"GET / HT");
            stream
        })
        .collect();
    serves("slow ones");
    assert!(figure(pid, "Threads") <= threads + 4, "{} threads", figure(pid, "Threads"));
    assert!(descriptors() <= open + 70, "{} connections are kept", descriptors() - open);
    // The last of them is not waited for either.
    let mut last = slow.last().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let ended = last.read_to_end(&mut Vec::new()).map_err(|error| error.kind());
    assert!(!matches!(ended, Err(ErrorKind::WouldBlock)), "a head that does not come is waited for");
    drop(slow);
    assert!(peak(pid) < memory + (24 << 20), "from {memory} to {} bytes", peak(pid));
}

#[test]
fn view_bears_attacks() {
    let folder = Folder::new();
    let (trace, json) = (folder.file("t.ids", ids()), folder.path("r.jsonl"));
    hotset(&["simulate", &trace, "-p", "lru", "-s", "3 blocks", "--json", &json]).good();
    // A page of results, and the page of the directory that they are in.
    for shown in [&json, &folder.path("")] {
        let viewer = Viewer::of(&[shown]);
        bears_attacks(viewer.pid(), &viewer.address, &viewer.place);
    }
}

#[test]
fn the_pages_of_a_mount_bear_attacks_and_are_for_this_machine() {
    if !can_mount() {
        return;
    }
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let (address, port) = (free.to_string(), free.port());
    let mut mount = Mount::new(&["--memory", "1M", "--policy", "lru", "--listen", &address]);
    fs::write(mount.source("f"), pattern(1, 9000)).unwrap();
    bears_attacks(mount.pid(), &address, "/metrics");
    assert_eq!(fs::read(mount.at("f")).unwrap(), pattern(1, 9000), "the mount serves");
    let statuses = [
        ("GET", "/status", format!("localhost:{port}"), "200"),
        ("HEAD", "/metrics", address.clone(), "200"),
        ("GET", "/metrics", "evil.example".to_owned(), "403"),
        ("GET", "/metrics", format!("evil.example:{port}"), "403"),
        ("GET", "/metrics", format!("127.0.0.1.evil.example:{port}"), "403"),
        ("GET", "/metrics", format!("{address}\r\nHost: evil.example"), "403"),
        ("POST", "/metrics", address.clone(), "405"),
        ("GET", "/", address.clone(), "404"),
    ];
    for (method, path, host, status) in statuses {
        let answer = ask(&address, method, path, &host);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {path} of {host}: {answer}");
    }
    let metrics = ask(&address, "GET", "/metrics", &address);
    for line in ["hotset_references_total 3", "hotset_metadata_asked_total{about=\"opens\"} 1"] {
        assert!(metrics.contains(&format!("\n{line}\n")), "{line} is missing: {metrics}");
    }
    mount.stop();
}

/// A loop over more than the memory: twice the memory would hold it, and the estimates show that.
#[test]
fn a_mount_estimates_other_sizes_and_policies() {
    if !can_mount() {
        return;
    }
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let address = free.to_string();
    let options = ["--memory", "64M", "--block", "64K", "--policy", "lru", "--mode", "strict", "--listen", &address];
    let mut mount = Mount::new(&options);
    let at = mount.at("").to_str().unwrap().to_owned();
    let early = hotset(&["top", &at, "--once", "--what-if"]).out;
    assert!(early.contains("no estimates yet"), "{early}");
    fs::write(mount.source("f"), pattern(1, 108 << 20)).unwrap();
    (0..4).for_each(|_| assert_eq!(fs::read(mount.at("f")).unwrap().len(), 108 << 20));
    let status = hotset(&["ctl", &at, "status"]).rows().remove(0);
    let estimates = status["what_if"].as_array().unwrap();
    let hit_ratio = |factor: f64, policy: &str| {
        let of = |one: &&serde_json::Value| one["factor"] == factor && one["policy"] == policy;
        estimates.iter().find(of).unwrap()["hit_ratio"].as_f64().unwrap()
    };
    // Three of four passes hit if all is resident. The kernel asks for some blocks twice in one pass.
    assert!(hit_ratio(1.0, "lru") < 0.1 && (hit_ratio(2.0, "lru") - 0.75).abs() < 0.05, "{estimates:?}");
    assert!(hit_ratio(1.0, "lirs") > 0.2, "{estimates:?}");
    let top = hotset(&["top", &at, "--once", "--what-if"]).out;
    assert!(top.contains("of references hit; 32M would lose nothing; 128M would give 7"), "{top}");
    assert!(top.contains("256M nothing more; lirs would give "), "{top}");
    let metrics = ask(&address, "GET", "/metrics", &address);
    for name in ["what_if_hit_ratio{memory=\"0.5x\",policy=\"s3-fifo\"} ", "eviction_age_seconds_bucket{le=\"+Inf\"} "]
    {
        assert!(metrics.contains(&format!("\nhotset_{name}")), "{name} is missing: {metrics}");
    }
    mount.stop();
}

#[test]
fn listen_takes_names_and_tells_the_port() {
    if !can_mount() {
        return;
    }
    let folder = Folder::new();
    let (source, at) = (folder.path("source"), folder.path("at"));
    [&source, &at].into_iter().for_each(|path| fs::create_dir(path).unwrap());
    let mount = ["mount", &source, &at, "--memory", "1M", "--policy", "lru", "--daemon", "--listen"];
    let run = hotset(&[&mount[..], &["nowhere"]].concat());
    assert!(
        run.status == 1 && run.err.contains("cannot listen at nowhere") && run.err.contains("HOST:PORT"),
        "{run:?}"
    );
    let run = hotset(&[&mount[..], &["localhost:0"]].concat());
    let told = run.err.split_once("hotset: http://").and_then(|(_, rest)| rest.split_once("/metrics"));
    let address = told.unwrap_or_else(|| panic!("{run:?}")).0;
    assert!(run.status == 0 && !address.ends_with(":0"), "{run:?}");
    assert!(ask(address, "GET", "/status", address).contains("\"policy\":\"lru\""));
    support::mounted::unmount(at.as_ref());
}

/// Where the mount is asked.
fn socket(mount: &Mount) -> PathBuf {
    let folder = match rustix::process::geteuid().is_root() {
        true => PathBuf::from("/run"),
        false => std::env::var_os("XDG_RUNTIME_DIR").expect("a user has one").into(),
    };
    let device = fs::metadata(mount.at("")).unwrap().dev();
    folder.join("hotset").join(format!("{}-{}", rustix::fs::major(device), rustix::fs::minor(device)))
}

fn status(mount: &Mount) -> support::Run {
    hotset(&["ctl", mount.at("").to_str().unwrap(), "status"])
}

#[test]
fn slow_and_endless_requests_are_in_nobodys_way() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(&["--memory", "1M", "--policy", "lru"]);
    let socket = socket(&mount);
    let folder = fs::symlink_metadata(socket.parent().unwrap()).unwrap();
    assert!(
        folder.uid() == rustix::process::geteuid().as_raw() && folder.mode() & 0o22 == 0,
        "no other user writes there"
    );
    let connect = || UnixStream::connect(&socket).unwrap();
    status(&mount).good();

    let memory = peak(mount.pid());
    let mut endless = connect();
    assert!(flood(&mut endless, &[b'x'; 1 << 20], 64) < 64);
    let mut answer = String::new();
    // As the command does it: behind the line may be the end, or that what was sent has not been read.
    BufReader::new(&endless).read_line(&mut answer).unwrap();
    assert!(answer.contains("expected a line of 65536 bytes at most"), "{answer}");
    assert!(peak(mount.pid()) < memory + (8 << 20), "from {memory} to {} bytes", peak(mount.pid()));

    let silent: Vec<UnixStream> = (0..10).map(|_| connect()).collect();
    let since = Instant::now();
    status(&mount).good();
    // One after the other they would take two seconds each.
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    drop(silent);

    // One byte now and then does not buy more time.
    let mut slow = connect();
    let since = Instant::now();
    while slow.write_all(b" ").is_ok() {
        assert!(since.elapsed() < Duration::from_secs(10), "it may go on for ever");
        thread::sleep(Duration::from_millis(100));
    }

    let crowd: Vec<UnixStream> = (0..200).map(|_| connect()).collect();
    assert!(figure(mount.pid(), "Threads") < 60, "{} threads", figure(mount.pid(), "Threads"));
    let run = status(&mount);
    assert!(run.status == 1 && run.err.contains("too many clients"), "{run:?}");
    drop(crowd);
    let since = Instant::now();
    while status(&mount).status != 0 {
        assert!(since.elapsed() < Duration::from_secs(10), "it does not recover");
    }
    mount.stop();
    assert!(!socket.exists(), "nothing is left behind");
}

#[test]
fn a_name_that_somebody_has_taken_and_one_left_behind_are_taken_over() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(&["--memory", "1M", "--policy", "lru"]);
    let socket = socket(&mount);
    mount.kill();
    assert!(socket.exists(), "it was killed");
    mount.start();
    status(&mount).good();
    // The next mount may get the number; the one before does not take its name away.
    let now = self::socket(&mount);
    fs::remove_file(&now).unwrap();
    let other = UnixListener::bind(&now).unwrap();
    mount.stop();
    assert!(now.exists(), "it is not ours");
    drop(other);
    fs::remove_file(now).unwrap();
    let _ = fs::remove_file(socket);
}

/// The server checks the client before it reads a byte.
#[test]
fn others_cannot_connect_and_are_refused_unread() {
    if !can_mount() || !rustix::process::geteuid().is_root() {
        return;
    }
    let mut mount = Mount::new(&["--memory", "1M", "--policy", "lru"]);
    let socket = socket(&mount);
    let as_other = |socket: PathBuf| {
        let connect = move || {
            let user = rustix::process::Uid::from_raw(65534);
            rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            UnixStream::connect(socket)
        };
        thread::spawn(connect).join().unwrap()
    };
    assert_eq!(as_other(socket.clone()).unwrap_err().kind(), ErrorKind::PermissionDenied);
    for (path, mode) in [(socket.parent().unwrap(), 0o755), (&socket, 0o666)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    let mut answer = String::new();
    as_other(socket.clone()).unwrap().read_to_string(&mut answer).unwrap();
    assert!(answer.contains("only root and the mounting user have access"), "{answer}");
    mount.stop();
}
