//! The file of an experiment: a figure or table of a paper, to be made again with traces at hand.

use std::ops::RangeInclusive;
use std::path::Path;

use hotset_core::spec::{PolicySpec, SizeSpec, SpecError, Value};
use hotset_sim::results::Row;
use serde::Deserialize;

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
    /// Trace files, below the directory of traces; `FORMAT:PATH` names the format.
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
    /// The paper's mean gain: points of a ratio, percent less of a cost.
    pub paper_mean: Option<f64>,
    /// The paper's greatest gain.
    pub paper_most: Option<f64>,
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

/// What is compared.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Measure {
    /// Hits per reference: more is better.
    #[default]
    HitRatio,
    /// Missed reading requests per reading request.
    ReadRequestMissRatio,
    /// Reading requests that miss.
    ReadRequestMisses,
    /// Blocks written to storage.
    WriteBacks,
    /// Blocks written to storage per writing request.
    WriteBackRatio,
    /// Accesses to storage, reads and writes.
    DiskAccesses,
    /// Bytes read from storage.
    BytesRead,
}

impl Measure {
    /// Its name over a table.
    pub fn title(self) -> &'static str {
        match self {
            Measure::HitRatio => "hit ratio in %",
            Measure::ReadRequestMissRatio => "missed read requests in %",
            Measure::ReadRequestMisses => "missed read requests",
            Measure::WriteBacks => "blocks written back",
            Measure::WriteBackRatio => "blocks written back per 100 write requests",
            Measure::DiskAccesses => "accesses to storage",
            Measure::BytesRead => "bytes read from storage",
        }
    }

    /// Its value in a row; what the row does not tell is 0.
    pub fn of(self, row: &Row) -> f64 {
        let counts = &row.counts;
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        match self {
            Measure::HitRatio => counts.hit_ratio,
            Measure::ReadRequestMissRatio => ratio(counts.read_request_misses, counts.read_requests),
            Measure::ReadRequestMisses => counts.read_request_misses as f64,
            Measure::WriteBacks => row.write_backs.unwrap_or(0) as f64,
            Measure::WriteBackRatio => ratio(row.write_backs.unwrap_or(0), counts.write_requests.unwrap_or(0)),
            Measure::DiskAccesses => {
                row.disk_accesses.unwrap_or(counts.read_request_misses + row.write_backs.unwrap_or(0)) as f64
            }
            Measure::BytesRead => row.bytes_read.unwrap_or(counts.misses * row.block_bytes.unwrap_or(1)) as f64,
        }
    }

    /// True if it is a share of something, to be printed in percent.
    pub fn is_ratio(self) -> bool {
        matches!(self, Measure::HitRatio | Measure::ReadRequestMissRatio | Measure::WriteBackRatio)
    }

    /// How much better `ours` is than `other`: points for the hit ratio, percent less for what costs.
    pub fn gain(self, ours: f64, other: f64) -> f64 {
        match self {
            Measure::HitRatio => (ours - other) * 100.0,
            _ if other == 0.0 => 0.0,
            _ => (other - ours) / other * 100.0,
        }
    }

    /// The unit of [`Measure::gain`].
    pub fn unit(self) -> &'static str {
        if self == Measure::HitRatio { "points" } else { "% less" }
    }
}

impl File {
    /// Reads an experiment.
    pub fn read(path: &Path) -> Result<File, Failure> {
        let name = path.display();
        let text =
            std::fs::read_to_string(path).map_err(|error| Failure::Work(format!("{name}: cannot read it: {error}")))?;
        let mut file: File = toml::from_str(&text).map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
        let known = file.policy_list(path)?;
        for compare in &mut file.compare {
            compare.bytes().map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
            for policy in [&mut compare.better, &mut compare.than] {
                if let Ok(spec) = PolicySpec::parse(policy) {
                    *policy = spec.to_string();
                }
                if !known.iter().any(|spec| spec.to_string() == *policy) {
                    return Err(Failure::Usage(format!("{name}: {policy:?} is compared, but not among the policies")));
                }
            }
        }
        Ok(file)
    }

    pub fn policy_list(&self, path: &Path) -> Result<Vec<PolicySpec>, Failure> {
        let place = format!("{}, policies", path.display());
        PolicySpec::parse_list(&self.policies).map_err(|error| Failure::spec(&place, &self.policies, &error))
    }

    pub fn size_list(&self, path: &Path) -> Result<SizeSpec, Failure> {
        let place = format!("{}, sizes", path.display());
        SizeSpec::parse(&self.sizes).map_err(|error| Failure::spec(&place, &self.sizes, &error))
    }
}
