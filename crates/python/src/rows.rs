//! Rows of results between the libraries and Python: JSON Lines, as the command writes them.

use hotset_results::{CACHE_COLUMNS, CURVE_COLUMNS, PAGING_COLUMNS, write_json, write_parquet};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::Value;

use crate::failure::refused;

/// Rows as JSON Lines.
pub fn json<R: Serialize>(rows: &[R]) -> PyResult<String> {
    let mut text = Vec::new();
    write_json(&mut text, rows)?;
    String::from_utf8(text).map_err(|error| refused(error.to_string()))
}

fn known(kind: &str) -> PyResult<&'static [&'static str]> {
    match kind {
        "cache" => Ok(&CACHE_COLUMNS),
        "paging" => Ok(&PAGING_COLUMNS),
        "curve" => Ok(&CURVE_COLUMNS),
        _ => Err(refused(format!("{kind:?} is not a kind of results: expected cache, paging or curve"))),
    }
}

/// The columns of results of a kind, in the order of the command's files.
#[pyfunction]
pub fn columns(kind: &str) -> PyResult<Vec<&'static str>> {
    Ok(known(kind)?.to_vec())
}

/// JSON Lines as a Parquet file.
#[pyfunction]
pub fn parquet<'py>(py: Python<'py>, kind: &str, lines: &str) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
    let rows: Result<Vec<Value>, _> = lines.lines().map(serde_json::from_str).collect();
    let rows = rows.map_err(|error| refused(error.to_string()))?;
    let mut file = Vec::new();
    write_parquet(&mut file, known(kind)?, &rows)?;
    Ok(pyo3::types::PyBytes::new(py, &file))
}
