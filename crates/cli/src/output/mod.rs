//! Results for people (tables, plots, words) and for programs (JSON Lines, CSV).

pub(crate) mod explained;
pub(crate) mod human;
pub(crate) mod plot;
pub(crate) mod shell;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod words;

use std::fmt::Display;
use std::io::{Write, stderr};

/// Writes a line to standard error. A reader that has gone is not an error: the work goes on.
pub(crate) fn note(line: impl Display) {
    let _ = writeln!(stderr(), "hotset: {line}");
}
