//! Results for programs: JSON Lines and CSV, in a file or on standard output.

use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::Path;

use serde::Serialize;

use crate::failure::Failure;

/// Opens `path` for writing; `-` is standard output.
pub(crate) fn create(path: &Path) -> Result<Box<dyn Write + Send>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufWriter::new(stdout())));
    }
    let file =
        File::create(path).map_err(|error| Failure::Work(format!("cannot create {}: {error}", path.display())))?;
    Ok(Box::new(BufWriter::new(file)))
}

/// Writes one JSON object a line.
pub(crate) fn write_json<T: Serialize>(path: &Path, rows: &[T]) -> Result<(), Failure> {
    let mut out = create(path)?;
    for row in rows {
        serde_json::to_writer(&mut out, row)?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// Writes a table of these columns with a header. A field that does not apply is empty; what JSON nests is left to
/// JSON.
pub(crate) fn write_csv<T: Serialize>(path: &Path, columns: &[&str], rows: &[T]) -> Result<(), Failure> {
    let mut out = csv::Writer::from_writer(create(path)?);
    out.write_record(columns)?;
    for row in rows {
        let fields = serde_json::to_value(row)?;
        let text = |column: &&str| match &fields[column] {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        out.write_record(columns.iter().map(text))?;
    }
    Ok(out.flush()?)
}

/// The columns of a CSV file of results of caches.
pub(crate) const CACHE_COLUMNS: [&str; 38] = [
    "version",
    "trace",
    "policy",
    "size_blocks",
    "size_bytes",
    "block_bytes",
    "seed",
    "filter",
    "warmup",
    "count_only",
    "maps",
    "references",
    "hits",
    "misses",
    "hit_ratio",
    "read_references",
    "read_hits",
    "read_hit_ratio",
    "repeats",
    "repeat_hits",
    "requests",
    "request_misses",
    "read_requests",
    "read_request_misses",
    "write_requests",
    "write_backs",
    "extra_reads",
    "allocation_reads",
    "fragment_reads",
    "fragment_push_outs",
    "prefetch_reads",
    "disk_accesses",
    "bytes_read",
    "bytes_written",
    "distinct_blocks",
    "finish_seconds",
    "disk_busy_seconds",
    "mean_service_ms",
];

/// The columns of a CSV file of results of paging.
pub(crate) const PAGING_COLUMNS: [&str; 19] = [
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
    "write_backs",
    "distinct_blocks",
    "faults_after_fill",
    "faults_per_million_references",
    "faults_per_million_instructions",
    "refaults",
    "refault_distance",
    "refault_distance_to_clock",
];
