//! Speed and memory of caches for many applications: references a CPU second on one core, and the most memory held.
//!
//! `cargo run --release -p hotset-core --example applications_speed [SPEC [REFERENCES]]`
//!
//! Twenty applications refer in turn, a million times each unless REFERENCES gives another number. Half of the
//! references of each loop over separate blocks, 5,000 to 100,000 of them; half are drawn by zipf(1.0) from 400,000
//! separate blocks, so that queues of 1 GB are full. The cache holds 46,080 blocks of 4 KB (180 MB). Without SPEC it
//! runs the schemes that divide a cache.

use hotset_core::policy::{App, Effects, Extra, Note, Outcome, PolicySpec, Reference, Setup, Slot};
use hotset_core::random::Rng;

const APPS: u32 = 20;
const CAPACITY: u32 = 46_080;
const OWN_BLOCKS: u32 = 500_000;

fn main() {
    let mut given = std::env::args().skip(1);
    let specs = match given.next() {
        Some(spec) => vec![spec],
        None => [
            "lru",
            "virtual(lru)",
            "virtual(lfu)",
            "virtual(arc)",
            "equal(lru)",
            "qos(lru,interval=100000)",
            "ucp(lru)",
        ]
        .map(str::to_owned)
        .to_vec(),
    };
    let references = given.next().map_or(1_000_000, |text| text.parse().expect("a number of references"));
    let trace = trace(references);
    println!("{:26}{:>14}{:>10}{:>14}{:>12}", "scheme", "M refs/s", "hits", "extra reads", "most MB");
    for spec in specs {
        run(&spec, &trace);
    }
}

fn run(spec: &str, trace: &[Slot]) {
    let parsed = PolicySpec::parse(spec).unwrap_or_else(|error| panic!("{error}"));
    let args = parsed.args(Some(4096));
    let apps: Vec<App> = (0..APPS).map(|app| App::from(format!("a{app}").as_str())).collect();
    let setup = Setup { apps: &apps, ..Setup::new(&args, CAPACITY, APPS * OWN_BLOCKS, 1) };
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux forgets the most memory so far");
    let before = most_memory();
    let mut policy = parsed.build(CAPACITY, &setup).unwrap_or_else(|error| panic!("{error}"));
    let start = cpu_seconds();
    let mut fetches = Fetches(0);
    let mut hits = 0u64;
    for (time, &slot) in trace.iter().enumerate() {
        let app = slot / OWN_BLOCKS;
        let reference =
            Reference { time: time as u64, file: app, block: slot % OWN_BLOCKS, app, ..Reference::default() };
        hits += u64::from(policy.access(slot, reference, &mut fetches) == Outcome::Hit);
    }
    let seconds = cpu_seconds() - start;
    let count = trace.len() as f64;
    println!(
        "{spec:26}{:>14.2}{:>10.4}{:>14.4}{:>12.0}",
        count / seconds / 1e6,
        hits as f64 / count,
        fetches.0 as f64 / count,
        (most_memory() - before) as f64 / 1e3
    );
}

fn trace(references: u32) -> Vec<Slot> {
    let mut sums: Vec<f64> = Vec::with_capacity(400_000);
    let mut sum = 0.0;
    for rank in 1..=400_000 {
        sum += 1.0 / f64::from(rank);
        sums.push(sum);
    }
    let mut random = Rng::new(1);
    let mut trace = Vec::with_capacity((references * APPS) as usize);
    for round in 0..references {
        for app in 0..APPS {
            let block = if round % 2 == 0 {
                let draw = f64::from(random.below(u32::MAX)) / f64::from(u32::MAX) * sum;
                // Popular blocks lie anywhere.
                (sums.partition_point(|&sum| sum < draw).min(399_999) as u32).wrapping_mul(2_654_435_761) % 400_000
            } else {
                400_000 + round / 2 % (5_000 * (app + 1))
            };
            trace.push(app * OWN_BLOCKS + block);
        }
    }
    trace
}

/// Blocks that were read without a request.
struct Fetches(u64);

impl Effects for Fetches {
    fn evict(&mut self, _slot: Slot) {}
    fn forget(&mut self, _slot: Slot) {}
    fn fetch(&mut self, _slot: Slot, _why: Extra) {
        self.0 += 1;
    }

    #[inline(always)]
    fn take_accessed(&mut self, _slot: Slot) -> bool {
        false
    }

    fn storage_busy(&self) -> Option<u64> {
        None
    }

    fn note(&mut self, _note: &Note) {}
}

/// Most kilobytes that the process ever held.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the status of Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the most memory is in it");
    line.trim().trim_end_matches(" kB").parse().expect("kilobytes")
}

/// Time this thread has been running on a core, as Linux tells it.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the scheduler's statistics of Linux");
    let nanoseconds = text.split(' ').next().and_then(|field| field.parse::<u64>().ok());
    nanoseconds.expect("nanoseconds on the processor come first") as f64 / 1e9
}
