//! Prints golden rows: the hits of a policy's slow model on the traces of `golden/vectors.toml`, under the defaults and under each set of
//! arguments in the table of models. Trace by trace, the longer ones take minutes.
//!
//! `cargo run --example golden -- NAME…`

use std::process::ExitCode;

use hotset_testkit::harness::Case;
use hotset_testkit::models;
use hotset_testkit::replay::model_hits;
use hotset_testkit::selection::on_all_cores;

#[expect(dead_code, reason = "only the traces are read here, the rows by the test")]
#[path = "../tests/support/golden.rs"]
mod golden;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = names.iter().find(|name| models::row_of(name).is_none()) {
        eprintln!(
            "error: the table of models has no policy {unknown:?}; expected names as `hotset policies` lists them"
        );
        return ExitCode::from(2);
    }
    for trace in golden::traces(include_str!("../golden/vectors.toml")) {
        let Some(keys) = trace.read() else { return ExitCode::FAILURE };
        println!("# {}", trace.name());
        for row in names.iter().filter_map(|name| models::row_of(name)) {
            let rows = on_all_cores(row.specs(), |spec| {
                let hits: Vec<u64> =
                    trace.sizes.iter().map(|&size| model_hits(&Case::of(&spec, size), &keys)).collect();
                format!("{spec:?} = {hits:?}")
            });
            println!("{}", rows.join("\n"));
        }
    }
    ExitCode::SUCCESS
}
