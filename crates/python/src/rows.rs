//! Rows of results between the libraries and Python: JSON Lines, as the command writes them.

use hotset_results::{COLUMNS, write_json, write_parquet};
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

/// The columns of results, in the order of the command's files.
#[pyfunction]
pub fn columns() -> Vec<&'static str> {
    COLUMNS.iter().map(|column| column.name).collect()
}

/// JSON Lines as a Parquet file.
#[pyfunction]
pub fn parquet<'py>(py: Python<'py>, lines: &str) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
    let rows: Result<Vec<Value>, _> = lines.lines().map(serde_json::from_str).collect();
    let rows = rows.map_err(|error| refused(error.to_string()))?;
    let mut file = Vec::new();
    write_parquet(&mut file, COLUMNS, &rows)?;
    Ok(pyo3::types::PyBytes::new(py, &file))
}
