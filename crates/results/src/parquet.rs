//! Results as Parquet: a flat table, a column a field. Whole numbers are unsigned and of 64 bits, text is UTF-8, and
//! what JSON nests is JSON in a column of text, so that a table has all that JSON Lines have.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Once};

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, ZstdLevel};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnDescriptor;
use serde_json::{Map, Value};

use crate::schema::{Column, ValueKind};

impl ValueKind {
    /// As a schema has it.
    fn declared(self) -> [&'static str; 2] {
        match self {
            ValueKind::Whole => ["int64", "(INTEGER(64,false))"],
            ValueKind::Number => ["double", ""],
            ValueKind::Truth => ["boolean", ""],
            ValueKind::Text => ["binary", "(UTF8)"],
            ValueKind::Json => ["binary", "(JSON)"],
        }
    }
}

/// Writes the rows, those of `first` before the other columns. A field that no row has does not become a column.
pub(super) fn write(out: impl Write + Send, first: &[Column], rows: &[Value]) -> io::Result<()> {
    write_table(out, first, rows).map_err(|error| match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    })
}

fn write_table(out: impl Write + Send, first: &[Column], rows: &[Value]) -> Result<()> {
    let columns = columns(first, rows);
    let fields = columns.iter().map(|(name, kind)| {
        let [physical, logical] = kind.declared();
        format!("optional {physical} {name} {logical};")
    });
    let schema = parse_message_type(&format!("message row {{ {} }}", fields.collect::<String>()))?;
    let packed = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(packed))?;
    let mut group = file.next_row_group()?;
    for (name, kind) in columns {
        let values: Vec<Option<&Value>> = rows.iter().map(|row| row.get(name)).collect();
        if let Some(mut column) = group.next_column()? {
            write_column(&mut column, kind, &values)?;
            column.close()?;
        }
    }
    group.close()?;
    file.close()?;
    Ok(())
}

/// Names and kinds. A column whose rows differ in kind is one of JSON.
fn columns<'a>(first: &[Column], rows: &'a [Value]) -> Vec<(&'a str, ValueKind)> {
    let has: BTreeSet<&str> =
        rows.iter().filter_map(Value::as_object).flat_map(Map::keys).map(String::as_str).collect();
    let kind = |name: &str, known: Option<ValueKind>| {
        let mut values = rows.iter().filter_map(|row| row.get(name));
        let kind = known.or_else(|| values.clone().next().map(ValueKind::of));
        kind.filter(|kind| values.all(|value| kind.has(value))).unwrap_or(ValueKind::Json)
    };
    let known = first.iter().filter(|column| has.contains(column.name));
    let known = known.map(|column| (column.name, kind(column.name, Some(column.kind))));
    let others = has
        .iter()
        .copied()
        .filter(|name| first.iter().all(|column| column.name != *name))
        .map(|name| (name, kind(name, None)));
    known.chain(others).collect()
}

fn write_column(column: &mut SerializedColumnWriter<'_>, kind: ValueKind, values: &[Option<&Value>]) -> Result<()> {
    fn all<'a, V>(values: &[Option<&'a Value>], of: impl FnMut(&'a Value) -> Option<V>) -> Vec<V> {
        values.iter().copied().flatten().filter_map(of).collect()
    }
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let there = Some(&*levels);
    match kind {
        ValueKind::Whole => {
            let whole = all(values, |value| value.as_u64().map(u64::cast_signed));
            column.typed::<Int64Type>().write_batch(&whole, there, None)?
        }
        ValueKind::Number => column.typed::<DoubleType>().write_batch(&all(values, Value::as_f64), there, None)?,
        ValueKind::Truth => column.typed::<BoolType>().write_batch(&all(values, Value::as_bool), there, None)?,
        ValueKind::Text => {
            let text = all(values, |value| value.as_str().map(ByteArray::from));
            column.typed::<ByteArrayType>().write_batch(&text, there, None)?
        }
        ValueKind::Json => {
            let json = all(values, |value| Some(ByteArray::from(value.to_string().as_str())));
            column.typed::<ByteArrayType>().write_batch(&json, there, None)?
        }
    };
    Ok(())
}

/// Rows asked of a column at a time.
const BATCH: usize = 4096;

/// The rows of a flat table. On some damaged files the crate panics; that is an error as any other.
pub(super) fn read(file: Vec<u8>) -> Result<Vec<Value>> {
    quietly(|| rows(file)).unwrap_or_else(|| Err(ParquetError::General("it is damaged".to_owned())))
}

thread_local! {
    /// A panic in this thread is reported as an error.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// What `work` gives; nothing if it panics, without a word on the terminal.
fn quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                usual(panic);
            }
        }));
    });
    IS_QUIET.set(true);
    // The started file is given up as a whole.
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    IS_QUIET.set(false);
    done.ok()
}

