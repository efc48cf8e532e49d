//! Experiments over a cluster: the package for Python replays, and gives the rows back.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hotset_sim::paging::PagingRow;
use hotset_sim::results::Row;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Told;
use super::file::File;
use super::row::AnyRow;
use crate::failure::Failure;
use crate::traces::word;

/// The interpreter that has the package.
const PYTHON: &str = "HOTSET_PYTHON";

/// What replays there.
const MODULE: &str = "hotset._on_cluster";

/// The request to the package: the arguments of `hotset.sweep`, and the name of the experiment.
#[derive(Serialize)]
struct Asked<'a> {
    version: &'static str,
    traces: Vec<String>,
    policies: String,
    sizes: &'a str,
    options: Map<String, Value>,
}

/// The answer, one line per trace: its rows, or the reason why it has none.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Cache { cache: Vec<Row> },
    Memory { paging: Vec<PagingRow> },
    Error { error: String },
}

/// Refuses what only one machine replays. `path` is the experiment's.
pub(super) fn check(path: &Path, file: &File) -> Result<(), Failure> {
    let what = match (file.mixes.is_empty(), &file.every) {
        (false, _) => "mixes",
        (true, Some(_)) => "a series over time",
        (true, None) => return Ok(()),
    };
    Err(Failure::Usage(format!("--on: {} has {what}, which one machine replays: leave --on out", path.display())))
}

/// The results of each trace, replayed at the place `on`. `places` are the traces, `path` is the experiment's.
pub(super) fn replay(
    path: &Path,
    file: &File,
    places: &[PathBuf],
    on: &str,
    keep: Option<&Path>,
) -> Result<Vec<Told>, Failure> {
    let asked = Asked {
        version: env!("CARGO_PKG_VERSION"),
        traces: places.iter().map(|place| place.display().to_string()).collect(),
        policies: file.policies.clone(),
        sizes: &file.sizes,
        options: options(path, file, on, keep)?,
    };
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
    let told = answers.map(|line| answer(&line?)).collect::<Result<Vec<Told>, Failure>>();
    drop(wanted);
    let status = child.wait()?;
    let told = told?;
    match (told.len() == places.len(), status.success()) {
        (true, true) => Ok(told),
        (_, false) if told.is_empty() => Err(missing(&format!("ended with {status}"))),
        _ => Err(Failure::Work(format!("--on {on}: {shown} ended with {status}, before all rows were there"))),
    }
}

fn answer(line: &str) -> Result<Told, Failure> {
    let foreign =
        |error| Failure::Work(format!("--on: the Python package returned something other than rows ({error})"));
    match serde_json::from_str(line).map_err(foreign)? {
        Answer::Cache { cache } => {
            Ok((cache.into_iter().map(|row| AnyRow::Cache(Box::new(row))).collect(), Vec::new()))
        }
        Answer::Memory { paging } => {
            Ok((paging.into_iter().map(|row| AnyRow::Memory(Box::new(row))).collect(), Vec::new()))
        }
        Answer::Error { error } => Err(Failure::Work(error)),
    }
}

/// The options of `hotset.sweep` that the experiment sets.
fn options(path: &Path, file: &File, on: &str, keep: Option<&Path>) -> Result<Map<String, Value>, Failure> {
    let selection = file.selection(path)?;
    let list = |key: &str| {
        let clauses = selection.only.clauses();
        clauses.into_iter().filter(|(name, _)| *name == key).map(|(_, value)| Value::from(value)).collect::<Vec<_>>()
    };
    let one = |key: &str| list(key).pop();
    let given = [
        ("on", Some(on.into())),
        ("keep", keep.map(|folder| folder.display().to_string().into())),
        ("block", file.block.map(Value::from)),
        ("maps", Some(word(file.maps).into())),
        ("deletes", Some(word(file.deletes).into())),
        ("ttl", Some(word(file.ttl).into())),
        ("store", file.store.as_deref().map(Value::from)),
        ("app", Some(list("app").into())),
        ("file", Some(list("file").into())),
        ("exclude", Some(list("exclude").into())),
        ("ops", one("ops")),
        ("from_", one("from")),
        ("to", one("to")),
        ("warmup", file.warmup.as_deref().map(Value::from)),
        ("count_only", Some(&*file.count_only).filter(|text| !text.is_empty()).map(Value::from)),
    ];
    let options = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Ok(options.collect())
}
