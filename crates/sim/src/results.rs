//! Rows of a results file: one a cell, self-contained (DESIGN section 6).

use std::borrow::Cow;

use hotset_core::policy::{Explained, PartRoom, Repartition};
use hotset_core::spec::ObjectSize;
use serde::{Deserialize, Serialize};

use crate::clock::{AppTimes, Every, IntervalSample, Point};
use crate::engine::{ClassTally, Tally};
use crate::expand::options::Options;
use crate::select::{Filter, Selection};
use hotset_core::counters::Counters;

/// Version of the row's schema; a reader refuses what it does not know. Version 2 added reads at block level, repeats
/// and what was chosen of the trace to version 1.
pub const SCHEMA_VERSION: u32 = 2;

/// One cell: trace, policy, size and what was counted. A field that does not apply is absent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Version of the schema, [`SCHEMA_VERSION`].
    pub version: u32,
    /// The trace as the user named it.
    pub trace: String,
    /// Canonical spec of the policy.
    pub policy: String,
    /// Capacity in blocks; where it is measured in bytes of objects, as many as would fit if all were of average size.
    pub size_blocks: u32,
    /// Capacity in bytes, where blocks have a size or it is measured in bytes of objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Bytes of a block, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<u64>,
    /// Seed of the policy's random numbers.
    pub seed: u64,
    /// Selected requests and the way of counting.
    #[serde(flatten)]
    pub choice: Choice,
    /// The counts over what is counted.
    #[serde(flatten)]
    pub counts: Counts,
    /// References that read the block to which their application referred just before: several reads within one block.
    pub repeats: u64,
    /// Of these, those that found their block.
    pub repeat_hits: u64,
    /// Bytes of the objects referred to; absent where the capacity is not measured in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_bytes: Option<u64>,
    /// The same of those that hit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_bytes_hit: Option<u64>,
    /// The one per the other, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_hit_ratio: Option<f64>,
    /// The hit ratio that no policy exceeds at so many bytes (PFOO-L); absent where the capacity is not measured in
    /// bytes of objects, or the trace was too large to be held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_hit_ratio: Option<f64>,
    /// The same of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_byte_hit_ratio: Option<f64>,
    /// Distinct blocks of what the cache saw; absent when the trace was too large to number them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinct_blocks: Option<u32>,
    /// Blocks written to storage; absent when the trace does not tell writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_backs: Option<u64>,
    /// Blocks read from storage without a request at that time; absent when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_reads: Option<u64>,
    /// Of these, blocks whose positions in a virtual queue were mapped anew; absent for schemes that map none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation_reads: Option<u64>,
    /// Of these, blocks that slid into a run of mapped positions; absent for schemes that map none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragment_reads: Option<u64>,
    /// Blocks that slid out of a run that is not at the head; absent for schemes that map none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragment_push_outs: Option<u64>,
    /// Blocks read ahead of sequential readers; absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefetch_reads: Option<u64>,
    /// Accesses to storage: reading requests that missed, by pieces of at most their part, and blocks written. Only
    /// for schemes that tell classes apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_accesses: Option<u64>,
    /// Bytes read from storage; only for schemes that tell classes apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_read: Option<u64>,
    /// Bytes written to storage; only for schemes that tell classes apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<u64>,
    /// The number of changes of a scheme's partitioning; absent for schemes that do not partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repartitions: Option<u64>,
    /// Seconds from the first request to the end of the last; absent without a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_seconds: Option<f64>,
    /// Seconds in which the disk worked; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_busy_seconds: Option<f64>,
    /// Milliseconds that a request took on average; absent without a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_service_ms: Option<f64>,
    /// Nanoseconds for which a reference kept a processor busy on average, with the keeping of counts; absent unless it
    /// was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_nanoseconds: Option<f64>,
    /// Bytes that the policy takes for each block of the cache once twice as many blocks were referenced, ghosts and
    /// parts for each application included; absent unless requested, and if the system does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_bytes_per_block: Option<f64>,
    /// The same counts for each application; absent when there is only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apps: Vec<AppCounts>,
    /// The counts of each class; absent when the scheme does not tell them apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<NamedClass>,
    /// The learnt state of the policy, the most important first; absent unless requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<Explained>,
}

