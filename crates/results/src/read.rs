//! Reading results again: JSON Lines, CSV or Parquet, packed or not, told apart by what they begin with. A row of
//! another version and a file of something else are refused with a sentence.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use hotset_trace::TraceError;
use hotset_trace::input::Input;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::columns::{COLUMNS, SERIES_COLUMNS};
use crate::parquet;
use crate::schema::{Column, SCHEMA_VERSION, ValueKind, missing};

/// Versions of the schema that are read: each has what the one before has, by the same names.
const READ: std::ops::RangeInclusive<u64> = 1..=SCHEMA_VERSION as u64;

/// The first bytes of a Parquet file.
const PARQUET: &[u8] = b"PAR1";

/// Rows that were read, each an object as it was written.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Results {
    /// Rows of cells and points of curves.
    pub rows: Vec<Value>,
    /// Rows of series over time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Value>,
}

/// Why results cannot be read, as a sentence that names the place.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read or unpacked.
    #[error(transparent)]
    Input(#[from] TraceError),
    /// The file cannot be opened.
    #[error("{name}: cannot open the results: {error}")]
    Unreadable {
        /// The file.
        name: String,
        /// Why not.
        error: io::Error,
    },
    /// It is a directory.
    #[error("{0}: it is a directory; expected a file of results")]
    Directory(String),
    /// Something else than results.
    #[error(
        "{place}: found {found}; expected a row of results as `hotset simulate`, `curve` or `experiment` writes them as JSON, CSV or Parquet"
    )]
    Foreign {
        /// File and line.
        place: String,
        /// The value there.
        found: String,
    },
    /// A column of numbers holds something else.
    #[error("{place}: {column}: found {text:?}; expected a number")]
    NoNumber {
        /// File and line.
        place: String,
        /// The column.
        column: String,
        /// The value there.
        text: String,
    },
    /// A row of a version that is not known.
    #[error(
        "{place}: the row is of version {version} of the schema, and this hotset reads versions {} to {}: make the results again, \
         or read them with the hotset that made them",
        READ.start(),
        READ.end()
    )]
    Version {
        /// File and line.
        place: String,
        /// Its version.
        version: u64,
    },
}

impl Results {
    /// Adds the rows of a file (`-`: standard input), each checked.
    pub fn add(&mut self, path: &Path) -> Result<(), ReadError> {
        let name = path.display().to_string();
        let content = content(path)?;
        let rows = if content.starts_with(PARQUET) { table(&name, content)? } else { lines(&name, content)? };
        for (place, row) in rows {
            check_version(&place, &row)?;
            match row.get("kind").map(Value::as_str) {
                None => self.rows.push(checked(&place, row, COLUMNS)?),
                Some(Some("series")) => self.series.push(checked(&place, row, SERIES_COLUMNS)?),
                Some(_) => return Err(foreign(&place, &format!("a row of the kind {}", row["kind"]))),
            }
        }
        Ok(())
    }
}

/// True if what the input stands at begins as rows of results do. It is not read any further than that.
pub fn begin(input: &mut Input) -> Result<bool, TraceError> {
    let bytes = input.at_least(LONGEST_ROW)?;
    if bytes.starts_with(PARQUET) {
        return Ok(true);
    }
    let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let Ok(line) = str::from_utf8(first) else { return Ok(false) };
    let has = |field: &str| line.contains(field);
    Ok(match line.starts_with('{') {
        true => ["\"version\":", "\"trace\":", "\"policy\":", "\"size_blocks\":"].into_iter().all(has),
        false => ["version", "trace", "policy", "size_blocks"]
            .into_iter()
            .all(|name| line.split(',').any(|column| column == name)),
    })
}

/// Bytes that rows are longer than only where they have many applications; the fields that tell them come first.
const LONGEST_ROW: usize = 64 << 10;

