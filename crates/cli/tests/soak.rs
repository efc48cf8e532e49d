//! Everything at once: mounts of several schemes in both modes, with readers and writers, changes behind them, settings
//! that change, pages that are asked for, and kills. A few seconds here, `HOTSET_SOAK_MINUTES` in `make soak`. Needs
//! /dev/fuse.
//!
//! Every reader holds what it reads against what it knows; memory, threads and descriptors of the mount that is never
//! killed must not grow.

mod support;

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hotset_core::random::Rng;
use rustix::io::Errno;

use support::hotset;
use support::mounted::{Mount, can_mount, pattern};

/// Schemes of the mounts, and for how long writes wait there. The first two are never killed.
const MOUNTS: [(&str, &str, Option<&str>); 4] = [
    ("arc", "strict", None),
    ("render", "strict", Some("50ms")),
    ("attribute", "strict", None),
    ("virtual(lru)", "fast", None),
];

/// Schemes that are changed to.
const POLICIES: [&str; 7] = ["lru", "arc", "attribute", "render", "s3-fifo", "virtual(lru)", "qos(lru, soak=50%)"];

/// Bytes that a file of a worker has at most.
const LONGEST: usize = 400_000;

/// Workers of a mount.
const WORKERS: u64 = 3;

/// What all threads share.
struct Soak {
    seed: u64,
    ends: AtomicBool,
    /// Calls through the mounts, kills and changes of settings.
    calls: AtomicU64,
    kills: AtomicU64,
    settings: AtomicU64,
}

/// A mount, its directory and the mountpoint. A thread that kills the mount holds the lock until the mount is back.
struct Served {
    mount: RwLock<Mount>,
    source: PathBuf,
    at: PathBuf,
}

impl Soak {
    fn goes_on(&self) -> bool {
        !self.ends.load(Ordering::Relaxed)
    }

    fn random(&self, number: u64) -> Rng {
        Rng::new(self.seed.wrapping_mul(1_000_003).wrapping_add(number))
    }
}

/// A file that only one worker changes, and what it holds.
struct Own<'a> {
    served: &'a Served,
    name: String,
    model: Vec<u8>,
    file: Option<File>,
    /// The possible effects of the last call.
    changed: Range<usize>,
}

impl Own<'_> {
    /// One call; `None` if the mount was killed under it.
    fn step(&mut self, random: &mut Rng) -> Option<()> {
        let (offset, length) = (random.below(LONGEST as u32 / 2) as usize, 1 + random.below(60_000) as usize);
        let done = match random.below(16) {
            0..9 => self.read(offset, length),
            9..13 => self.write(offset, &pattern(random.bits(), length)),
            13 => self.cut(offset),
            14 => self.change_behind(&pattern(random.bits(), length)),
            _ => {
                self.file = None;
                Ok(())
            }
        };
        match done {
            Ok(()) => Some(()),
            Err(error) => {
                let of_dead_mounts = [Errno::NOTCONN, Errno::CONNABORTED, Errno::NOENT].map(Errno::raw_os_error);
                let is_killed = error.raw_os_error().is_some_and(|number| of_dead_mounts.contains(&number));
                assert!(is_killed, "{}: {error}", self.name);
                None
            }
        }
    }

    fn open(&mut self) -> io::Result<&File> {
        if self.file.is_none() {
            self.file = Some(File::options().read(true).write(true).open(self.served.at.join(&self.name))?);
        }
        Ok(self.file.as_ref().expect("it was opened"))
    }

    fn read(&mut self, offset: usize, length: usize) -> io::Result<()> {
        let mut found = vec![0; length];
        let mut done = 0;
        while done < length {
            match self.open()?.read_at(&mut found[done..], (offset + done) as u64)? {
                0 => break,
                more => done += more,
            }
        }
        let from = offset.min(self.model.len());
        let expected = &self.model[from..(offset + length).clamp(from, self.model.len())];
        self.check(&found[..done], expected, offset);
        Ok(())
    }

    #[track_caller]
    fn check(&self, found: &[u8], expected: &[u8], offset: usize) {
        let same = found.iter().zip(expected).take_while(|(found, expected)| found == expected).count();
        let (is, be) = (found.len(), expected.len());
        assert!(found == expected, "{}: {is} bytes, expected {be}; differs at {}", self.name, offset + same);
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) -> io::Result<()> {
        self.changed = offset..offset + bytes.len();
        self.open()?.write_all_at(bytes, offset as u64)?;
        self.model.resize(self.model.len().max(offset + bytes.len()), 0);
        self.model[self.changed.clone()].copy_from_slice(bytes);
        Ok(())
    }

    fn cut(&mut self, size: usize) -> io::Result<()> {
        self.changed = size..usize::MAX;
        self.open()?.set_len(size as u64)?;
        self.model.resize(size, 0);
        Ok(())
    }

    /// Such a change is seen once the file is opened again.
    fn change_behind(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file = None;
        // Times have a grain.
        thread::sleep(Duration::from_millis(12));
        fs::write(self.served.source.join(&self.name), bytes)?;
        self.model = bytes.to_vec();
        self.open()?;
        Ok(())
    }

    /// After a kill all data is there, except for the change in progress.
    fn recover(&mut self) {
        self.file = None;
        let now = fs::read(self.served.source.join(&self.name)).unwrap();
        let known = self.model.len();
        for kept in [0..self.changed.start.min(known), self.changed.end.min(known)..known] {
            let place = kept.start;
            self.check(now.get(kept.clone()).unwrap_or_default(), &self.model[kept], place);
        }
        self.model = now;
    }
}