/// The main metric: the base of hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// References that read.
    #[default]
    Reads,
    /// All references.
    References,
    /// Requests that read: one hits if all its blocks do.
    Requests,
    /// All references, of which the misses are shown.
    Misses,
}

impl Metric {
    /// The shown value for this share of hits, 0 to 1.
    pub fn shown(self, hits: f64) -> f64 {
        if self == Metric::Misses { 1.0 - hits } else { hits }
    }
}

/// How many there were, and how many of them hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Those that hit.
    pub hits: u64,
    /// All.
    pub of: u64,
}

impl Share {
    /// Those that missed.
    pub fn misses(self) -> u64 {
        self.of - self.hits
    }

    /// Hits per one, 0 to 1; 0 without any.
    pub fn ratio(self) -> f64 {
        if self.of == 0 { 0.0 } else { self.hits as f64 / self.of as f64 }
    }
}

impl Row {
    /// What hits, by `metric`.
    pub fn share(&self, metric: Metric) -> Share {
        let Counts { references, hits, read_references, read_hits, read_requests, read_request_misses, .. } =
            self.counts;
        match metric {
            Metric::Reads => Share { hits: read_hits, of: read_references },
            Metric::References | Metric::Misses => Share { hits, of: references },
            Metric::Requests => Share { hits: read_requests - read_request_misses, of: read_requests },
        }
    }

    /// The same without repeats, which would make any cache of a block look good. Requests are what they are.
    pub fn fresh(&self, metric: Metric) -> Share {
        let Share { hits, of } = self.share(metric);
        match metric {
            Metric::Reads | Metric::References | Metric::Misses => {
                Share { hits: hits - self.repeat_hits, of: of - self.repeats }
            }
            Metric::Requests => Share { hits, of },
        }
    }

    /// The share that a table of `metric` shows, 0 to 1: of hits, or of misses.
    pub fn ratio(&self, metric: Metric) -> f64 {
        metric.shown(self.share(metric).ratio())
    }

    /// True if some request writes, so that reads are not all there is.
    pub fn has_writes(&self) -> bool {
        self.counts.read_references < self.counts.references
    }
}

/// The selection of a trace, as it is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Choice {
    /// Name of the format that the trace was read in; empty where results are read from a file.
    #[serde(skip)]
    pub format: &'static str,
    /// Requests that the cache saw; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// The beginning that filled the cache and is not counted; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<String>,
    /// Requests that are counted, of those that the cache saw; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count_only: Option<String>,
    /// Mapped file ranges that count as reads: `all`, `touched` (those of which the recording tells that they were) or
    /// `none`; absent when the trace does not tell operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maps: Option<Cow<'static, str>>,
    /// What became of blocks of files that were deleted or cut, in schemes that do not see inodes: `apply` if they left
    /// at once, or `ignore`; absent when the trace does not tell operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletes: Option<Cow<'static, str>>,
    /// `ignore` if times to live were ignored; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Cow<'static, str>>,
}

/// All of a trace that does not tell operations.
impl Default for Choice {
    fn default() -> Choice {
        Choice::new(&Selection::default(), &Options::default(), false)
    }
}

impl Choice {
    /// The selection of a trace, which has operations or not.
    pub fn new(selection: &Selection, options: &Options, has_ops: bool) -> Choice {
        let told = |filter: &Filter| (!filter.is_everything()).then(|| filter.to_string());
        Choice {
            format: "",
            filter: told(&selection.only),
            warmup: selection.warmup.map(|warmup| warmup.to_string()),
            count_only: told(&selection.count_only),
            maps: has_ops.then_some(Cow::Borrowed(options.maps.name())),
            deletes: has_ops.then_some(Cow::Borrowed(if options.deletes.apply() { "apply" } else { "ignore" })),
            ttl: (!options.ttl.apply()).then_some(Cow::Borrowed("ignore")),
        }
    }
}

/// The counts of a class.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NamedClass {
    /// Its name.
    pub name: String,
    /// Bytes of its blocks.
    pub block_bytes: u64,
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// Reading accesses to storage: a request that misses is as many as it has pieces with a miss. Absent in rows of
    /// earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_accesses: Option<u64>,
    /// Its blocks written to storage.
    pub write_backs: u64,
    /// Bytes read from storage.
    pub bytes_read: u64,
    /// Bytes written to storage.
    pub bytes_written: u64,
}

