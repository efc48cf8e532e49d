//! Speed and memory of each policy: accesses a CPU second on one core, and bytes of memory, for every entry of the
//! registry.
//!
//! `cargo run --release -p hotset-core --example policy_speed [POLICY...]`
//!
//! The trace is zipf(1.0) over 1M blocks, 20M references, its blocks renumbered by first appearance as the simulator
//! does. The slot of the reference 16 ahead is prefetched. Every figure is the best of three runs, with the hit ratio
//! next to it. Memory is the allocation of building the policy, by slot (a block that the host may mention) and by
//! block of capacity, from the differences of three builds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hotset_core::policy::{Effects, Extra, Future, Note, Outcome, Policy, Reference, Setup, Slot, Told};
use hotset_core::random::Rng;
use hotset_core::registry::{self, Visitor};

const BLOCKS: usize = 1_000_000;
const REFERENCES: usize = 20_000_000;
const AHEAD: usize = 16;
const RUNS: usize = 3;
/// Capacities in percent of the footprint.
const PERCENT: [usize; 3] = [1, 10, 50];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let trace = Arc::new(zipf_trace());
    let footprint = trace.iter().max().map_or(0, |&last| last as usize + 1);
    let future = Future::Told(Told { slots: trace.clone(), next_use: Arc::new(next_uses(&trace, footprint)) });
    let addresses = addresses(footprint);
    println!("zipf(1.0), {REFERENCES} references to {footprint} blocks; million accesses a second (hit ratio)");
    println!("{:12}{:>20}{:>20}{:>20}{:>12}{:>13}", "policy", "1%", "10%", "50%", "bytes/slot", "bytes/block");
    for entry in registry::ENTRIES {
        let name = entry.info.name;
        if !wanted.is_empty() && !wanted.iter().any(|other| other == name) {
            continue;
        }
        print!("{name:12}");
        for percent in PERCENT {
            let capacity = (footprint * percent / 100) as u32;
            let args = entry.defaults(None);
            let setup = Setup {
                future: Some(&future),
                addresses: Some(&addresses),
                ..Setup::new(&args, capacity, footprint as u32, 1)
            };
            let (hits, seconds) =
                registry::visit(name, Replay { setup: &setup, trace: &trace }).expect("the name is the registry's own");
            let rate = REFERENCES as f64 / seconds / 1e6;
            print!("{:>20}", format!("{rate:.0} ({:.4})", hits as f64 / REFERENCES as f64));
        }
        if entry.info.offline {
            println!("{:>12}{:>13}", "-", "-"); // It holds the future of the trace besides.
            continue;
        }
        let bytes = |slots: u32, capacity: u32| {
            let args = entry.defaults(None);
            let setup =
                Setup { future: Some(&future), addresses: Some(&addresses), ..Setup::new(&args, capacity, slots, 1) };
            registry::visit(name, Weigh(&setup)).expect("the name is the registry's own") as f64
        };
        // Powers of two, because rings and tables are rounded up to them.
        let (slots, capacity) = (1 << 20, 1 << 14);
        let base = bytes(slots / 2, capacity / 2);
        let by_slot = (bytes(slots, capacity / 2) - base) / f64::from(slots / 2);
        let by_block = (bytes(slots / 2, capacity) - base) / f64::from(capacity / 2);
        println!("{by_slot:>12.1}{by_block:>13.1}");
    }
}

/// Bytes that building a policy allocates and keeps.
struct Weigh<'a>(&'a Setup<'a>);

impl Visitor for Weigh<'_> {
    type Output = u64;

    fn visit<P: Policy + 'static>(self) -> u64 {
        let before = HELD.load(Relaxed);
        let policy = P::new(self.0).unwrap_or_else(|error| panic!("{}: {error}", P::INFO.name));
        let held = HELD.load(Relaxed) - before;
        drop(policy);
        held
    }
}

/// Bytes held by the program.
static HELD: AtomicU64 = AtomicU64::new(0);

struct Weighing;

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Weighing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as u64, Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Weighing = Weighing;

struct Replay<'a> {
    setup: &'a Setup<'a>,
    trace: &'a [Slot],
}

