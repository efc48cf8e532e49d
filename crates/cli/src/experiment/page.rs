//! An experiment as a page shows it.

use serde::Serialize;

use super::compare::Comparison;
use super::file::File;
use super::measure::Measure;
use super::row::AnyRow;

/// What stands on a page of experiments.
#[derive(Serialize)]
pub(super) struct Content<'a> {
    /// The rows of all, as `--json` writes them.
    pub rows: &'a [AnyRow],
    pub experiments: Vec<Shown<'a>>,
}

/// An experiment, with its figure worked out.
#[derive(Serialize)]
pub(super) struct Shown<'a> {
    title: &'a str,
    source: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    claim: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    finding: &'a str,
    sizes: &'a str,
    /// `share` where the sizes are percentages of the footprint, as they are in such figures; otherwise `size`.
    axis: &'static str,
    measure: Measure,
    /// What that is called.
    measured: String,
    /// The unit of gains.
    unit: &'static str,
    traces: Vec<Values>,
    compare: Vec<Comparison<'a>>,
}

/// The measure on one trace.
#[derive(Serialize)]
struct Values {
    /// The number of the trace's first row among all rows.
    from: usize,
    /// A value for each row; nothing where the row does not tell.
    values: Vec<Option<f64>>,
}

impl<'a> Shown<'a> {
    /// An experiment whose rows follow after `before` others.
    pub fn new(file: &'a File, traces: &[Vec<AnyRow>], compare: Vec<Comparison<'a>>, before: usize) -> Shown<'a> {
        let mut from = before;
        let values = |rows: &Vec<AnyRow>| {
            let first = from;
            from += rows.len();
            Values { from: first, values: rows.iter().map(|row| file.value(row)).collect() }
        };
        Shown {
            title: &file.title,
            source: &file.source,
            claim: file.claim.trim(),
            finding: file.finding.trim(),
            sizes: &file.sizes,
            axis: if file.sizes.contains('%') { "share" } else { "size" },
            measure: file.measure,
            measured: file.measured(),
            unit: file.measure.unit(),
            traces: traces.iter().map(values).collect(),
            compare,
        }
    }
}
