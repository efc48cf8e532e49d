//! Faults on recorded programs: CLOCK as an independent program counted them, to the last fault; APR as ours are, beside which that
//! program's stand in docs/decisions.md.

use std::path::Path;
use std::sync::Arc;

use hotset_core::paging::PagingSpec;
use hotset_sim::Silent;
use hotset_sim::paging::{Frees, HeldMemory, Plan, hold, run};
use hotset_testkit::inputs::trace_path;
use hotset_trace::formats::BUILTIN;
use hotset_trace::{OpenOptions, open};

/// Faults after memory first fills of CLOCK and APR, with 30, 50 and 70 % of the pages.
type Faults = [(u64, u64); 3];

/// Programs with their pages.
const COUNTS: &[(&str, u32, Faults)] = &[
    ("fft", 12_313, [(54_298, 51_209), (45_207, 37_031), (26_354, 19_234)]),
    ("radix", 8_212, [(51_758, 45_436), (42_365, 35_375), (31_271, 21_784)]),
    ("volrend", 904, [(14_719, 14_872), (13_489, 12_931), (792, 793)]),
];

fn held(path: &Path) -> Arc<HeldMemory> {
    let mut trace = open(path, BUILTIN, &OpenOptions::default()).unwrap();
    Arc::new(hold(trace.reader.memory().expect("a trace of memory"), u64::MAX, &Silent).unwrap())
}

fn faults(trace: &Arc<HeldMemory>, policies: &[&str], frames: &[u32]) -> Vec<u64> {
    let plan = |policy: &str, frames: u32| {
        let spec = PagingSpec::parse(policy).unwrap();
        Plan { info: spec.info(), args: spec.args(4096), frames, seed: 1, frees: Frees::Keep }
    };
    let plans: Vec<Plan> =
        policies.iter().flat_map(|policy| frames.iter().map(|&frames| plan(policy, frames))).collect();
    run(trace, &plans, &Silent).unwrap().iter().map(|tally| tally.faults_after_fill).collect()
}

#[test]
fn recorded_programs_fault_as_often_as_counted_elsewhere() {
    for &(program, pages, counts) in COUNTS {
        let Some(path) = trace_path(&format!("own/mem/{program}.pgt.zst")) else { return };
        let trace = held(&path);
        assert_eq!(trace.pages(), pages, "{program}");
        let frames = [30, 50, 70].map(|percent| pages * percent / 100);
        let found = faults(&trace, &["clock", "apr(use=clock)", "apr", "opt"], &frames);
        let [clock, forced, apr, opt] = [0, 3, 6, 9].map(|at| &found[at..at + 3]);
        assert_eq!(clock, counts.map(|(clock, _)| clock), "{program}");
        assert_eq!(forced, clock, "{program}: APR that may only use CLOCK");
        assert_eq!(apr, counts.map(|(_, apr)| apr), "{program}");
        assert!(opt.iter().zip(clock).all(|(opt, clock)| opt <= clock), "{program}");
    }
}
