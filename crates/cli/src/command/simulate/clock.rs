//! The options of a replay on a clock.

use std::path::{Path, PathBuf};

use clap::Args;
use hotset_results::SeriesRow;
use hotset_results::write_json;
use hotset_sim::clock::{ClockOptions, Every};

use crate::failure::Failure;
use crate::options::{results, values};

/// A store behind the cache, and series over time.
#[derive(Args)]
pub(super) struct ClockArgs {
    /// Estimate times with a storage model behind the cache: nvme, ssd, hdd, nfs, s3, disk, latency, or
    /// LATENCY,BANDWIDTH,PARALLEL such as 5ms,100M,8 (see docs/guide/estimate-times.md)
    #[arg(long, value_name = "MODEL", help_heading = "Timing")]
    store: Option<String>,
    /// Write hits and cache contents per application and interval as JSON Lines; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Timing")]
    series: Option<PathBuf>,
    /// Length of an interval for --series: a time or a number of references
    #[arg(long, value_name = "INTERVAL", default_value = "1s", value_parser = Every::parse, help_heading = "Timing")]
    every: Every,
}

impl ClockArgs {
    /// The traces that are replayed on a clock or timed, if any.
    pub(super) fn options(&self, costs: bool) -> Result<Option<ClockOptions>, Failure> {
        let store = values::storage("--store", self.store.as_deref())?;
        let every = self.series.as_ref().map(|_| self.every);
        Ok((store.is_some() || every.is_some() || costs).then_some(ClockOptions { store, every, costs }))
    }

    /// Where the series goes.
    pub(super) fn series(&self) -> Option<&Path> {
        self.series.as_deref()
    }

    /// True if standard output is for the series.
    pub(super) fn has_stdout(&self) -> bool {
        self.series() == Some(Path::new("-"))
    }

    /// Writes the series where the user wants it.
    pub(super) fn write(&self, series: &[SeriesRow]) -> Result<(), Failure> {
        self.series.as_ref().map_or(Ok(()), |path| results::write(path, |out| write_json(out, series)))
    }
}
