//! The settings of a replay on a clock, and its results.

use hotset_core::policy::{PartRoom, Worth};
use hotset_core::setting::SettingName;
use hotset_core::spec::Value;
use hotset_core::storage::StorageModel;

/// How cells are replayed.
#[derive(Clone, Debug, Default)]
pub struct ClockOptions {
    /// The store behind the cache; without one requests come at the times of the trace, and take no time.
    pub store: Option<StorageModel>,
    /// How often a series has a sample; none if `None`.
    pub every: Option<Every>,
    /// Cells tell how long a reference takes, and each is replayed alone; not on a clock.
    pub costs: bool,
}

impl ClockOptions {
    /// True if something is asked for that windows do not give.
    pub(crate) fn is_asked(&self) -> bool {
        self.store.is_some() || self.every.is_some()
    }

    /// The option of the command that asks for it.
    pub(crate) fn asked_by(&self) -> SettingName {
        match self {
            ClockOptions { store: Some(_), .. } => SettingName("store"),
            ClockOptions { every: Some(_), .. } => SettingName("series"),
            _ => SettingName("costs"),
        }
    }
}

/// Times of a cell in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// From the first request to the end of the last.
    pub finish: u64,
    /// The time in which the disk worked, including its work at the end.
    pub disk_busy: u64,
    /// One for each application that occurs.
    pub apps: Vec<AppTimes>,
}

/// Times of an application in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppTimes {
    /// Its number.
    pub app: u32,
    /// Its requests.
    pub requests: u64,
    /// From the first request of all to the end of its last.
    pub finish: u64,
    /// From each of its requests to the end of it, in sum.
    pub service: u64,
}

/// How long a stretch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// Nanoseconds on the clock of the replay.
    Time(u64),
    /// References.
    References(u64),
}

impl Every {
    /// Reads a time such as `2s`, or a number of references.
    pub fn parse(text: &str) -> Result<Every, String> {
        match Value::parse(text) {
            Ok(Value::Time(time)) if time > 0 => Ok(Every::Time(time)),
            Ok(Value::Number(count)) if count.fract() == 0.0 && (1.0..2f64.powi(63)).contains(&count) => {
                Ok(Every::References(count as u64))
            }
            _ => Err(format!(
                "{text:?} is not an interval: expected a time such as 2s, or a number of references such as 10000"
            )),
        }
    }
}

/// One interval. Intervals without a reference are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalSample {
    /// Its end: nanoseconds since the first request, or references.
    pub end: u64,
    /// One for each application of the trace; in a stream, for each that has come so far.
    pub points: Vec<Point>,
    /// Divisions of the cache in it that changed something.
    pub repartitions: u64,
}

/// What one application did in a stretch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Its number.
    pub app: u32,
    /// References to blocks.
    pub references: u64,
    /// References that hit.
    pub hits: u64,
    /// Blocks in memory at the end that were read for it.
    pub resident: u32,
    /// Its partition at the end, if the scheme partitions.
    pub room: Option<PartRoom>,
    /// Its virtual queue at the end of its last quantum, if the scheme keeps one.
    pub queue: Option<Heat>,
    /// Its table as it was when the room was divided last: blocks, and the hit rate in percent; empty if the scheme
    /// keeps none.
    pub table: Vec<(u32, f64)>,
}

/// Bands in which the values of a virtual queue are reported.
pub const BANDS: usize = 64;

/// What stretches of a virtual queue are worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// Blocks of the queue.
    pub blocks: u64,
    /// Values of 64 bands of equal length, from the head on: hits there, faded.
    pub bands: Vec<f64>,
}

impl Heat {
    pub(crate) fn of(worth: &Worth) -> Heat {
        let mut bands = vec![0.0; BANDS];
        for (unit, value) in worth.values.iter().enumerate() {
            bands[unit * BANDS / worth.units] += value;
        }
        Heat { blocks: worth.units as u64 * u64::from(worth.unit), bands }
    }
}
