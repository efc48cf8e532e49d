//! The file of an experiment: a figure or table of a paper, to be made again with traces at hand.

use std::ops::RangeInclusive;
use std::path::Path;

use hotset_core::spec::{SizeSpec, SpecError, Value};
use serde::Deserialize;

use super::measure::Measure;
use super::policies::Policies;
use super::row::AnyRow;
use crate::failure::Failure;

/// An experiment as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// What is measured.
    pub title: String,
    /// The paper and its figure or table.
    pub source: String,
    /// What the paper says of it, in our words.
    #[serde(default)]
    pub claim: String,
    /// What we see and why, in our words.
    #[serde(default)]
    pub finding: String,
    /// Trace files, below the directory of traces, or beside this file if they begin with `.`; `FORMAT:PATH` names the format.
    pub traces: Vec<String>,
    /// Policies, separated by commas.
    pub policies: String,
    /// Sizes, separated by commas.
    pub sizes: String,
    /// Bytes of a block where the trace does not say.
    pub block: Option<u64>,
    /// Mapped ranges count as reads.
    #[serde(default = "yes")]
    pub maps: bool,
    /// What the table shows.
    #[serde(default)]
    pub measure: Measure,
    /// Only these classes are counted, where a scheme tells classes apart; all by default.
    #[serde(default)]
    pub classes: Vec<String>,
    /// Pairs of policies of which the paper says how they compare.
    #[serde(default)]
    pub compare: Vec<Compare>,
}

fn yes() -> bool {
    true
}

/// A policy beside another.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Compare {
    pub better: String,
    pub than: String,
    /// Only sizes from this on, such as 64K.
    pub from: Option<String>,
    /// Only sizes up to this.
    pub to: Option<String>,
    /// A policy that bounds both: how much of the way from `than` to it is gone is told too.
    pub bound: Option<String>,
    /// The paper's mean gain: points of a ratio, percent less of a cost.
    pub paper_mean: Option<f64>,
    /// The paper's greatest gain.
    pub paper_most: Option<f64>,
    /// The traces where the paper finds the one worse than the other; elsewhere it finds it no worse. Absent: the paper does not tell.
    pub paper_worse: Option<Vec<String>>,
}

impl Compare {
    /// The bytes of cache that it is about. A bound that cannot be read is an error with its text.
    pub fn bytes(&self) -> Result<RangeInclusive<u64>, SpecError> {
        let bound = |text: &Option<String>, open: u64| match text.as_deref().map(Value::parse).transpose()? {
            None => Ok(open),
            Some(Value::Size(bytes)) => Ok(bytes),
            Some(other) => Err(SpecError::new(format!("\"{other}\" is no size: expected bytes such as 64K"))),
        };
        Ok(bound(&self.from, 0)?..=bound(&self.to, u64::MAX)?)
    }
}

impl File {
    /// Reads an experiment.
    pub fn read(path: &Path) -> Result<File, Failure> {
        let name = path.display();
        let text =
            std::fs::read_to_string(path).map_err(|error| Failure::Work(format!("{name}: cannot read it: {error}")))?;
        let mut file: File = toml::from_str(&text).map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
        let known = file.policies(path)?.names();
        let labels: Vec<String> = file.traces.iter().map(|trace| label(trace).to_owned()).collect();
        for compare in &mut file.compare {
            compare.bytes().map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
            for policy in [&mut compare.better, &mut compare.than].into_iter().chain(&mut compare.bound) {
                if let Ok(Some(canonical)) = Policies::parse(file.measure, policy).map(|it| it.names().pop()) {
                    *policy = canonical;
                }
                if !known.contains(policy) {
                    return Err(Failure::Usage(format!("{name}: {policy:?} is compared, but not among the policies")));
                }
            }
            if let Some(unknown) = compare.paper_worse.iter().flatten().find(|trace| !labels.contains(trace)) {
                let message = format!("{name}: paper_worse: found {unknown:?}; expected one of {}", labels.join(", "));
                return Err(Failure::Usage(message));
            }
        }
        Ok(file)
    }

    /// What the experiment measures, in a row; `None` where the row does not tell.
    pub fn value(&self, row: &AnyRow) -> Option<f64> {
        self.measure.of(row, &self.classes)
    }

    /// What that is called.
    pub fn measured(&self) -> String {
        match &self.classes[..] {
            [] => self.measure.title().to_owned(),
            classes => format!("{} ({})", self.measure.title(), classes.join(", ")),
        }
    }

    pub fn policies(&self, path: &Path) -> Result<Policies, Failure> {
        let place = format!("{}, policies", path.display());
        Policies::parse(self.measure, &self.policies).map_err(|error| Failure::spec(&place, &self.policies, &error))
    }

    pub fn size_list(&self, path: &Path) -> Result<SizeSpec, Failure> {
        let place = format!("{}, sizes", path.display());
        SizeSpec::parse(&self.sizes).map_err(|error| Failure::spec(&place, &self.sizes, &error))
    }
}

/// What a trace is called in tables of several: the name of its file up to the first dot.
pub(super) fn label(trace: &str) -> &str {
    let name = file_name(trace);
    name.split_once('.').map_or(name, |(label, _)| label)
}

/// The last component of a trace's name, without the name of a format before it.
pub(super) fn file_name(trace: &str) -> &str {
    trace.rsplit(['/', ':']).next().unwrap_or(trace)
}
