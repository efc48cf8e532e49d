//! Prints rates of the curves, in references a CPU second: `cargo run --release --example curve_speed [TRACE...]`.
//!
//! Generated traces first: zipf(1.0), a loop, a scan, and sweeps that turn back (the worst case of stack updates for
//! OPT).

use std::path::Path;
use std::time::Instant;

use hotset_sim::curve::{Curve, LruCurve, OptCurve, Shards};
use hotset_sim::{Interner, Options, Prepared, Silent, prepare};
use hotset_trace::{OpenOptions, formats::BUILTIN, open};

const PIECE: usize = 1 << 16;

/// Zipf(1.0) ranks by inversion of the continuous law, renumbered.
fn zipf(references: usize, blocks: u64) -> Vec<u32> {
    let mut state = 42u64;
    let scale = ((blocks + 1) as f64).ln();
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let ranks: Vec<u64> = (0..references).map(|_| ((next() * scale).exp() as u64 - 1).min(blocks - 1)).collect();
    let mut ids = Vec::with_capacity(references);
    let mut interner = Interner::new();
    ranks.chunks(PIECE).for_each(|piece| interner.intern(piece, &mut ids).expect("fewer than 4 billion blocks"));
    ids
}

fn read(path: &str) -> Vec<u32> {
    let trace = open(Path::new(path), BUILTIN, &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    match prepare(trace.reader, &Options::default(), &Silent).unwrap_or_else(|error| panic!("{error}")).0 {
        Prepared::Held(references) => references.ids().to_vec(),
        Prepared::Stream(_) => panic!("{path} does not fit in memory"),
    }
}

/// CPU time of this process.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Runs `work` and prints its rate.
fn timed<T>(what: &str, references: usize, work: impl FnOnce() -> T) -> T {
    let (cpu, wall) = (cpu_seconds(), Instant::now());
    let result = work();
    let rate = |seconds: f64| references as f64 / seconds / 1e6;
    let (cpu, wall) = (rate(cpu_seconds() - cpu), rate(wall.elapsed().as_secs_f64()));
    println!("  {what:<26} {cpu:>7.2} M/s CPU {wall:>7.2} M/s wall");
    result
}

fn error(exact: &Curve, estimate: &Curve<f64>, sizes: &[u64]) -> f64 {
    sizes.iter().map(|&size| (exact.hit_ratio(size) - estimate.hit_ratio(size)).abs()).sum::<f64>() / sizes.len() as f64
}

fn measure(name: &str, ids: &[u32]) {
    let count = ids.len();
    println!("{name}: {count} references");
    let lru = timed("lru", count, || {
        let mut lru = LruCurve::new();
        ids.chunks(PIECE).for_each(|piece| lru.feed(piece));
        lru.curve()
    });
    let opt = timed("opt", count, || {
        let mut opt = OptCurve::new();
        ids.chunks(PIECE).for_each(|piece| opt.feed(piece).expect("fewer than 4 billion references"));
        opt.curve()
    });
    let keys: Vec<u64> = ids.iter().map(|&id| u64::from(id)).collect();
    let evenly: Vec<u64> = (1..=64).map(|part| (lru.distinct * part / 64).max(1)).collect();
    for (what, mut shards) in [
        ("shards, fixed rate 0.01", Shards::fixed_rate(0.01, 1).expect("a rate")),
        ("shards, fixed size 8192", Shards::fixed_size(Shards::DEFAULT_SIZE, 1)),
    ] {
        let sampled = timed(what, count, || {
            keys.chunks(PIECE).for_each(|piece| shards.feed(piece));
            shards.curve()
        });
        let mut resolved = lru.log_sizes(256);
        resolved.retain(|&size| size >= sampled.resolution);
        let (even, log) = (error(&lru, &sampled.curve, &evenly), error(&lru, &sampled.curve, &resolved));
        let expected = sampled.expected_error.map_or("nothing".to_owned(), |error| format!("{error:.4}"));
        println!(
            "    error {even:.4} at even sizes, {log:.4} (expected {expected}) at logarithmic ones from {}",
            sampled.resolution
        );
    }
    for percent in [1, 10] {
        let size = lru.distinct / 100 * percent;
        println!("  at {percent:>2}% = {size}: lru {} hits, opt {}", lru.hits(size), opt.hits(size));
    }
}

fn main() {
    let sweep = |index: u32| (index % 2_000_000).min(1_999_999 - index % 2_000_000);
    measure("zipf(1.0) over 1M blocks", &zipf(20_000_000, 1_000_000));
    measure("loop over 1M blocks", &(0..10_000_000).map(|index| index % 1_000_000).collect::<Vec<_>>());
    measure("scan", &(0..10_000_000).collect::<Vec<_>>());
    measure("sweeps over 1M blocks", &(0..10_000_000).map(sweep).collect::<Vec<_>>());
    for path in std::env::args().skip(1) {
        measure(&path, &read(&path));
    }
}