fn table(name: &str, content: Vec<u8>) -> Result<Placed, ReadError> {
    let rows =
        parquet::read(content).map_err(|error| foreign(name, &format!("Parquet that cannot be read ({error})")))?;
    if rows.is_empty() {
        return Err(foreign(name, "Parquet without a row"));
    }
    Ok(rows.into_iter().enumerate().map(|(at, row)| (format!("{name}, row {}", at + 1), row)).collect())
}

fn lines(name: &str, content: Vec<u8>) -> Result<Placed, ReadError> {
    let text = String::from_utf8(content).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        foreign(&format!("{name}, byte {at}"), "bytes that are not text")
    })?;
    match text.trim_start().chars().next() {
        None => Err(foreign(name, "nothing: the file is empty")),
        Some('{') => json_lines(name, &text),
        Some(_) => csv_lines(name, &text),
    }
}

fn content(path: &Path) -> Result<Vec<u8>, ReadError> {
    let name = path.display();
    if fs::metadata(path).is_ok_and(|about| about.is_dir()) {
        return Err(ReadError::Directory(name.to_string()));
    }
    let unreadable = |error: io::Error| ReadError::Unreadable { name: name.to_string(), error };
    let mut input = match path == Path::new("-") {
        true => Input::open(path)?,
        false => Input::from_reader(path, File::open(path).map_err(unreadable)?, None)?,
    };
    let mut content = Vec::new();
    while input.more()? {
        content.extend_from_slice(input.data());
        input.consume(input.data().len());
    }
    Ok(content)
}

/// Rows with their places.
type Placed = Vec<(String, Value)>;

fn json_lines(name: &str, text: &str) -> Result<Placed, ReadError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            let place = format!("{name}, line {}", at + 1);
            match serde_json::from_str(line) {
                Ok(row) => Ok((place, row)),
                Err(error) => Err(foreign(&place, &format!("no JSON ({error})"))),
            }
        })
        .collect()
}

fn csv_lines(name: &str, text: &str) -> Result<Placed, ReadError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let broken = |error: csv::Error| foreign(name, &format!("no CSV ({error})"));
    let columns = reader.headers().map_err(broken)?.clone();
    if !columns.iter().any(|column| column == "policy") {
        let first: String = text.lines().next().unwrap_or_default().chars().take(60).collect();
        return Err(foreign(&format!("{name}, line 1"), &format!("{first:?}")));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let place = format!("{name}, line {}", record.position().map_or(0, csv::Position::line));
        let told = columns.iter().zip(&record).filter(|(_, text)| !text.is_empty());
        let fields = told.map(|(column, text)| Ok((column.to_owned(), field(&place, column, text)?)));
        rows.push((place.clone(), Value::Object(fields.collect::<Result<Map<_, _>, ReadError>>()?)));
    }
    Ok(rows)
}

fn field(place: &str, column: &str, text: &str) -> Result<Value, ReadError> {
    let known = COLUMNS.iter().find(|known| known.name == column);
    if known.is_some_and(|known| known.kind == ValueKind::Text) {
        return Ok(Value::from(text));
    }
    let number = serde_json::from_str::<Value>(text).ok().filter(|value| value.is_number() || value.is_boolean());
    number.ok_or_else(|| ReadError::NoNumber {
        place: place.to_owned(),
        column: column.to_owned(),
        text: text.to_owned(),
    })
}

fn check_version(place: &str, row: &Value) -> Result<(), ReadError> {
    let Some(version) = row.get("version").and_then(Value::as_u64) else {
        let found: String = row.to_string().chars().take(60).collect();
        return Err(foreign(place, &format!("{found}, which names no version")));
    };
    if !READ.contains(&version) {
        return Err(ReadError::Version { place: place.to_owned(), version });
    }
    Ok(())
}

/// The row itself if it has what each row of these columns has.
fn checked(place: &str, row: Value, columns: &[Column]) -> Result<Value, ReadError> {
    match missing(&row, columns) {
        Some(field) => Err(foreign(place, &format!("an object without {field}"))),
        None => Ok(row),
    }
}

fn foreign(place: &str, found: &str) -> ReadError {
    ReadError::Foreign { place: place.to_owned(), found: found.to_owned() }
}
