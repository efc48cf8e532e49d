//! Compares caches of values: time, hits, memory and latency on the same references in the same run.
//!
//! `cargo run --release -- [rounds=5] [threads=1,2,8] [keys=200000] [references=600000] [only=TEXT] [TRACE...]` prints
//! one line of JSON for each measurement, in rounds: each round measures every cache once for each load, size and
//! number of threads. Eight threads and single calls are measured for one load only.
//!
//! Each thread has its own share of the references and makes the usual pair of calls: it gets a key, and inserts it if
//! it is missing. Time is wall time and processor time of the threads; where other programs run beside, only the latter
//! can be compared. It does not contain threads that a cache starts itself.

mod loads;
mod peers;

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use loads::Load;
use peers::{Make, PEERS, Peer};
use rustix::time::{ClockId, clock_gettime};

/// Counts the bytes that are allocated.
struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes on to the system's allocator; only a counter is changed besides.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The load for eight threads and for single calls.
const MIDDLE: &str = "zipf 1";
/// One in so many references is timed by itself.
const TIMED: usize = 32;

/// What one thread has seen.
#[derive(Default)]
struct Seen {
    hits: usize,
    nanos: f64,
    gets: Vec<u32>,
    inserts: Vec<u32>,
}

fn cpu_nanos() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn refer(cache: &dyn Peer, keys: &[u64]) -> Seen {
    let mut seen = Seen::default();
    let begin = cpu_nanos();
    for &key in keys {
        if cache.get(key) {
            seen.hits += 1;
        } else {
            cache.insert(key);
        }
    }
    seen.nanos = cpu_nanos() - begin;
    seen
}

/// The same with times of single calls.
fn refer_timed(cache: &dyn Peer, keys: &[u64]) -> Seen {
    let mut seen = Seen::default();
    for (at, &key) in keys.iter().enumerate() {
        if at % TIMED != 0 {
            if !cache.get(key) {
                cache.insert(key);
            }
            continue;
        }
        let begin = Instant::now();
        let is_hit = cache.get(key);
        seen.gets.push(begin.elapsed().as_nanos() as u32);
        if !is_hit {
            let begin = Instant::now();
            cache.insert(key);
            seen.inserts.push(begin.elapsed().as_nanos() as u32);
        }
    }
    seen
}

fn quantiles(mut times: Vec<u32>) -> String {
    times.sort_unstable();
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or(0);
    format!("[{},{},{}]", at(0.5), at(0.99), at(0.999))
}

fn measure(name: &str, make: Make, load: &Load, capacity: usize, threads: usize, is_timed: bool) {
    let before = BYTES.load(Ordering::Relaxed);
    let cache = make(capacity);
    let part = load.keys.len() / threads;
    let gate = Barrier::new(threads + 1);
    let work = if is_timed { refer_timed } else { refer };
    let (wall, seen) = thread::scope(|scope| {
        let cache = cache.as_ref();
        let parts = load.keys.chunks_exact(part).take(threads);
        let running: Vec<_> = parts
            .map(|keys| {
                let gate = &gate;
                scope.spawn(move || {
                    gate.wait();
                    work(cache, keys)
                })
            })
            .collect();
        gate.wait();
        let begin = Instant::now();
        let seen: Vec<Seen> = running.into_iter().map(|thread| thread.join().expect("a thread that ends")).collect();
        (begin.elapsed().as_nanos() as f64, seen)
    });
    cache.settle();
    let references = (part * threads) as f64;
    let place =
        format!("\"cache\":\"{name}\",\"load\":\"{}\",\"capacity\":{capacity},\"threads\":{threads}", load.name);
    if is_timed {
        let gets = quantiles(seen.iter().flat_map(|seen| seen.gets.iter().copied()).collect());
        let inserts = quantiles(seen.iter().flat_map(|seen| seen.inserts.iter().copied()).collect());
        println!("{{{place},\"get_ns\":{gets},\"insert_ns\":{inserts}}}");
        return;
    }
    let hits: usize = seen.iter().map(|seen| seen.hits).sum();
    let cpu: f64 = seen.iter().map(|seen| seen.nanos).sum();
    drop(seen);
    let bytes = BYTES.load(Ordering::Relaxed).saturating_sub(before) as f64 / capacity as f64;
    println!(
        "{{{place},\"hit_ratio\":{:.5},\"cpu_ns\":{:.1},\"wall_ns\":{:.1},\"bytes\":{bytes:.0}}}",
        hits as f64 / references,
        cpu / references,
        wall / references,
    );
}

fn main() {
    let (mut rounds, mut threads, mut only, mut traces) = (5, vec![1, 2, 8], String::new(), Vec::new());
    let (mut keys, mut references) = (200_000, 600_000);
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("rounds", value)) => rounds = value.parse().expect("a number of rounds"),
            Some(("threads", value)) => {
                threads = value.split(',').map(|count| count.parse().expect("numbers of threads")).collect();
            }
            Some(("keys", value)) => keys = value.parse().expect("a number of keys"),
            Some(("references", value)) => references = value.parse().expect("a number of references"),
            Some(("only", value)) => only = value.to_owned(),
            _ => traces.push(argument),
        }
    }
    let mut loads: Vec<Load> = [0.8, 1.0, 1.2].map(|skew| loads::zipf(skew, keys, references)).into();
    loads.extend(traces.iter().map(|path| loads::recorded(Path::new(path), references)));
    let is_chosen = |name: &str| only.is_empty() || only.split(',').any(|word| name.contains(word));
    let chosen: Vec<_> = PEERS.iter().filter(|(name, _)| is_chosen(name)).collect();
    for _ in 0..rounds {
        for load in &loads {
            for percent in [1, 10] {
                let capacity = (load.distinct * percent / 100).max(1);
                for &threads in threads.iter().filter(|&&threads| threads < 8 || load.name == MIDDLE) {
                    for (name, make) in &chosen {
                        measure(name, *make, load, capacity, threads, false);
                        if threads < 8 && load.name == MIDDLE {
                            measure(name, *make, load, capacity, threads, true);
                        }
                    }
                }
            }
        }
    }
}