impl Visitor for Replay<'_> {
    type Output = (u64, f64);

    fn visit<P: Policy + 'static>(self) -> (u64, f64) {
        (0..RUNS).map(|_| self.run::<P>()).min_by(|a, b| a.1.total_cmp(&b.1)).expect("at least one run")
    }
}

impl Replay<'_> {
    /// Hits and CPU seconds.
    fn run<P: Policy>(&self) -> (u64, f64) {
        let mut policy = P::new(self.setup).unwrap_or_else(|error| panic!("{}: {error}", P::INFO.name));
        let start = cpu_seconds();
        let hits = replay(&mut policy, self.trace);
        (hits, cpu_seconds() - start)
    }
}

fn replay<P: Policy>(policy: &mut P, trace: &[Slot]) -> u64 {
    let mut evictions = Evictions(0);
    let mut hits = 0;
    let body = trace.len().saturating_sub(AHEAD);
    for (time, &slot) in trace[..body].iter().enumerate() {
        policy.prefetch(trace[time + AHEAD]);
        hits += u64::from(policy.access(slot, reference(slot, time), &mut evictions) == Outcome::Hit);
    }
    for (time, &slot) in trace.iter().enumerate().skip(body) {
        hits += u64::from(policy.access(slot, reference(slot, time), &mut evictions) == Outcome::Hit);
    }
    assert!(evictions.0 <= trace.len() as u64 - hits, "more evictions than misses");
    hits
}

/// Time this thread has been running on a core, as Linux tells it.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the scheduler's statistics of Linux");
    let nanoseconds = text.split(' ').next().and_then(|field| field.parse::<u64>().ok());
    nanoseconds.expect("nanoseconds on the processor come first") as f64 / 1e9
}

/// The simulator's host counts an eviction and does no more.
struct Evictions(u64);

impl Effects for Evictions {
    #[inline(always)]
    fn evict(&mut self, _slot: Slot) {
        self.0 += 1;
    }

    #[inline(always)]
    fn fetch(&mut self, _slot: Slot, _why: Extra) {}

    #[inline(always)]
    fn forget(&mut self, _slot: Slot) {}

    #[inline(always)]
    fn take_accessed(&mut self, _slot: Slot) -> bool {
        false
    }

    fn storage_busy(&self) -> Option<u64> {
        None
    }

    fn note(&mut self, _note: &Note) {}
}

/// Blocks lie in files of 64, in the order of their numbers; one reference in eight writes.
#[inline(always)]
fn reference(slot: Slot, time: usize) -> Reference {
    Reference {
        clock: 0,
        time: time as u64,
        file: slot / 64,
        block: slot % 64,
        group: 0,
        app: slot % 4,
        write: time.is_multiple_of(8),
        class: 0,
        object: None,
        ..Reference::default()
    }
}

/// Draws ranks with probability in proportion to 1/rank and numbers blocks in the order of their first appearance.
fn zipf_trace() -> Vec<Slot> {
    let mut sums: Vec<f64> = Vec::with_capacity(BLOCKS);
    let mut sum = 0.0;
    for rank in 1..=BLOCKS {
        sum += 1.0 / rank as f64;
        sums.push(sum);
    }
    let mut random = Rng::new(7);
    let mut numbers = vec![Slot::MAX; BLOCKS];
    let mut next = 0;
    let mut draw = || {
        let drawn = random.unit() * sum;
        let rank = sums.partition_point(|&below| below < drawn).min(BLOCKS - 1);
        if numbers[rank] == Slot::MAX {
            numbers[rank] = next;
            next += 1;
        }
        numbers[rank]
    };
    (0..REFERENCES).map(|_| draw()).collect()
}

fn next_uses(trace: &[Slot], footprint: usize) -> Vec<u32> {
    let mut next = vec![Future::NEVER; footprint];
    let mut uses = vec![Future::NEVER; trace.len()];
    for (position, &slot) in trace.iter().enumerate().rev() {
        uses[position] = std::mem::replace(&mut next[slot as usize], position as u32);
    }
    uses
}

fn addresses(footprint: usize) -> Vec<u64> {
    (0..footprint as u64).map(|slot| ((slot / 64) << 32) | (slot % 64)).collect()
}
