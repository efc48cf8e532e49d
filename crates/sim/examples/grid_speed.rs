//! Prints CPU seconds and rates of renumbering and of single cells: `cargo run --release --example grid_speed
//! [requests] [objects] [policy...]`.

use hotset_core::registry::ENTRIES;
use hotset_sim::grid::{self, Plan};
use hotset_sim::{Interner, Prepared, References, Silent};

/// Zipf(1.0) ranks by inversion of the continuous law, spread over 64-bit keys.
fn zipf(requests: usize, objects: u64) -> Vec<u64> {
    let mut state = 42u64;
    let scale = ((objects + 1) as f64).ln();
    let key = |rank: u64| rank.wrapping_mul(0x9e3779b97f4a7c15);
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..requests).map(|_| key(((next() * scale).exp() as u64 - 1).min(objects - 1))).collect()
}

/// CPU time of this process.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() {
    let (numbers, wanted): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|text| text.parse::<usize>().is_ok());
    let mut numbers = numbers.iter().map(|text| text.parse().expect("a number"));
    let requests = numbers.next().unwrap_or(20_000_000);
    let keys = zipf(requests, numbers.next().unwrap_or(1_000_000) as u64);
    let rate = |begin: f64| requests as f64 / (cpu_seconds() - begin) / 1e6;

    let begin = cpu_seconds();
    let mut interner = Interner::new();
    let mut ids = Vec::new();
    for batch in keys.chunks(16384) {
        interner.intern(batch, &mut ids).expect("fewer than 4 billion keys");
    }
    println!("renumber: {:.1} M/s, {} distinct", rate(begin), interner.len());
    let distinct = interner.len();
    let mut held = Prepared::Held(References::from_ids(ids));
    for entry in ENTRIES.iter().filter(|entry| wanted.is_empty() || wanted.iter().any(|name| name == entry.info.name)) {
        for percent in [1, 10, 50] {
            let capacity = (distinct / 100 * percent).max(1);
            let args = entry.defaults(None);
            let plan = Plan { entry, args, capacity, bytes: None, seed: 1 };
            let begin = cpu_seconds();
            let replayed = grid::run(&mut held, &[plan], &Silent).expect("defaults build");
            let hits = replayed.tallies[0].total.hits;
            println!("{:>12} at {percent:>2}%: {:>6.1} M/s, {hits} hits", entry.info.name, rate(begin));
        }
    }
}
