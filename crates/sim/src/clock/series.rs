//! What happened in one stretch of time after another.

use hotset_core::policy::{PartRoom, Repartition};

use super::residents::Residents;
use crate::engine::{Every, IntervalSample, Point};

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
