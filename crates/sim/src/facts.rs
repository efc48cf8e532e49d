//! The facts of a trace, and the rows of results that its cells give.

use hotset_core::counters::Counters;
use hotset_core::policy::{PartRoom, Repartition};
use hotset_core::spec::ObjectSize;
use hotset_results::{AppCounts, Choice, Counts, NamedClass, Row, SeriesRow, Version};

use crate::clock::{AppTimes, Every, IntervalSample, Point};
use crate::engine::{ClassTally, Tally};

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// Milliseconds of a request on average over applications.
fn mean_ms(apps: &[AppTimes]) -> f64 {
    let (service, requests) =
        apps.iter().fold((0.0, 0), |(service, requests), app| (service + app.service as f64, requests + app.requests));
    service / 1e6 / requests.max(1) as f64
}

/// The partition that a decision gives an application; nothing if it has left.
fn room_of(decision: &Repartition, app: usize) -> PartRoom {
    decision.parts.iter().find(|part| part.app as usize == app).copied().unwrap_or_default()
}

/// The common part of the rows of one trace.
#[derive(Clone, Debug)]
pub struct TraceFacts {
    /// The trace as the user named it.
    pub name: String,
    /// The selection of it.
    pub choice: Choice,
    /// Bytes of a block, where blocks have a size.
    pub block_bytes: Option<u64>,
    /// Distinct blocks, if they were numbered.
    pub distinct: Option<u64>,
    /// Reads and writes are distinguished.
    pub has_ops: bool,
    /// The share of a trace that was replayed, if it is a sample.
    pub sample: Option<f64>,
    /// Names of applications, by number.
    pub apps: Vec<String>,
}

impl TraceFacts {
    /// The size of a cache for the whole trace, if `blocks` are replayed for the sample.
    fn whole(&self, blocks: u32) -> u32 {
        self.sample.map_or(blocks, |share| (f64::from(blocks) / share).round() as u32)
    }

    /// A row with these counts and what all rows of the trace have in common.
    pub(crate) fn counted(&self, policy: String, size_blocks: u64, seed: u64, counts: Counts) -> Row {
        Row {
            trace: self.name.clone(),
            policy,
            size_blocks,
            seed,
            counts,
            size_bytes: self.block_bytes.map(|block| block.saturating_mul(size_blocks)),
            block_bytes: self.block_bytes,
            choice: self.choice.clone(),
            distinct_blocks: self.distinct,
            ..Row::default()
        }
    }

    /// The row of one cell, in which a cache of `size` was replayed.
    pub fn row(&self, policy: String, size: ObjectSize, seed: u64, tally: &Tally) -> Row {
        let size_blocks = self.whole(size.objects).into();
        let bytes = size.bytes.map(|bytes| self.sample.map_or(bytes, |share| (bytes as f64 / share).round() as u64));
        let seen = tally.classes.iter().filter(|class| class.counters.references > 0);
        let classes: Vec<NamedClass> = seen.map(class_row).collect();
        let times = tally.times.as_ref();
        let of_runs = |count: u64| tally.extra.maps().then_some(count);
        let of_classes = |count: u64| (!tally.classes.is_empty()).then_some(count);
        let row = self.counted(policy, size_blocks, seed, Counts::of(&tally.total, self.has_ops));
        Row {
            size_bytes: bytes.or(row.size_bytes),
            repeats: Some(tally.repeats.references),
            repeat_hits: Some(tally.repeats.hits),
            object_bytes: bytes.map(|_| tally.bytes.all),
            object_bytes_hit: bytes.map(|_| tally.bytes.hit),
            byte_hit_ratio: bytes.map(|_| tally.bytes.hit as f64 / tally.bytes.all.max(1) as f64),
            write_backs: (self.has_ops || !classes.is_empty()).then_some(tally.write_backs),
            extra_reads: (tally.extra_reads > 0).then_some(tally.extra_reads),
            allocation_reads: of_runs(tally.extra.allocation_reads),
            fragment_reads: of_runs(tally.extra.fragment_reads),
            fragment_push_outs: of_runs(tally.extra.push_outs),
            prefetch_reads: (tally.extra.prefetch_reads > 0).then_some(tally.extra.prefetch_reads),
            disk_accesses: of_classes(
                tally.classes.iter().map(|class| class.read_accesses).sum::<u64>() + tally.write_backs,
            ),
            bytes_read: of_classes(classes.iter().map(|class| class.bytes_read).sum()),
            bytes_written: of_classes(classes.iter().map(|class| class.bytes_written).sum()),
            repartitions: (!tally.decisions.is_empty()).then_some(tally.decisions.len() as u64),
            finish_seconds: times.map(|times| seconds(times.finish)),
            disk_busy_seconds: times.map(|times| seconds(times.disk_busy)),
            mean_service_ms: times.map(|times| mean_ms(&times.apps)),
            apps: self.app_rows(tally),
            classes,
            ..row
        }
    }

