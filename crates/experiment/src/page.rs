//! An experiment as a page shows it.

use hotset_results::{Row, SeriesRow};
use serde::Serialize;

use crate::compare::Comparison;
use crate::file::File;
use crate::measure::Measure;
use crate::run::Replayed;

/// The content of a page of experiments.
#[derive(Serialize)]
pub struct Content<'a> {
    /// The rows of all, as JSON files have them.
    pub rows: &'a [Row],
    /// The experiments, in the order of their rows.
    pub experiments: Vec<Shown<'a>>,
    /// The options with which other commands read the traces as these did, where all did alike.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reading: Vec<String>,
}

/// An experiment, with its figure worked out.
#[derive(Serialize)]
pub struct Shown<'a> {
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
    /// Its stretches, where the experiment looks at them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    series: Vec<SeriesRow>,
}

impl<'a> Shown<'a> {
    /// An experiment whose rows follow after `before` others.
    pub fn new(file: &'a File, traces: &[Replayed], compare: Vec<Comparison<'a>>, before: usize) -> Shown<'a> {
        let mut from = before;
        let values = |Replayed { rows, series }: &Replayed| {
            let first = from;
            from += rows.len();
            Values { from: first, values: rows.iter().map(|row| file.value(row)).collect(), series: series.clone() }
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
