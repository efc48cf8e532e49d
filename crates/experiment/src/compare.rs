//! How policies compare over all traces and sizes, beside what the paper says of them.

use hotset_results::Row;
use serde::Serialize;

use crate::file::{Compare, File, label};
use crate::run::Replayed;
use crate::saved::saved;

/// A gain in percent of less than this is none.
pub const NO_GAIN: f64 = 0.5;

/// A policy held against another, in the unit of the measure's gains.
#[derive(Serialize)]
pub struct Comparison<'a> {
    /// As the file has it.
    #[serde(skip)]
    pub compare: &'a Compare,
    /// The policy that should gain.
    pub better: &'a str,
    /// The policy that it is compared with.
    pub than: &'a str,
    /// The trace, application and sizes that it is about, as they stand behind the names; empty for all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub range: String,
    /// Absent if no trace has both.
    #[serde(flatten)]
    pub gain: Option<Gain>,
    /// The paper's mean gain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper_mean: Option<f64>,
    /// The paper's greatest gain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper_most: Option<f64>,
    /// Percent of the cache that is saved at equal hit ratio, if that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<f64>,
    /// The paper's mean saving in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper_saved: Option<f64>,
    /// How the mean gain compares with the paper's; empty where the paper states none.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub verdict: &'static str,
    /// The comparison on each trace.
    pub traces: Vec<OnTrace<'a>>,
}

/// A gain over all traces and sizes.
#[derive(Serialize)]
pub struct Gain {
    /// The mean of the traces' means: every trace counts alike.
    pub mean: f64,
    /// The greatest at any size on any trace.
    pub most: f64,
    /// The least.
    pub least: f64,
    /// Half of the width of the interval that holds the mean with 95 % confidence, were the traces drawn at random;
    /// absent for one trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
}

/// A comparison on one trace.
#[derive(Serialize)]
pub struct OnTrace<'a> {
    /// The trace's label.
    pub trace: &'a str,
    /// The mean gain over the sizes; absent if no size has both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Whether the gain has the sign that it has in the paper: `yes`, `no`, `same` for none; absent where the paper
    /// does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agrees: Option<&'static str>,
    /// How much of the way to the bound is gone, over all sizes: 1 is all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way: Option<f64>,
}

impl Comparison<'_> {
    /// Every comparison of an experiment, given the rows of each of its traces.
    pub fn all<'a>(file: &'a File, traces: &[Replayed]) -> Vec<Comparison<'a>> {
        file.compare.iter().map(|compare| Comparison::of(file, compare, traces)).collect()
    }

    fn of<'a>(file: &'a File, compare: &'a Compare, traces: &[Replayed]) -> Comparison<'a> {
        let is_meant = |name: &str| compare.trace.as_ref().is_none_or(|trace| trace == name);
        let told = file.trace_names().map(label).zip(traces.iter().map(|trace| &trace.rows));
        let told: Vec<(&str, &Vec<Row>)> = told.filter(|(name, rows)| is_meant(name) && !rows.is_empty()).collect();
        let meant: Vec<&Vec<Row>> = told.iter().map(|(_, rows)| *rows).collect();
        let saved = saved(file, compare, &meant);
        let gains: Vec<f64> = told.iter().flat_map(|(_, rows)| gains(file, compare, &compare.better, rows)).collect();
        let traces: Vec<OnTrace> = told.iter().map(|(trace, rows)| OnTrace::of(file, compare, trace, rows)).collect();
        let means: Vec<f64> = traces.iter().filter_map(|trace| trace.mean).collect();
        let gain = mean(&means).map(|mean| Gain {
            mean,
            most: gains.iter().copied().fold(f64::MIN, f64::max),
            least: gains.iter().copied().fold(f64::MAX, f64::min),
            within: within(&means),
        });
        Comparison {
            compare,
            better: &compare.better,
            than: &compare.than,
            range: range(compare),
            verdict: gain.as_ref().map_or("", |gain| verdict(gain.mean, compare.paper_mean)),
            gain,
            paper_mean: compare.paper_mean,
            paper_most: compare.paper_most,
            saved,
            paper_saved: compare.paper_saved,
            traces,
        }
    }

    /// The compared measure.
    pub fn name(&self) -> String {
        format!("{} against {}{}", self.better, self.than, self.range)
    }
}

impl<'a> OnTrace<'a> {
    fn of(file: &File, compare: &Compare, trace: &'a str, rows: &[Row]) -> OnTrace<'a> {
        let gains_of = |policy: &str| gains(file, compare, policy, rows);
        let ours = gains_of(&compare.better);
        let mean = mean(&ours);
        let worse = compare.paper_worse.as_ref().map(|worse| worse.iter().any(|worse| worse == trace));
        let way = compare.bound.as_ref().and_then(|bound| {
            let whole: f64 = gains_of(bound).iter().sum();
            (whole != 0.0).then(|| ours.iter().sum::<f64>() / whole)
        });
        OnTrace { trace, mean, agrees: mean.zip(worse).map(|(gain, worse)| direction(gain, worse)), way }
    }
}

fn direction(gain: f64, worse_in_paper: bool) -> &'static str {
    match gain < 0.0 {
        _ if gain.abs() < NO_GAIN => "same",
        worse if worse == worse_in_paper => "yes",
        _ => "no",
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// 97.5 % quantiles of Student's distribution with 1 to 10 degrees of freedom.
const STUDENT: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

/// Half of the width of the 95 % confidence interval of the mean.
fn within(values: &[f64]) -> Option<f64> {
    let freedom = values.len().checked_sub(1).filter(|&freedom| freedom > 0)?;
    // From 11 on the quantile is close to its limit of 1.96.
    let quantile = STUDENT.get(freedom - 1).copied().unwrap_or(1.96 + 2.4 / freedom as f64);
    let mean = mean(values)?;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom as f64;
    Some(quantile * (variance / values.len() as f64).sqrt())
}

/// The gains on a trace, by size, of a policy over the one that the comparison starts from; a size at which one of the
/// two does not tell has none.
fn gains(file: &File, compare: &Compare, policy: &str, rows: &[Row]) -> Vec<f64> {
    let sizes = compare.bytes().expect("checked when the file was read");
    let of = |policy: &str| {
        let counts = |row: &&Row| row.policy == policy && sizes.contains(&row.size_bytes.unwrap_or(0));
        let value = |row: &Row| match &compare.app {
            Some(app) => file.measure.of_app(row, app),
            None => file.value(row),
        };
        rows.iter().filter(counts).map(value).collect::<Vec<_>>()
    };
    let pairs = of(policy).into_iter().zip(of(&compare.than));
    pairs.filter_map(|(ours, other)| Some(file.measure.gain(ours?, other?))).collect()
}

/// The trace, application and sizes that a comparison is restricted to, as they stand behind the names.
fn range(compare: &Compare) -> String {
    let trace = compare.trace.as_ref().map(|trace| format!(" on {trace}"));
    let app = compare.app.as_ref().map(|app| format!(" for {app}"));
    let from = compare.from.as_ref().map(|from| format!(" from {from}"));
    let to = compare.to.as_ref().map(|to| format!(" to {to}"));
    trace.into_iter().chain(app).chain(from).chain(to).collect()
}

fn verdict(mean: f64, paper: Option<f64>) -> &'static str {
    match paper {
        None => "",
        Some(paper) if mean.signum() != paper.signum() => "opposite",
        Some(paper) if mean.abs() >= paper.abs() => "at least as much",
        Some(_) => "same direction, less",
    }
}
