//! Reading results again: JSON Lines, CSV or Parquet, packed or not, told apart by what they begin with. A row of
//! another version and a file of something else are refused with a sentence.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use hotset_sim::results::SCHEMA_VERSION;
use hotset_trace::input::Input;
use serde::Serialize;
use serde_json::{Map, Value};

use super::parquet;
use crate::failure::Failure;

/// Fields that every row has, those of text first.
const TEXTS: [&str; 2] = ["trace", "policy"];
/// Versions of the schema that are read: what version 2 has more than version 1 is added to it.
const READ: std::ops::RangeInclusive<u64> = 1..=SCHEMA_VERSION as u64;
/// Further columns of text in a CSV file.
const CHOICES: [&str; 4] = ["filter", "warmup", "count_only", "maps"];
const NUMBERS: [&str; 5] = ["size_blocks", "references", "hits", "misses", "hit_ratio"];
/// The same of a row of `kind` series.
const SERIES_TEXTS: [&str; 3] = ["trace", "policy", "app"];
const SERIES_NUMBERS: [&str; 5] = ["size_blocks", "references", "hits", "resident_blocks", "repartitions"];

/// Rows that were read, as a page shows them.
#[derive(Default, Serialize)]
pub(crate) struct Read {
    rows: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    series: Vec<Value>,
}

impl Read {
    /// Adds the rows of a file, each checked.
    pub(crate) fn add(&mut self, path: &Path) -> Result<(), Failure> {
        let name = path.display().to_string();
        let content = content(path)?;
        let rows = if content.starts_with(parquet::MAGIC) { table(&name, content)? } else { lines(&name, content)? };
        for (place, row) in rows {
            check_version(&place, &row)?;
            match row.get("kind").map(Value::as_str) {
                None => self.rows.push(checked(&place, row, &TEXTS, &NUMBERS)?),
                Some(Some("series")) => self.series.push(checked(&place, row, &SERIES_TEXTS, &SERIES_NUMBERS)?),
                Some(_) => return Err(foreign(&place, &format!("a row of the kind {}", row["kind"]))),
            }
        }
        Ok(())
    }
}

fn table(name: &str, content: Vec<u8>) -> Result<Placed, Failure> {
    let rows =
        parquet::read(content).map_err(|error| foreign(name, &format!("Parquet that cannot be read ({error})")))?;
    if rows.is_empty() {
        return Err(foreign(name, "Parquet without a row"));
    }
    Ok(rows.into_iter().enumerate().map(|(at, row)| (format!("{name}, row {}", at + 1), row)).collect())
}

fn lines(name: &str, content: Vec<u8>) -> Result<Placed, Failure> {
    let text = String::from_utf8(content).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        foreign(&format!("{name}, byte {at}"), "bytes that are no text")
    })?;
    match text.trim_start().chars().next() {
        None => Err(foreign(name, "nothing: the file is empty")),
        Some('{') => json_lines(name, &text),
        Some(_) => csv_lines(name, &text),
    }
}

fn content(path: &Path) -> Result<Vec<u8>, Failure> {
    let name = path.display();
    if fs::metadata(path).is_ok_and(|about| about.is_dir()) {
        return Err(Failure::Work(format!("{name}: it is a directory; expected a file of results")));
    }
    let unreadable = |error: io::Error| Failure::Work(format!("{name}: cannot open the results: {error}"));
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

fn json_lines(name: &str, text: &str) -> Result<Placed, Failure> {
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

fn csv_lines(name: &str, text: &str) -> Result<Placed, Failure> {
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
        rows.push((place.clone(), Value::Object(fields.collect::<Result<Map<_, _>, Failure>>()?)));
    }
    Ok(rows)
}

fn field(place: &str, column: &str, text: &str) -> Result<Value, Failure> {
    if TEXTS.contains(&column) || CHOICES.contains(&column) {
        return Ok(Value::from(text));
    }
    let number = serde_json::from_str::<Value>(text).ok().filter(|value| value.is_number() || value.is_boolean());
    number.ok_or_else(|| Failure::Work(format!("{place}: {column}: found {text:?}; expected a number")))
}

fn check_version(place: &str, row: &Value) -> Result<(), Failure> {
    let Some(version) = row.get("version").and_then(Value::as_u64) else {
        let found: String = row.to_string().chars().take(60).collect();
        return Err(foreign(place, &format!("{found}, which names no version")));
    };
    if !READ.contains(&version) {
        let message = format!(
            "{place}: the row is of version {version} of the schema, and this hotset reads versions {} to {}: make the results again, \
             or read them with the hotset that made them",
            READ.start(),
            READ.end()
        );
        return Err(Failure::Work(message));
    }
    Ok(())
}

/// The row itself if it has these fields.
fn checked(place: &str, row: Value, texts: &[&str], numbers: &[&str]) -> Result<Value, Failure> {
    let lacks = |fields: &[&str], told: fn(&Value) -> bool| {
        fields.iter().find(|field| !row.get(**field).is_some_and(told)).map(|field| (*field).to_owned())
    };
    match lacks(texts, Value::is_string).or_else(|| lacks(numbers, Value::is_number)) {
        Some(field) => Err(foreign(place, &format!("an object without {field}"))),
        None => Ok(row),
    }
}

fn foreign(place: &str, found: &str) -> Failure {
    Failure::Work(format!(
        "{place}: found {found}; expected a row of results as `hotset simulate`, `curve` or `experiment` writes them with --json, --csv or --parquet"
    ))
}
