//! Writing rows: JSON Lines, CSV, Parquet.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use crate::parquet;
use crate::schema::{Column, ValueKind};

/// Writes one JSON object a line.
pub fn write_json<T: Serialize>(mut out: impl Write, rows: &[T]) -> io::Result<()> {
    for row in rows {
        serde_json::to_writer(&mut out, row)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Writes a table of these columns with a header. A field that does not apply is empty. Nested fields are left out.
pub fn write_csv<T: Serialize>(out: impl Write, columns: &[Column], rows: &[T]) -> io::Result<()> {
    let mut out = csv::Writer::from_writer(out);
    let names = || columns.iter().filter(|column| column.kind != ValueKind::Json).map(|column| column.name);
    out.write_record(names())?;
    for row in rows {
        let fields = serde_json::to_value(row)?;
        let text = |column: &str| match &fields[column] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        out.write_record(names().map(text))?;
    }
    out.flush()
}

/// Writes a table with a column for each field that some row has, those of `columns` before the others.
pub fn write_parquet<T: Serialize>(out: impl Write + Send, columns: &[Column], rows: &[T]) -> io::Result<()> {
    let rows = rows.iter().map(serde_json::to_value).collect::<Result<Vec<Value>, _>>()?;
    parquet::write(out, columns, &rows)
}
