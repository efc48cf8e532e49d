//! The cost of a feed: processor time of a read of resident pages, of listeners, and of waiting without events.
//!
//! `cargo run --release --package hotset-feed --example read_cost [FOLDER]`. The folder must lie on a disk. The states
//! are tried in turn, so that other work of the machine weighs on all alike. Prints medians of the rounds, and their
//! range.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hotset_feed::{Feed, FeedOptions, FileId, Kind, open};
use rustix::time::{ClockId, clock_gettime};

const FILE: usize = 16 << 20;
const ROUNDS: usize = 9;
/// Bytes of a read, and reads of a round.
const READS: [(usize, usize); 2] = [(4 << 10, 100_000), (64 << 10, 20_000)];

/// The results of a round: microseconds of processor time a read, and shares of a processor for listeners.
struct Round {
    state: String,
    bytes: usize,
    read: f64,
    listener: f64,
}

/// Processor time of the thread that asks, in seconds.
fn spent() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Reads blocks all over the file; microseconds of processor time each.
fn read(file: &File, bytes: usize, reads: usize) -> f64 {
    let mut block = vec![0; bytes];
    let before = spent();
    for n in 0..reads {
        let at = n * 7919 % (FILE / bytes) * bytes;
        file.read_exact_at(&mut block, at as u64).expect("a resident file is read");
    }
    (spent() - before) * 1e6 / reads as f64
}

/// The same while another thread listens; also its share of a processor.
fn read_heard(feed: &mut dyn Feed, file: &File, bytes: usize, reads: usize) -> (f64, f64) {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let listener = scope.spawn(|| {
            let (begun, before) = (Instant::now(), spent());
            while !is_done.load(Ordering::Relaxed) {
                feed.poll(Duration::from_millis(20), &mut |_, _| ()).expect("the feed goes on");
            }
            (spent() - before) / begun.elapsed().as_secs_f64()
        });
        let read = read(file, bytes, reads);
        is_done.store(true, Ordering::Relaxed);
        (read, listener.join().expect("the listener ends"))
    })
}

fn median(values: impl Iterator<Item = f64>) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    format!("{:>8.3} ({:.3} to {:.3})", values[values.len() / 2], values[0], values[values.len() - 1])
}

fn idle(kind: Kind, watched: FileId) {
    let Ok(mut feed) = open(kind, &FeedOptions::default()) else { return };
    feed.watch(watched, FILE as u64).expect("a file is watched");
    let (begun, before) = (Instant::now(), spent());
    while begun.elapsed() < Duration::from_secs(5) {
        feed.poll(Duration::from_secs(1), &mut |_, _| ()).expect("the feed goes on");
    }
    println!("{kind} idle: {:.4} % of a processor", (spent() - before) / begun.elapsed().as_secs_f64() * 100.0);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let paths = ["read_cost.watched", "read_cost.other"].map(|name| folder.join(name));
    paths.iter().try_for_each(|path| fs::write(path, vec![1; FILE]))?;
    let (file, other) = (File::open(&paths[0])?, File::open(&paths[1])?);
    file.sync_all()?;
    let mut rounds: Vec<Round> = Vec::new();
    for _ in 0..ROUNDS {
        for (bytes, reads) in READS {
            let mut note = |state: String, (read, listener)| rounds.push(Round { state, bytes, read, listener });
            read(&file, bytes, reads / 10);
            note("off".to_owned(), (read(&file, bytes, reads), 0.0));
            for kind in Kind::ALL {
                let Ok(mut feed) = open(kind, &FeedOptions::default()) else { continue };
                feed.watch(FileId::of(&other)?, FILE as u64)?;
                note(format!("{kind}, another file"), read_heard(&mut *feed, &file, bytes, reads));
                feed.watch(FileId::of(&file)?, FILE as u64)?;
                note(format!("{kind}, this file"), read_heard(&mut *feed, &file, bytes, reads));
                feed.reading(false)?;
                note(format!("{kind}, reads not wanted"), read_heard(&mut *feed, &file, bytes, reads));
            }
        }
    }
    println!("bytes   state                        µs a read                     processors of the listener");
    for (bytes, _) in READS {
        let mut states: Vec<&str> = Vec::new();
        for round in rounds.iter().filter(|round| round.bytes == bytes) {
            if !states.contains(&round.state.as_str()) {
                states.push(&round.state);
            }
        }
        for state in states {
            let of = || rounds.iter().filter(|round| round.bytes == bytes && round.state == state);
            println!(
                "{bytes:<7} {state:<28} {:<29} {}",
                median(of().map(|r| r.read)),
                median(of().map(|r| r.listener))
            );
        }
    }
    for kind in Kind::ALL {
        idle(kind, FileId::of(&file)?);
    }
    paths.iter().try_for_each(fs::remove_file)?;
    Ok(())
}