/// Works on a separate file until the end.
fn work(soak: &Soak, served: &Served, number: u64) {
    let mut random = soak.random(number);
    let mut own = Own { served, name: format!("own{number}"), model: Vec::new(), file: None, changed: 0..0 };
    fs::write(served.source.join(&own.name), []).unwrap();
    while soak.goes_on() {
        if own.step(&mut random).is_none() {
            // Until it is mounted again.
            drop(served.mount.read());
            own.recover();
        }
        soak.calls.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads what all workers of a mount read, from its beginning to its end: a file in which every eight bytes are their
/// place.
fn read_shared(soak: &Soak, served: &Served) {
    let mut bytes = vec![0; 1 << 16];
    while soak.goes_on() {
        let read = File::open(served.at.join("shared")).and_then(|mut file| {
            let mut place = 0u64;
            loop {
                let length = file.read(&mut bytes)?;
                for word in bytes[..length].as_chunks().0 {
                    assert_eq!(u64::from_le_bytes(*word), place, "of the shared file");
                    place += 8;
                }
                if length == 0 {
                    assert_eq!(place, SHARED, "bytes of the shared file");
                    return Ok(());
                }
            }
        });
        if read.is_err() {
            drop(served.mount.read());
        }
        soak.calls.fetch_add(1, Ordering::Relaxed);
    }
}

/// Bytes of the file that all read, somewhat more than a cache has.
const SHARED: u64 = 3 << 20;

/// Changes the settings of the mounts in turn, now and then one that is refused.
fn change_settings(soak: &Soak, mounts: &[Served]) {
    let mut random = soak.random(100);
    while soak.goes_on() {
        let served = &mounts[random.below(mounts.len() as u32) as usize];
        let policy = format!("policy={}", POLICIES[random.below(POLICIES.len() as u32) as usize]);
        let memory = format!("memory={}K", 16 + random.below(2048));
        let mount = served.mount.read().unwrap();
        let at = served.at.to_str().unwrap();
        let words = match random.below(3) {
            0 => vec!["ctl", at, "set", &policy],
            1 => vec!["ctl", at, "set", &memory],
            _ => vec!["ctl", at, "set", &policy, &memory],
        };
        let run = hotset(&words);
        assert!(run.status == 0 || run.err.contains("give a larger size"), "{words:?}: {run:?}");
        let status = hotset(&["ctl", at, "status"]).rows().remove(0);
        assert_eq!(status["broken"], false, "{status}");
        drop(mount);
        soak.settings.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(200));
    }
}

/// Asks for pages, and leaves connections hanging.
fn ask_for_pages(soak: &Soak, address: &str) {
    while soak.goes_on() {
        let mut hanging = TcpStream::connect(address).unwrap();
        hanging.write_all(b"GET /").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /metrics HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("hotset_broken 0"), "{answer}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Kills all mounts but the first two in turn, and mounts them again.
fn kill(soak: &Soak, mounts: &[Served], every: Duration) {
    let mut next = Instant::now() + every;
    for served in mounts[2..].iter().cycle() {
        while Instant::now() < next {
            if !soak.goes_on() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let mut mount = served.mount.write().unwrap();
        mount.kill();
        mount.start();
        soak.kills.fetch_add(1, Ordering::Relaxed);
        next = Instant::now() + every;
    }
}

/// Facts of a process: KiB of memory, threads, descriptors.
fn has(pid: u32) -> [u64; 3] {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let figure = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
        line.unwrap()
    };
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count() as u64;
    [figure("VmRSS:"), figure("Threads:"), descriptors]
}

/// Watches a process for that long; gives the most that it had in the second and in the last quarter.
fn watch(pid: u32, time: Duration, is_well: impl Fn() -> bool) -> ([u64; 3], [u64; 3]) {
    let (mut early, mut late, since) = ([0; 3], [0; 3], Instant::now());
    while since.elapsed() < time && is_well() {
        let now = has(pid);
        match since.elapsed().as_secs_f64() / time.as_secs_f64() {
            part if part > 0.75 => late = std::array::from_fn(|one| late[one].max(now[one])),
            part if (0.25..0.5).contains(&part) => early = std::array::from_fn(|one| early[one].max(now[one])),
            _ => {}
        }
        thread::sleep(Duration::from_millis(100));
    }
    (early, late)
}

#[test]
fn everything_at_once() {
    if !can_mount() {
        return;
    }
    let minutes = env::var("HOTSET_SOAK_MINUTES").map_or(0.15, |minutes| minutes.parse().expect("a number of minutes"));
    let seed = env::var("HOTSET_SOAK_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let time = Duration::from_secs_f64(minutes * 60.0);
    println!("soak: HOTSET_SOAK_SEED={seed} HOTSET_SOAK_MINUTES={minutes}");
    let soak = Soak { seed, ends: false.into(), calls: 0.into(), kills: 0.into(), settings: 0.into() };
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().to_string();
    let mounts = MOUNTS.iter().enumerate().map(|(number, (policy, mode, write_back))| {
        let listen = if number == 0 { vec!["--listen", &address] } else { Vec::new() };
        let arguments = ["--memory", "2M", "--policy", policy, "--mode", mode, "--log", "/dev/null"];
        let write_back = write_back.map_or(Vec::new(), |time| vec!["--write-back", time]);
        let mount = Mount::new(&[&arguments[..], &listen, &write_back].concat());
        let words: Vec<u8> = (0..SHARED).step_by(8).flat_map(u64::to_le_bytes).collect();
        fs::write(mount.source("shared"), words).unwrap();
        Served { source: mount.source(""), at: mount.at(""), mount: RwLock::new(mount) }
    });
    let mounts: Vec<Served> = mounts.collect();
    let pid = mounts[0].mount.read().unwrap().pid();
    let (early, late) = thread::scope(|scope| {
        let (soak, mounts, address) = (&soak, &mounts[..], address.as_str());
        let mut threads = vec![
            scope.spawn(|| change_settings(soak, mounts)),
            scope.spawn(|| ask_for_pages(soak, address)),
            scope.spawn(|| kill(soak, mounts, (time / 8).min(Duration::from_secs(20)))),
        ];
        for (served, number) in mounts.iter().zip(0..) {
            threads
                .extend((0..WORKERS).map(|worker| scope.spawn(move || work(soak, served, number * WORKERS + worker))));
            threads.push(scope.spawn(|| read_shared(soak, served)));
        }
        // A thread that has found a fault has ended.
        let watched = watch(pid, time, || threads.iter().all(|thread| !thread.is_finished()));
        soak.ends.store(true, Ordering::Relaxed);
        watched
    });
    let [calls, kills, settings] =
        [&soak.calls, &soak.kills, &soak.settings].map(|count| count.load(Ordering::Relaxed));
    println!("soak: {calls} calls, {kills} kills, {settings} changes of settings");
    println!("soak: KiB, threads and descriptors, at most, in the second quarter {early:?}, in the last {late:?}");
    assert!(calls > 100 && kills > 1 && settings > 1, "too little was done");
    assert!(late[0] <= early[0] + (16 << 10), "memory has grown");
    assert!(late[1] <= early[1] + 64 && late[2] <= early[2] + 64, "threads or descriptors have grown");
    println!("soak: passed");
    for served in mounts {
        served.mount.into_inner().unwrap().stop();
    }
}
