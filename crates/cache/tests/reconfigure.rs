//! Settings that change while a cache serves: the scheme keeps its learnt state where it can, and hits go on meanwhile.

mod support;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use hotset_cache::{FileCache, Learnt};
use hotset_core::policy::{App, NoEffects, Outcome, PolicySpec, Reference, Setting, Setup};
use hotset_core::random::Rng;

use support::{Opened, pattern, settings};

const BLOCK: usize = 4096;
const CAPACITY: u32 = 40;
const FILES: u32 = 3;
const BLOCKS: u32 = 90;

fn spec(text: &str) -> PolicySpec {
    PolicySpec::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The file and the block of each reference: a loop, a hot set beside a scan, and blocks at random.
fn references(seed: u64, count: u32) -> Vec<(u32, u32)> {
    let mut random = Rng::new(seed);
    let next = |time: u32| match random.below(FILES) {
        0 => (0, time / 3 % 35),
        1 if random.below(2) == 0 => (1, random.below(9)),
        1 => (1, time / 6 % BLOCKS),
        file => (file, random.below(BLOCKS)),
    };
    (0..count).map(next).collect()
}

/// Hits of a cache that serves files, one for each application, and whether it kept what it had learnt.
fn served(before: &str, after: &str, halves: [&[(u32, u32)]; 2]) -> (Vec<u64>, Learnt) {
    let cache = FileCache::new(&settings(before, u64::from(CAPACITY) * BLOCK as u64), None).unwrap();
    let apps = ["a", "b", "c"].map(|name| cache.app(name));
    let files: Vec<Opened> = (0..FILES)
        .map(|file| Opened::new(&cache, &format!("/{file}"), pattern(u64::from(file), BLOCKS as usize * BLOCK)))
        .collect();
    let read = |references: &[(u32, u32)]| {
        for &(file, block) in references {
            let access = files[file as usize].access(apps[file as usize]);
            cache.read(&access, u64::from(block) * BLOCK as u64, BLOCK).unwrap();
        }
        cache.counts().0.total.hits
    };
    let first = read(halves[0]);
    let learnt = cache.reconfigure(None, Some(spec(after))).unwrap();
    cache.validate();
    (vec![first, read(halves[1])], learnt)
}

/// Hits of the policy alone, with the same change before the same reference.
fn decided(before: &str, after: &str, halves: [&[(u32, u32)]; 2]) -> Vec<u64> {
    let [before, after] = [before, after].map(|text| spec(text).set_in(Setting::Serving));
    let apps = ["a", "b", "c"].map(App::from);
    let (old, new) = (before.args(Some(BLOCK as u64)), after.args(Some(BLOCK as u64)));
    let setup = Setup { apps: &apps, ..Setup::new(&old, CAPACITY, FILES * BLOCKS, 1) };
    let mut policy = before.entry().build(&setup).unwrap();
    let (mut hits, mut time) = (0, 0);
    let mut counts = Vec::new();
    for (half, references) in halves.into_iter().enumerate() {
        if half == 1 {
            let policy = policy.reconfigurable().expect("a scheme that takes other arguments");
            assert!(policy.reconfigure(&old, &Setup { args: &new, ..setup.clone() }, &mut NoEffects));
        }
        for &(file, block) in references {
            let reference = Reference { time, file, block, app: file, group: 1, ..Reference::default() };
            time += 1;
            hits += u64::from(policy.access(file * BLOCKS + block, reference, &mut NoEffects) == Outcome::Hit);
        }
        counts.push(hits);
    }
    counts
}

#[test]
fn a_target_changed_live_gives_the_hits_of_the_policy_with_the_same_change() {
    let references = references(7, 12_000);
    let halves = [&references[..6000], &references[6000..]];
    for (before, after) in [
        ("qos(interval=100,a=50%,c=5%)", "qos(interval=100,a=10%,c=60%)"),
        ("qos(interval=100,a=50%)", "qos(interval=700,a=90%)"),
        ("ucp(interval=500)", "ucp(interval=3000)"),
        ("virtual(quantum=100,unit=16K,queue=1M)", "virtual(quantum=100,unit=16K,queue=1M,promise=0.3,alpha=0.5)"),
    ] {
        let (hits, learnt) = served(before, after, halves);
        assert_eq!(learnt, Learnt::Kept, "{before} to {after}");
        assert_eq!(hits, decided(before, after, halves), "{before} to {after}");
    }
    let (_, learnt) = served("s3-fifo", "s3-fifo(small=20%)", halves);
    assert_eq!(learnt, Learnt::Lost);
    let (_, learnt) = served("lru", "lru", halves);
    assert_eq!(learnt, Learnt::Kept, "nothing changes");
}

/// The profile is a pipe without a writer: the call that reads it waits, and holds no lock.
#[test]
fn hits_go_on_while_a_profile_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("profile");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let cache = FileCache::new(&settings("qos(a=50%)", 16 * BLOCK as u64), None).unwrap();
    let app = cache.app("a");
    let file = Opened::new(&cache, "/f", pattern(1, 4 * BLOCK));
    cache.read(&file.access(app), 0, 4 * BLOCK).unwrap();
    thread::scope(|scope| {
        let change = format!("qos(profile=\"{}\",a=60%)", pipe.display());
        let changing = scope.spawn({
            let cache = &cache;
            move || cache.reconfigure(None, Some(spec(&change)))
        });
        // This open succeeds as soon as the pipe has a reader: from then on the change is under way.
        let mut profile = loop {
            use std::os::unix::fs::OpenOptionsExt as _;
            match OpenOptions::new().write(true).custom_flags(0o4000).open(&pipe) {
                Ok(profile) => break profile,
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        };
        let (done, hit) = channel();
        scope.spawn({
            let (cache, file) = (&cache, &file);
            move || {
                done.send(cache.read(&file.access(app), 0, 4 * BLOCK).unwrap().len() + cache.policy().to_string().len())
            }
        });
        let served = hit.recv_timeout(Duration::from_secs(20));
        let row = r#"{"trace":"a","policy":"lru","size_blocks":16,"size_bytes":65536,"references":9,"hits":3}"#;
        writeln!(profile, "{row}").unwrap();
        drop(profile);
        assert_eq!(changing.join().unwrap().unwrap(), Learnt::Lost);
        served.expect("a hit waits for the profile");
    });
    assert!(cache.policy().to_string().contains("profile"));
    cache.validate();
}
