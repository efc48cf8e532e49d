//! Faults on recorded programs. Those of CLOCK were counted by an independent program. Those of APR are golden counts
//! of this code: the independent program rounds scores, so it cannot check exact ones; the slow model of the testkit
//! does.

use std::path::Path;
use std::sync::Arc;

use hotset_core::policy::{PolicySpec, Setting};
use hotset_sim::Silent;
use hotset_sim::paging::{Frees, HeldMemory, PagingPlan, hold, run};
use hotset_testkit::inputs::trace_path;
use hotset_trace::formats::BUILTIN;
use hotset_trace::{OpenOptions, open};

/// Faults after memory first fills: of CLOCK and of APR.
type Faults = (u64, u64);

/// Programs with their pages, and the faults with 30, 50 and 70 % of these.
const COUNTS: &[(&str, u32, [Faults; 3])] = &[
    ("fft", 12_313, [(54_298, 49_861), (45_207, 37_334), (26_354, 17_818)]),
    ("radix", 8_212, [(51_758, 43_858), (42_365, 34_607), (31_271, 21_786)]),
    ("ocean_cp", 3_632, [(33_316, 33_267), (21_010, 20_991), (19_803, 19_465)]),
    ("volrend", 904, [(14_719, 14_666), (13_489, 12_940), (792, 791)]),
];

fn held(path: &Path) -> Arc<HeldMemory> {
    let mut trace = open(path, BUILTIN, &OpenOptions::default()).unwrap();
    Arc::new(hold(trace.reader.memory().expect("a trace of memory"), u64::MAX, &Silent).unwrap())
}

fn faults(trace: &Arc<HeldMemory>, policies: &[&str], frames: &[u32]) -> Vec<u64> {
    let plan = |policy: &str, frames: u32| {
        let spec = PolicySpec::parse(policy).unwrap().set_in(Setting::Paging);
        PagingPlan { entry: spec.entry(), args: spec.args(Some(4096)), frames, seed: 1, frees: Frees::Keep }
    };
    let plans: Vec<PagingPlan> =
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

#[test]
fn a_cell_without_frames_or_with_too_little_told_is_refused() {
    let Some(path) = trace_path("own/mem/volrend.pgt.zst") else { return };
    let trace = held(&path);
    let refused = |policy: &str, frames: u32| {
        let spec = PolicySpec::parse(policy).unwrap().set_in(Setting::Paging);
        let plan = PagingPlan { entry: spec.entry(), args: spec.args(Some(4096)), frames, seed: 1, frees: Frees::Keep };
        run(&trace, &[plan], &Silent).expect_err("it cannot run").to_string()
    };
    assert!(refused("lirs", 10).starts_with("lirs sees every reference"));
    let error = refused("clock", 0);
    assert_eq!(error, "clock is to run in 0 frames, but a page that is referenced needs one: give 1 or more");
}
