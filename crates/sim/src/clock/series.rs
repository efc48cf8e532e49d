//! What happened in one stretch of time after another.

use hotset_core::policy::{PartRoom, Repartition};
use hotset_core::spec::Value;

use super::residents::{Heat, Residents};

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

/// Samples being taken.
pub(super) struct Series {
    every: Option<Every>,
    end: u64,
    points: Vec<Point>,
    decisions: usize,
    pub samples: Vec<IntervalSample>,
}

impl Series {
    pub fn new(every: Option<Every>) -> Series {
        Series { every, end: 0, points: Vec::new(), decisions: 0, samples: Vec::new() }
    }

    /// An application that was not known before.
    pub fn join(&mut self, app: u32) {
        self.points.push(Point { app, ..Point::default() });
    }

    /// A reference is made at this time, after so many others: ends the stretch before it, if it is not in that.
    #[inline]
    pub fn reach(&mut self, clock: u64, references: u64, residents: &Residents, decisions: &[Repartition]) {
        let (at, length) = match self.every {
            None => return,
            Some(Every::Time(length)) => (clock, length),
            Some(Every::References(length)) => (references, length),
        };
        if at >= self.end {
            self.finish(residents, decisions);
            self.end = (at / length + 1).saturating_mul(length);
        }
    }

    #[inline]
    pub fn note(&mut self, point: usize, hit: bool) {
        self.points[point].references += 1;
        self.points[point].hits += u64::from(hit);
    }

    /// Ends the stretch at hand.
    pub fn finish(&mut self, residents: &Residents, decisions: &[Repartition]) {
        if self.every.is_none() || self.points.iter().all(|point| point.references == 0) {
            return;
        }
        let last = decisions.last();
        for point in &mut self.points {
            let held = residents.of(point.app);
            (point.resident, point.queue, point.table) = (held.blocks, held.queue, held.table);
            let room = |last: &Repartition| last.parts.iter().find(|part| part.app == point.app).copied();
            point.room = last.map(|last| room(last).unwrap_or(PartRoom { app: point.app, ..PartRoom::default() }));
        }
        let repartitions = (decisions.len() - self.decisions) as u64;
        self.decisions = decisions.len();
        self.samples.push(IntervalSample { end: self.end, points: self.points.clone(), repartitions });
        for point in &mut self.points {
            (point.references, point.hits) = (0, 0);
        }
    }
}