impl NamedClass {
    fn new(tally: &ClassTally) -> NamedClass {
        NamedClass {
            name: tally.name.clone(),
            block_bytes: tally.block_bytes,
            counts: Counts::new(&tally.counters, true),
            read_accesses: Some(tally.read_accesses),
            write_backs: tally.write_backs,
            bytes_read: tally.blocks_read * tally.block_bytes,
            bytes_written: tally.write_backs * tally.block_bytes,
        }
    }
}

/// The counts of an application.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AppCounts {
    /// Its name.
    pub name: String,
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// Blocks that it may have resident after the last division; absent for schemes that do not divide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_blocks: Option<u32>,
    /// Seconds from the first request of all to the end of its last; absent without a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_seconds: Option<f64>,
    /// Milliseconds that one of its requests took on average; absent without a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_service_ms: Option<f64>,
    /// Its promise could not be kept at the last partitioning; absent for schemes that do not partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flagged: Option<bool>,
    /// Hits per reference that it was promised; absent if it was promised nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promised: Option<f64>,
    /// True if `hit_ratio` reached that; absent if it was promised nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promise_met: Option<bool>,
    /// Blocks with which the promise was taken to be kept at the last division, of which `room_blocks` is what it had;
    /// absent if it was promised nothing, or no size was known to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_blocks: Option<u32>,
    /// Seconds since the first reference from which on every division found less reached than promised; absent if the
    /// promise was met, the last division found it met, or the trace has no times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_since_seconds: Option<f64>,
    /// The same in references of all applications; absent where the trace has times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_since_references: Option<u64>,
}

impl AppCounts {
    /// Notes that it was promised so many hits per reference, or nothing.
    pub fn promise(&mut self, promised: Option<f64>) {
        self.promised = promised;
        self.promise_met = promised.map(|rate| self.counts.hit_ratio >= rate);
    }

    /// Notes how the divisions found that promise. Those that it met are not asked since when they miss it.
    fn judge(&mut self, decisions: &[Repartition], app: usize) {
        let (Some(first), Some(last)) = (decisions.first(), decisions.last()) else { return };
        let Some(promise) = last.targets.iter().find(|promise| promise.app as usize == app) else { return };
        self.needs_blocks = promise.needs;
        if let Some((time, clock)) = promise.below_since.filter(|_| self.promise_met == Some(false)) {
            let passed = clock.saturating_sub(first.clock);
            self.missed_since_seconds = (passed > 0).then_some(seconds(passed));
            self.missed_since_references = (passed == 0).then_some(time - first.time);
        }
    }
}

/// [`Counters`] as they are written.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Counts {
    /// Blocks referenced.
    pub references: u64,
    /// References that found their block.
    pub hits: u64,
    /// References that did not.
    pub misses: u64,
    /// Hits per reference, reads and writes.
    pub hit_ratio: f64,
    /// Misses per reference, reads and writes.
    #[serde(default)]
    pub miss_ratio: f64,
    /// Of the references, those that read.
    pub read_references: u64,
    /// Of these, those that found their block.
    pub read_hits: u64,
    /// Read hits per reading reference; 0 without any.
    pub read_hit_ratio: f64,
    /// Requests that touch at least one block.
    pub requests: u64,
    /// Requests with at least one miss.
    pub request_misses: u64,
    /// Requests that read.
    pub read_requests: u64,
    /// Reading requests with at least one miss.
    pub read_request_misses: u64,
    /// Requests that write; absent when the trace does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_requests: Option<u64>,
}

impl Counts {
    fn new(counters: &Counters, has_ops: bool) -> Counts {
        Counts {
            references: counters.references,
            hits: counters.hits,
            misses: counters.misses(),
            hit_ratio: counters.hit_ratio(),
            miss_ratio: if counters.references == 0 { 0.0 } else { 1.0 - counters.hit_ratio() },
            read_references: counters.read_references,
            read_hits: counters.read_hits,
            read_hit_ratio: counters.read_hit_ratio(),
            requests: counters.requests,
            request_misses: counters.request_misses,
            read_requests: counters.read_requests,
            read_request_misses: counters.read_request_misses,
            write_requests: has_ops.then_some(counters.write_requests),
        }
    }
}

