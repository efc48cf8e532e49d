//! Experiments over a cluster: the package for Python replays, and gives the rows back.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use hotset_experiment::{File, Replayed, SweepRequest};
use hotset_results::Row;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The interpreter that has the package.
const PYTHON: &str = "HOTSET_PYTHON";

/// What replays there.
const MODULE: &str = "hotset._on_cluster";

/// The request to the package.
#[derive(Serialize)]
struct Asked<'a> {
    version: &'static str,
    #[serde(flatten)]
    sweep: SweepRequest<'a>,
}

/// The answer, one line per trace: its rows, or the reason why it has none.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Rows { rows: Vec<Row> },
    Error { error: String },
}

/// The results of each trace, replayed at the place `on`. `base` is the directory of the traces.
pub(super) fn replay(
    file: &File,
    base: Option<&Path>,
    on: &str,
    keep: Option<&Path>,
) -> Result<Vec<Replayed>, Failure> {
    let mut asked = Asked { version: env!("CARGO_PKG_VERSION"), sweep: file.request(base)? };
    asked.sweep.options.insert("on".to_owned(), on.into());
    let keep = keep.map(|folder| ("keep".to_owned(), folder.display().to_string().into()));
    asked.sweep.options.extend(keep);
    let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    let shown = python.to_string_lossy();
    let missing = |why: &str| {
        Failure::Work(format!(
            "--on {on} needs the package hotset for Python and Ray, and {shown} {why}: expected what pip install \
             'hotset[ray]' gives, or the name of a Python that has it in {PYTHON}"
        ))
    };
    let mut child = Command::new(&python)
        .args(["-m", MODULE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| missing(&format!("cannot be started ({error})")))?;
    let given = serde_json::to_string(&asked)?;
    // The output stays open while a reader remains. A process that has ended reports that below.
    let mut wanted = child.stdin.take().expect("it is a pipe");
    let _ = writeln!(wanted, "{given}");
    let answers = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
    let told = answers.map(|line| answer(&line?)).collect::<Result<Vec<Replayed>, Failure>>();
    drop(wanted);
    let status = child.wait()?;
    let mut told = told?;
    file.trace_names().zip(&mut told).for_each(|(name, replayed)| replayed.rename(name));
    match (told.len() == asked.sweep.traces.len(), status.success()) {
        (true, true) => Ok(told),
        (_, false) if told.is_empty() => Err(missing(&format!("ended with {status}"))),
        _ => Err(Failure::Work(format!("--on {on}: {shown} ended with {status}, before all rows were there"))),
    }
}

fn answer(line: &str) -> Result<Replayed, Failure> {
    let foreign =
        |error| Failure::Work(format!("--on: the Python package returned something other than rows ({error})"));
    match serde_json::from_str(line).map_err(foreign)? {
        Answer::Rows { rows } => Ok(Replayed { rows, series: Vec::new() }),
        Answer::Error { error } => Err(Failure::Work(error)),
    }
}