    /// The name of an application.
    fn app_name(&self, app: usize) -> String {
        self.apps.get(app).cloned().unwrap_or_else(|| format!("app {app}"))
    }

    /// The rows of a series of one cell.
    pub fn series(&self, policy: &str, size_blocks: u32, every: Every, samples: &[IntervalSample]) -> Vec<SeriesRow> {
        let is_time = matches!(every, Every::Time(_));
        let row = |sample: &IntervalSample, point: &Point| SeriesRow {
            version: Version::default(),
            kind: "series",
            trace: self.name.clone(),
            policy: policy.to_owned(),
            size_blocks: self.whole(size_blocks),
            end_seconds: is_time.then_some(seconds(sample.end)),
            end_references: (!is_time).then_some(sample.end),
            app: self.app_name(point.app as usize),
            references: point.references,
            hits: point.hits,
            resident_blocks: point.resident,
            room_blocks: point.room.map(|room| room.blocks),
            flagged: point.room.map(|room| room.is_infeasible),
            repartitions: sample.repartitions,
            queue_blocks: point.queue.as_ref().map(|queue| queue.blocks),
            queue_values: point.queue.as_ref().map_or(Vec::new(), |queue| queue.bands.clone()),
            table: point.table.iter().map(|&(blocks, rate)| (blocks, rate / 100.0)).collect(),
        };
        samples.iter().flat_map(|sample| sample.points.iter().map(move |point| row(sample, point))).collect()
    }

    fn app_rows(&self, tally: &Tally) -> Vec<AppCounts> {
        let seen = || tally.apps.iter().enumerate().filter(|(_, counters)| counters.references > 0);
        if seen().count() < 2 {
            return Vec::new();
        }
        let named = |(app, counters): (usize, &Counters)| {
            let part = tally.decisions.last().map(|last| room_of(last, app));
            let times =
                tally.times.as_ref().and_then(|times| times.apps.iter().find(|times| times.app as usize == app));
            let mut named = AppCounts {
                name: self.app_name(app),
                counts: Counts::of(counters, self.has_ops),
                room_blocks: part.map(|part| part.blocks),
                flagged: part.map(|part| part.is_infeasible),
                finish_seconds: times.map(|times| seconds(times.finish)),
                mean_service_ms: times.map(|times| mean_ms(std::slice::from_ref(times))),
                ..AppCounts::default()
            };
            named.promise(part.and_then(|part| part.target).map(|rate| f64::from(rate) / 1e6));
            judge(&mut named, &tally.decisions, app);
            named
        };
        seen().map(named).collect()
    }
}

/// The row of a class.
fn class_row(tally: &ClassTally) -> NamedClass {
    NamedClass {
        name: tally.name.clone(),
        block_bytes: tally.block_bytes,
        counts: Counts::of(&tally.counters, true),
        read_accesses: Some(tally.read_accesses),
        write_backs: tally.write_backs,
        bytes_read: tally.blocks_read * tally.block_bytes,
        bytes_written: tally.write_backs * tally.block_bytes,
    }
}

/// Notes how the divisions found the promise of an application. A promise that was met has no time of its first miss.
fn judge(named: &mut AppCounts, decisions: &[Repartition], app: usize) {
    let (Some(first), Some(last)) = (decisions.first(), decisions.last()) else { return };
    let Some(promise) = last.targets.iter().find(|promise| promise.app as usize == app) else { return };
    named.needs_blocks = promise.needs;
    if let Some((time, clock)) = promise.below_since.filter(|_| named.promise_met == Some(false)) {
        let passed = clock.saturating_sub(first.clock);
        named.missed_since_seconds = (passed > 0).then_some(seconds(passed));
        named.missed_since_references = (passed == 0).then_some(time - first.time);
    }
}