fn rows(file: Vec<u8>) -> Result<Vec<Value>> {
    let file = SerializedFileReader::new(Bytes::from(file))?;
    let mut rows: Vec<Map<String, Value>> = Vec::new();
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        let before = rows.len();
        for (at, column) in group.metadata().columns().iter().enumerate() {
            let about = column.column_descr();
            let values = read_column(group.get_column_reader(at)?, about)?;
            rows.resize_with(rows.len().max(before + values.len()), Map::new);
            for (row, value) in rows[before..].iter_mut().zip(values) {
                row.extend(value.map(|value| (about.name().to_owned(), value)));
            }
        }
    }
    Ok(rows.into_iter().map(Value::Object).collect())
}

fn read_column(column: ColumnReader, about: &ColumnDescriptor) -> Result<Vec<Option<Value>>> {
    let foreign = || ParquetError::General(format!("the column {} holds something else than results", about.path()));
    if about.max_rep_level() > 0 || about.path().parts().len() > 1 {
        return Err(foreign());
    }
    let is_json = about.converted_type() == ConvertedType::JSON;
    let text = |bytes: ByteArray| {
        let text = bytes.as_utf8().ok()?;
        if is_json { serde_json::from_str(text).ok() } else { Some(Value::from(text)) }
    };
    match column {
        ColumnReader::BoolColumnReader(column) => all(column, about, |truth| Some(Value::from(truth))),
        ColumnReader::Int32ColumnReader(column) => all(column, about, |whole| Some(Value::from(whole))),
        ColumnReader::Int64ColumnReader(column) if about.converted_type() == ConvertedType::UINT_64 => {
            all(column, about, |whole| Some(Value::from(whole.cast_unsigned())))
        }
        ColumnReader::Int64ColumnReader(column) => all(column, about, |whole| Some(Value::from(whole))),
        ColumnReader::FloatColumnReader(column) => all(column, about, |number| Some(Value::from(number))),
        ColumnReader::DoubleColumnReader(column) => all(column, about, |number| Some(Value::from(number))),
        ColumnReader::ByteArrayColumnReader(column) => all(column, about, text),
        _ => Err(foreign()),
    }
}

/// The values of a column, row by row. One that is not of its kind is an error.
fn all<T: DataType>(
    mut column: ColumnReaderImpl<T>,
    about: &ColumnDescriptor,
    of: impl Fn(T::T) -> Option<Value>,
) -> Result<Vec<Option<Value>>> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    while column.read_records(BATCH, Some(&mut levels), None, &mut values)?.0 > 0 {}
    let broken = || ParquetError::General(format!("the column {} holds a value that is not of its kind", about.path()));
    let mut values = values.into_iter().map(|value| of(value).ok_or_else(broken));
    if about.max_def_level() == 0 {
        return values.map(|value| value.map(Some)).collect();
    }
    levels
        .iter()
        .map(|&level| if level == about.max_def_level() { values.next().transpose() } else { Ok(None) })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::columns::COLUMNS;

    fn some() -> Vec<Value> {
        vec![
            json!({"version": 1, "trace": "<\u{202e}\"", "hits": u64::MAX, "hit_ratio": 0.5, "apps": [{"name": "a", "hits": 1}]}),
            json!({"version": 1, "trace": "", "hit_ratio": 1.0, "flagged": true, "mixed": 1}),
            json!({"version": 2, "mixed": "1"}),
        ]
    }

    fn written(rows: &[Value]) -> Vec<u8> {
        let mut file = Vec::new();
        write(&mut file, COLUMNS, rows).unwrap();
        file
    }

    #[test]
    fn what_is_written_is_read_again() {
        assert_eq!(read(written(&some())).unwrap(), some());
        assert_eq!(read(written(&[])).unwrap(), Vec::<Value>::new());
        let many: Vec<Value> =
            (0..10_000u64).map(|at| if at % 3 == 0 { json!({"a": at}) } else { json!({"b": at}) }).collect();
        assert_eq!(read(written(&many)).unwrap(), many);
        let rows = some();
        let names: Vec<&str> = columns(COLUMNS, &rows).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["version", "trace", "hits", "hit_ratio", "apps", "flagged", "mixed"]);
    }

    #[test]
    fn a_damaged_file_is_an_error_or_other_rows_and_never_a_panic() {
        let file = written(&some());
        for at in 0..file.len() {
            for bits in [0x01, 0x80, 0xff] {
                let mut damaged = file.clone();
                damaged[at] ^= bits;
                // A byte may be one of a name or a value.
                let _ = read(damaged);
            }
            assert!(read(file[..at].to_vec()).is_err(), "cut at {at}");
        }
    }
}
