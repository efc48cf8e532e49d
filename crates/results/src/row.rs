//! The row of results, one for each trace, policy and size, of blocks, objects or pages.
//!
//! [`Row`] is the only list of fields. `cargo xtask gen` reads this file and writes the table of columns,
//! docs/reference/results.md, and the types of the dashboard and of the Python package.

use std::borrow::Cow;

use hotset_core::counters::Counters;
use hotset_core::policy::Explained;
use serde::{Deserialize, Serialize};

use crate::schema::Version;

/// Trace, policy, size and what was counted. A field that does not apply is absent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Row {
    /// Version of the schema.
    pub version: Version,
    /// The trace as the user named it.
    pub trace: String,
    /// Canonical spec of the policy.
    pub policy: String,
    /// Capacity in blocks, which are pages in a trace of memory; where it is measured in bytes of objects, as many as
    /// would fit if all were of average size.
    pub size_blocks: u64,
    /// Capacity in bytes, where blocks have a size or it is measured in bytes of objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Bytes of a block, where blocks have a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<u64>,
    /// Seed of the policy's random numbers, and of the sample of a curve.
    pub seed: u64,
    /// Selected requests and the way of counting; absent for pages.
    #[serde(flatten)]
    pub choice: Choice,
    /// The counts over what is counted; in a sampled curve hits are an estimate, rounded.
    #[serde(flatten)]
    pub counts: Counts,
    /// References that read the block to which their application referred just before: several reads within one block;
    /// absent in curves and for pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u64>,
    /// Of these, those that found their block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_hits: Option<u64>,
    /// Bytes of the objects referred to; absent where the capacity is not measured in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_bytes: Option<u64>,
    /// The same of those that hit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_bytes_hit: Option<u64>,
    /// The one per the other, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_hit_ratio: Option<f64>,
    /// The hit ratio that no policy exceeds at so many bytes (PFOO-L), in a sampled curve an estimate; absent where the
    /// capacity is not measured in bytes of objects, or the trace was too large to be held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_hit_ratio: Option<f64>,
    /// The same of bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_byte_hit_ratio: Option<f64>,
    /// Distinct blocks of what the cache saw; absent when the trace was too large to number them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinct_blocks: Option<u64>,
    /// Blocks written to storage; absent in curves, and when the trace does not tell writes.
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
    /// Faults, of a trace of memory.
    #[serde(flatten)]
    pub paging: Option<Paging>,
    /// The sample, of a sampled curve.
    #[serde(flatten)]
    pub sampling: Option<Sampling>,
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

/// The selection of a trace, as it is written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// Mapped file ranges that count as reads: `all`, `touched` (those that the recording marks as touched) or
    /// `none`; absent when the trace does not tell operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maps: Option<Cow<'static, str>>,
    /// What became of blocks of files that were deleted or cut, in schemes that do not see inodes: `apply` if they left
    /// at once, or `ignore`; absent when the trace does not tell operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletes: Option<Cow<'static, str>>,
    /// `ignore` if times to live were ignored; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Cow<'static, str>>,
}

/// Hits and misses.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Blocks referenced.
    pub references: u64,
    /// References that found their block.
    pub hits: u64,
    /// References that did not; page faults in a trace of memory.
    pub misses: u64,
    /// Hits per reference, reads and writes.
    pub hit_ratio: f64,
    /// Misses per reference, reads and writes; absent for pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miss_ratio: Option<f64>,
    /// Reads and requests; absent in curves and for pages.
    #[serde(flatten)]
    pub requests: Option<RequestCounts>,
}

/// Counts of reads and requests.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct RequestCounts {
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
    /// Hits of references, without ratios and requests that do not apply.
    pub fn new(references: u64, hits: u64) -> Counts {
        let hit_ratio = if references == 0 { 0.0 } else { hits as f64 / references as f64 };
        Counts { references, hits, misses: references - hits, hit_ratio, miss_ratio: None, requests: None }
    }

    /// The counts of a cache of blocks or objects; a trace with operations tells requests that write.
    pub fn of(counters: &Counters, has_ops: bool) -> Counts {
        let counts = Counts::new(counters.references, counters.hits);
        let requests = RequestCounts {
            read_references: counters.read_references,
            read_hits: counters.read_hits,
            read_hit_ratio: counters.read_hit_ratio(),
            requests: counters.requests,
            request_misses: counters.request_misses,
            read_requests: counters.read_requests,
            read_request_misses: counters.read_request_misses,
            write_requests: has_ops.then_some(counters.write_requests),
        };
        let miss_ratio = if counts.references == 0 { 0.0 } else { 1.0 - counts.hit_ratio };
        Counts { miss_ratio: Some(miss_ratio), requests: Some(requests), ..counts }
    }

    /// Reads and requests; zeros where they do not apply.
    pub fn requests(&self) -> RequestCounts {
        self.requests.unwrap_or_default()
    }
}

/// Faults of a trace of memory.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Paging {
    /// Faults after memory was full for the first time.
    pub faults_after_fill: u64,
    /// These faults per million references made in that time; absent if memory was never full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults_per_million_references: Option<f64>,
    /// These faults per million instructions executed in that time; absent where instructions were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults_per_million_instructions: Option<f64>,
    /// Faults on pages that had been evicted.
    pub refaults: u64,
    /// References between the eviction of a page and the fault on it, on average; absent without such faults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refault_distance: Option<f64>,
    /// That distance by the one of `clock` with as much memory; absent where that was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refault_distance_to_clock: Option<f64>,
}

/// How an estimate was made.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Sampling {
    /// Share of the blocks.
    pub sampling_rate: f64,
    /// Blocks in the sample.
    pub sampled_blocks: u64,
    /// The least size, in blocks, about which the sample says anything.
    pub resolution_blocks: u64,
    /// Mean absolute error of the hit ratio to be expected; absent if the sample cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_error: Option<f64>,
}

/// The counts of an application.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// version 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_accesses: Option<u64>,
    /// Its blocks written to storage.
    pub write_backs: u64,
    /// Bytes read from storage.
    pub bytes_read: u64,
    /// Bytes written to storage.
    pub bytes_written: u64,
}

/// One application in one interval of time. Intervals without a reference are left out.
#[derive(Clone, Debug, Serialize)]
pub struct SeriesRow {
    /// Version of the schema.
    pub version: Version,
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
