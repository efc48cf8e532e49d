//! How fast memory traces are replayed: `cargo run --release -p hotset-sim --example paging_speed -- PROG.pgt.zst
//! [POLICY…]`.
//!
//! References by seconds of processor time, on one core, for memory that holds the whole program, for half of it and
//! for a tenth. The last line is a loop over twice as many pages as there are frames, where every reference faults.

use std::path::Path;
use std::sync::Arc;

use hotset_core::policy::{PolicySpec, Setting};
use hotset_sim::Silent;
use hotset_sim::paging::{Frees, HeldMemory, PagingPlan, hold, run};
use hotset_trace::formats::BUILTIN;
use hotset_trace::memory::{BATCH_RUNS, MemoryBatch, MemoryMeta, MemoryReader, PageRun};
use hotset_trace::{OpenOptions, TraceError, open};

/// Laps over pages.
struct Loop {
    pages: u64,
    left: u64,
}

impl MemoryReader for Loop {
    fn memory_meta(&self) -> MemoryMeta {
        MemoryMeta { page_bytes: 4096, has_writes: false }
    }

    fn read_memory(&mut self, batch: &mut MemoryBatch) -> Result<(), TraceError> {
        batch.clear();
        for _ in 0..self.left.min(BATCH_RUNS as u64) {
            self.left -= 1;
            batch.runs.push(PageRun { page: self.left % self.pages, references: 1, writes: 0 });
        }
        Ok(())
    }
}

/// Seconds that the processor has worked for this program: what else runs on the machine does not count.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn time(trace: &Arc<HeldMemory>, policy: &str, frames: u32) {
    let spec = PolicySpec::parse(policy).expect("a policy").set_in(Setting::Paging);
    let plan = PagingPlan { entry: spec.entry(), args: spec.args(Some(4096)), frames, seed: 1, frees: Frees::Drop };
    let begin = cpu_seconds();
    let tally = run(trace, &[plan], &Silent).expect("a cell").remove(0);
    let seconds = cpu_seconds() - begin;
    println!(
        "{policy:>12} {frames:>8} frames {:>10} faults {:>8.3} s {:>10.1} M references/s {:>8.1} M runs/s",
        tally.faults,
        seconds,
        tally.references as f64 / 1e6 / seconds,
        trace.runs() as f64 / 1e6 / seconds,
    );
}

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("usage: paging_speed PROG.pgt.zst [POLICY…]");
    let mut policies: Vec<String> = args.collect();
    if policies.is_empty() {
        policies = ["clock", "apr", "opt"].map(str::to_owned).into();
    }
    let begin = cpu_seconds();
    let mut opened = open(Path::new(&path), BUILTIN, &OpenOptions::default()).expect("a trace");
    let reader = opened.reader.memory().expect("a trace of memory");
    let trace = Arc::new(hold(reader, u64::MAX, &Silent).expect("a sound trace"));
    let seconds = cpu_seconds() - begin;
    println!(
        "{path}: {} references in {} runs to {} pages, {:.2} s to read ({:.1} M runs/s), {} MiB held",
        trace.references(),
        trace.runs(),
        trace.pages(),
        seconds,
        trace.runs() as f64 / 1e6 / seconds,
        trace.memory_bytes() >> 20
    );
    for policy in &policies {
        for frames in [trace.pages(), trace.pages() / 2, trace.pages() / 10] {
            time(&trace, policy, frames.max(1));
        }
    }
    let thrashing = hold(&mut Loop { pages: 20_000, left: 20_000_000 }, u64::MAX, &Silent).expect("a sound trace");
    let thrashing = Arc::new(thrashing);
    for policy in &policies {
        time(&thrashing, policy, 10_000);
    }
}
