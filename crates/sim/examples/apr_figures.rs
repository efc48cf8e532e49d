//! Paging policies on recorded programs, as a table in Markdown:
//! `cargo run --release -p hotset-sim --example apr_figures -- PROG.pgt.zst… > table.md`.
//!
//! For each program and 30, 50 and 70 % of its pages: faults after memory first fills against CLOCK, the mean refault distance of
//! APR against that of CLOCK, and the faults with other decay factors.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hotset_core::paging::PagingSpec;
use hotset_sim::Silent;
use hotset_sim::paging::{Frees, HeldMemory, Plan, Tally, hold, run};
use hotset_trace::formats::BUILTIN;
use hotset_trace::{OpenOptions, open};

const POLICIES: [&str; 9] = [
    "clock",
    "apr",
    "apr(globals=on)",
    "seq",
    "clock-pro",
    "opt",
    "apr(decay=0.1)",
    "apr(decay=0.5)",
    "apr(decay=0.9)",
];
const PERCENTS: [u32; 3] = [30, 50, 70];

fn held(path: &Path) -> Arc<HeldMemory> {
    let mut trace = open(path, BUILTIN, &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let memory = trace.reader.memory().expect("a trace of memory");
    Arc::new(hold(memory, u64::MAX, &Silent).unwrap_or_else(|error| panic!("{error}")))
}

fn tallies(trace: &Arc<HeldMemory>) -> Vec<Tally> {
    let plan = |policy: &str, percent: u32| {
        let spec = PagingSpec::parse(policy).expect("a paging policy");
        let frames = (u64::from(trace.pages()) * u64::from(percent) / 100).max(1) as u32;
        Plan { info: spec.info(), args: spec.args(trace.page_bytes()), frames, seed: 1, frees: Frees::Drop }
    };
    let cell = |policy: &'static str| PERCENTS.map(|percent| plan(policy, percent));
    let plans: Vec<Plan> = POLICIES.into_iter().flat_map(cell).collect();
    run(trace, &plans, &Silent).unwrap_or_else(|error| panic!("{error}"))
}

fn against(own: f64, other: f64) -> f64 {
    if other == 0.0 { 0.0 } else { (own / other - 1.0) * 100.0 }
}

fn distance(tally: &Tally) -> f64 {
    tally.refault_distance as f64 / tally.refaults.max(1) as f64
}

fn main() {
    let paths: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    assert!(!paths.is_empty(), "usage: apr_figures PROG.pgt.zst…");
    println!(
        "| program | pages | % | CLOCK | APR % | with globals % | SEQ % | CLOCK-Pro % | OPT % | APR distance % | decay 0.1 % | 0.5 % | 0.9 % |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut sums = vec![0.0; POLICIES.len()];
    let (mut rows, mut vs_seq, mut vs_pro) = (0.0, 0.0, 0.0);
    for path in &paths {
        let trace = held(path);
        let tallies = tallies(&trace);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.split('.').next().unwrap_or_default();
        for (at, percent) in PERCENTS.into_iter().enumerate() {
            let of = |policy: usize| &tallies[policy * PERCENTS.len() + at];
            let faults = |policy: usize| of(policy).faults_after_fill as f64;
            let shares: Vec<f64> = (0..POLICIES.len()).map(|policy| against(faults(policy), faults(0))).collect();
            let moved = against(distance(of(1)), distance(of(0)));
            let [apr, globals, seq, pro, opt] = [1, 2, 3, 4, 5].map(|policy| format!("{:+.1}", shares[policy]));
            let decays = [6, 7, 8].map(|policy| format!("{:+.1}", shares[policy])).join(" | ");
            println!(
                "| {name} | {} | {percent} | {} | {apr} | {globals} | {seq} | {pro} | {opt} | {moved:+.1} | {decays} |",
                trace.pages(),
                of(0).faults_after_fill
            );
            sums.iter_mut().zip(&shares).for_each(|(sum, share)| *sum += share);
            vs_seq += against(faults(1), faults(3));
            vs_pro += against(faults(1), faults(4));
            rows += 1.0;
        }
    }
    let mean: Vec<String> = sums[1..].iter().map(|sum| format!("{:+.1}", sum / rows)).collect();
    println!("| mean | | | | {} | | {} |", mean[..5].join(" | "), mean[5..].join(" | "));
    println!(
        "\nAPR against CLOCK {:+.1} %, CLOCK-Pro {:+.1} %, SEQ {:+.1} %.",
        sums[1] / rows,
        vs_pro / rows,
        vs_seq / rows
    );
}
