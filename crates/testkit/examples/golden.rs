//! Prints golden rows, the hits of a policy's slow model: under its defaults on the traces of `golden/vectors.toml`,
//! under these and each set of arguments in the table of models on those of `golden/variants.toml`. Trace by trace, the
//! longer ones take minutes; with `--variants` only the latter.
//!
//! `cargo run --example golden -- [--variants] NAME…`

use std::process::ExitCode;

use hotset_testkit::models;
use hotset_testkit::replay::model_hits;
use hotset_testkit::selection::on_all_cores;

#[expect(dead_code, reason = "only the traces are read here, the rows by the test")]
#[path = "../tests/support/golden.rs"]
mod golden;

fn main() -> ExitCode {
    let (options, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    if let Some(unknown) = options.iter().find(|option| *option != "--variants") {
        eprintln!("error: unknown option {unknown:?}; expected --variants or names of policies");
        return ExitCode::from(2);
    }
    if let Some(unknown) = names.iter().find(|name| models::row_of(name).is_none()) {
        eprintln!(
            "error: the table of models has no policy {unknown:?}; expected names as `hotset policies` lists them"
        );
        return ExitCode::from(2);
    }
    let rows: Vec<&models::Row> = names.iter().filter_map(|name| models::row_of(name)).collect();
    let defaults: Vec<String> = rows.iter().map(|row| row.policy.to_owned()).collect();
    let variants: Vec<String> = rows.iter().flat_map(|row| row.specs()).collect();
    let files =
        [(include_str!("../golden/vectors.toml"), defaults), (include_str!("../golden/variants.toml"), variants)];
    let skipped = options.len().min(1);
    match files.into_iter().skip(skipped).try_for_each(|(text, specs)| print_rows(text, &specs)) {
        Some(()) => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
    }
}

/// Prints the rows of these specs for each trace of a file; `None` if one is missing.
fn print_rows(text: &str, specs: &[String]) -> Option<()> {
    for trace in golden::traces(text) {
        let keys = trace.read()?;
        println!("# {}", trace.name());
        let rows = on_all_cores(specs, |spec| {
            let hits: Vec<u64> = trace.sizes.iter().map(|&size| model_hits(&trace.case(spec, size), &keys)).collect();
            format!("{spec:?} = {hits:?}")
        });
        println!("{}", rows.join("\n"));
    }
    Some(())
}
