//! Results for programs: JSON Lines and CSV, in a file or on standard output.

use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::Path;

use hotset_sim::results::Row;

use crate::failure::Failure;

/// Opens `path` for writing; `-` is standard output.
fn create(path: &Path) -> Result<Box<dyn Write>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufWriter::new(stdout())));
    }
    let file =
        File::create(path).map_err(|error| Failure::Work(format!("cannot create {}: {error}", path.display())))?;
    Ok(Box::new(BufWriter::new(file)))
}

/// Writes one JSON object a line.
pub(crate) fn write_json(path: &Path, rows: &[Row]) -> Result<(), Failure> {
    let mut out = create(path)?;
    for row in rows {
        serde_json::to_writer(&mut out, row)?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// Writes a table with a header; a field that does not apply is empty, per-application counts are left to JSON.
pub(crate) fn write_csv(path: &Path, rows: &[Row]) -> Result<(), Failure> {
    const COLUMNS: [&str; 18] = [
        "version",
        "trace",
        "policy",
        "size_blocks",
        "size_bytes",
        "block_bytes",
        "seed",
        "references",
        "hits",
        "misses",
        "hit_ratio",
        "requests",
        "request_misses",
        "read_requests",
        "read_request_misses",
        "write_requests",
        "write_backs",
        "distinct_blocks",
    ];
    let mut out = csv::Writer::from_writer(create(path)?);
    out.write_record(COLUMNS)?;
    for row in rows {
        let fields = serde_json::to_value(row)?;
        let text = |column: &str| match &fields[column] {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        out.write_record(COLUMNS.map(text))?;
    }
    Ok(out.flush()?)
}