/// One application in one interval of time. Intervals without a reference are left out.
#[derive(Clone, Debug, Serialize)]
pub struct SeriesRow {
    /// Version of this schema.
    pub version: u32,
    /// `series`, which tells these rows from others.
    pub kind: &'static str,
    /// The trace as the user named it.
    pub trace: String,
    /// The scheme.
    pub policy: String,
    /// Blocks of the cache.
    pub size_blocks: u32,
    /// The end of the stretch in seconds since the first request; absent where stretches are counted in references.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_seconds: Option<f64>,
    /// The end of the stretch in references; absent where stretches are times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_references: Option<u64>,
    /// The application.
    pub app: String,
    /// Its references in the stretch.
    pub references: u64,
    /// Those that hit.
    pub hits: u64,
    /// Blocks in memory at the end that were read for it.
    pub resident_blocks: u32,
    /// Blocks that it may have at the end; absent for schemes that do not divide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_blocks: Option<u32>,
    /// Its promise could not be kept; absent for schemes that do not partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flagged: Option<bool>,
    /// Divisions of the cache in the stretch that changed something.
    pub repartitions: u64,
    /// Blocks of its virtual queue; absent for schemes without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_blocks: Option<u64>,
    /// Values of 64 bands of the queue, of equal length, from the head on, at the end of its last quantum: hits there,
    /// faded (heat map).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queue_values: Vec<f64>,
    /// Its table: blocks, and its hits per reference with so many, as they were known when the room was divided last;
    /// absent for schemes that keep none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub table: Vec<(u32, f64)>,
}

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
    pub distinct: Option<u32>,
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

    /// The row of one cell, in which a cache of `size` was replayed.
    pub fn row(&self, policy: String, size: ObjectSize, seed: u64, tally: &Tally) -> Row {
        let size_blocks = self.whole(size.objects);
        let bytes = size.bytes.map(|bytes| self.sample.map_or(bytes, |share| (bytes as f64 / share).round() as u64));
        let seen = tally.classes.iter().filter(|class| class.counters.references > 0);
        let classes: Vec<NamedClass> = seen.map(NamedClass::new).collect();
        let times = tally.times.as_ref();
        let of_runs = |count: u64| tally.extra.maps().then_some(count);
        let of_classes = |count: u64| (!tally.classes.is_empty()).then_some(count);
        Row {
            version: SCHEMA_VERSION,
            trace: self.name.clone(),
            policy,
            size_blocks,
            size_bytes: bytes.or(self.block_bytes.map(|block| block * u64::from(size_blocks))),
            block_bytes: self.block_bytes,
            seed,
            choice: self.choice.clone(),
            counts: Counts::new(&tally.total, self.has_ops),
            repeats: tally.repeats.references,
            repeat_hits: tally.repeats.hits,
            object_bytes: bytes.map(|_| tally.bytes.all),
            object_bytes_hit: bytes.map(|_| tally.bytes.hit),
            byte_hit_ratio: bytes.map(|_| tally.bytes.hit as f64 / tally.bytes.all.max(1) as f64),
            bound_hit_ratio: None,
            bound_byte_hit_ratio: None,
            distinct_blocks: self.distinct,
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
            reference_nanoseconds: None,
            policy_bytes_per_block: None,
            apps: self.app_rows(tally),
            classes,
            explained: Vec::new(),
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
            version: SCHEMA_VERSION,
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
                counts: Counts::new(counters, self.has_ops),
                room_blocks: part.map(|part| part.blocks),
                flagged: part.map(|part| part.is_infeasible),
                promised: None,
                promise_met: None,
                needs_blocks: None,
                missed_since_seconds: None,
                missed_since_references: None,
                finish_seconds: times.map(|times| seconds(times.finish)),
                mean_service_ms: times.map(|times| mean_ms(std::slice::from_ref(times))),
            };
            named.promise(part.and_then(|part| part.target).map(|rate| f64::from(rate) / 1e6));
            named.judge(&tally.decisions, app);
            named
        };
        seen().map(named).collect()
    }
}
