//! The version of the schema of rows, and the kinds of values in columns.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Current version of the schema of rows. Version 3 has one row for blocks, objects and pages.
pub const SCHEMA_VERSION: u32 = 3;

/// The version of a row's schema: the current one, unless the row was read from a file of an older version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(u32);

impl Default for Version {
    fn default() -> Version {
        Version(SCHEMA_VERSION)
    }
}

/// Kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A whole number, unsigned and of 64 bits.
    Whole,
    /// A number with a fraction.
    Number,
    /// True or false.
    Truth,
    /// Text.
    Text,
    /// Nested values, which CSV leaves out.
    Json,
}

impl ValueKind {
    /// The kind of a value.
    pub(crate) fn of(value: &Value) -> ValueKind {
        match value {
            Value::Bool(_) => ValueKind::Truth,
            Value::Number(number) if number.is_u64() => ValueKind::Whole,
            Value::Number(_) => ValueKind::Number,
            Value::String(_) => ValueKind::Text,
            Value::Null | Value::Array(_) | Value::Object(_) => ValueKind::Json,
        }
    }

    /// True if `value` is of this kind.
    pub(crate) fn has(self, value: &Value) -> bool {
        match self {
            ValueKind::Number => value.is_number(),
            ValueKind::Json => true,
            kind => ValueKind::of(value) == kind,
        }
    }
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name of the field.
    pub name: &'static str,
    /// Its values.
    pub kind: ValueKind,
    /// True if every row has a value.
    pub is_required: bool,
}

impl Column {
    /// A column of this name.
    pub const fn new(name: &'static str, kind: ValueKind, is_required: bool) -> Column {
        Column { name, kind, is_required }
    }
}

/// The first of these columns that a row must have and has not.
pub(crate) fn missing(row: &Value, columns: &[Column]) -> Option<&'static str> {
    let is_missing =
        |column: &&Column| column.is_required && !row.get(column.name).is_some_and(|value| column.kind.has(value));
    columns.iter().find(is_missing).map(|column| column.name)
}
