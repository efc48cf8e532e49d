//! Measures of an experiment: a figure of a row, and which direction is better.

use hotset_results::{AppCounts, Counts, Row};
use serde::{Deserialize, Serialize};

/// The measure.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Hits per reference: more is better.
    #[default]
    HitRatio,
    /// Missed reading requests per reading request.
    ReadRequestMissRatio,
    /// Reading requests that miss; where a scheme tells classes apart, in pieces of at most its size, so that these and
    /// [`Measure::WriteBacks`] make [`Measure::DiskAccesses`].
    ReadRequestMisses,
    /// Missed requests per request, reads and writes.
    RequestMissRatio,
    /// Blocks written to storage.
    WriteBacks,
    /// Blocks written to storage per writing request.
    WriteBackRatio,
    /// Accesses to storage, reads and writes.
    DiskAccesses,
    /// Bytes read from storage.
    BytesRead,
    /// Blocks that move between cache and storage per reference: misses, blocks read without a request, blocks written
    /// back.
    TransfersPerReference,
    /// Applications that hit what they were promised: more is better.
    PromisesKept,
    /// With a store: seconds from the first request to the end of the last.
    FinishSeconds,
    /// With a store: milliseconds that a request takes.
    ServiceMilliseconds,
    /// With a store: how much of the time it works.
    DiskUse,
    /// Of traces of memory: faults after memory first filled, per million references made since.
    FaultsPerMillionReferences,
    /// Of traces of memory: the same per million instructions.
    FaultsPerMillionInstructions,
    /// Of traces of memory: the mean distance from an eviction to the fault on the page, by that of CLOCK: more is
    /// better.
    RefaultDistanceToClock,
}

impl Measure {
    /// Its name over a table.
    pub fn title(self) -> &'static str {
        match self {
            Measure::HitRatio => "hit ratio in %",
            Measure::ReadRequestMissRatio => "missed read requests in %",
            Measure::ReadRequestMisses => "missed read requests",
            Measure::RequestMissRatio => "missed requests in %",
            Measure::WriteBacks => "blocks written back",
            Measure::WriteBackRatio => "blocks written back per 100 write requests",
            Measure::DiskAccesses => "accesses to storage",
            Measure::BytesRead => "bytes read from storage",
            Measure::TransfersPerReference => "blocks moved per 100 references",
            Measure::PromisesKept => "promises kept",
            Measure::FinishSeconds => "seconds until the end",
            Measure::ServiceMilliseconds => "milliseconds a request",
            Measure::DiskUse => "use of the disk in %",
            Measure::FaultsPerMillionReferences => "faults per million references after memory first filled",
            Measure::FaultsPerMillionInstructions => "faults per million instructions after memory first filled",
            Measure::RefaultDistanceToClock => "mean refault distance by that of CLOCK",
        }
    }

    /// True if it is measured on traces of memory, with policies that run there.
    pub fn is_of_memory(self) -> bool {
        use Measure::{FaultsPerMillionInstructions, FaultsPerMillionReferences, RefaultDistanceToClock};
        matches!(self, FaultsPerMillionReferences | FaultsPerMillionInstructions | RefaultDistanceToClock)
    }

    /// Its value on a row, for these classes together if there are any; `None` if the row does not have it.
    pub fn of(self, row: &Row, classes: &[String]) -> Option<f64> {
        let paging = row.paging.unwrap_or_default();
        match self {
            Measure::PromisesKept => {
                let is_kept = |app: &&AppCounts| app.promise_met == Some(true);
                Some(row.apps.iter().filter(is_kept).count() as f64)
            }
            Measure::FaultsPerMillionReferences => paging.faults_per_million_references,
            Measure::FaultsPerMillionInstructions => paging.faults_per_million_instructions,
            Measure::RefaultDistanceToClock => paging.refault_distance_to_clock,
            _ if classes.is_empty() => self.of_cache(&Sums::of(row)),
            _ => self.of_cache(&Sums::of_classes(row, classes)?),
        }
    }

    /// Its value of an application alone; `None` where the row does not tell applications apart, or not this measure of
    /// them.
    pub fn of_app(self, row: &Row, app: &str) -> Option<f64> {
        let named = row.apps.iter().find(|named| named.name == app)?;
        match self {
            Measure::HitRatio | Measure::ReadRequestMissRatio | Measure::ReadRequestMisses => {
                self.of_cache(&Sums::of_counts(&named.counts))
            }
            Measure::FinishSeconds => named.finish_seconds,
            Measure::ServiceMilliseconds => named.mean_service_ms,
            _ => None,
        }
    }

    /// The parts of [`Measure::TransfersPerReference`] on a row, each including those before it; the last is the whole.
    pub fn stack(row: &Row) -> Vec<(&'static str, f64)> {
        let (allocation, fragments) = (row.allocation_reads.unwrap_or(0), row.fragment_reads.unwrap_or(0));
        let others = row.extra_reads.unwrap_or(0) - allocation - fragments;
        let parts = [
            ("misses", row.counts.misses),
            ("+ allocation", allocation),
            ("+ fragments", fragments),
            ("+ read ahead", others),
            ("+ written back", row.write_backs.unwrap_or(0)),
        ];
        let mut sum = 0;
        let stacked = parts.into_iter().map(|(name, blocks)| {
            sum += blocks;
            (name, sum as f64 / row.counts.references.max(1) as f64)
        });
        stacked.collect()
    }

    fn of_cache(self, sums: &Sums) -> Option<f64> {
        let ratio = |part: u64, whole: u64| Some(part as f64 / whole.max(1) as f64);
        match self {
            Measure::HitRatio => ratio(sums.hits, sums.references),
            Measure::ReadRequestMissRatio => ratio(sums.read_request_misses, sums.read_requests),
            Measure::RequestMissRatio => ratio(sums.request_misses, sums.requests),
            Measure::ReadRequestMisses => Some(sums.read_accesses as f64),
            Measure::WriteBacks => Some(sums.write_backs as f64),
            Measure::WriteBackRatio => ratio(sums.write_backs, sums.write_requests),
            Measure::DiskAccesses => Some(sums.disk_accesses as f64),
            Measure::BytesRead => Some(sums.bytes_read as f64),
            Measure::TransfersPerReference => ratio(sums.transfers, sums.references),
            Measure::FinishSeconds => sums.finish_seconds,
            Measure::ServiceMilliseconds => sums.service_ms,
            Measure::DiskUse => Some(sums.busy_seconds? / sums.finish_seconds?),
            _ => None,
        }
    }

    /// How much better `ours` is than `other`: points for the hit ratio, percent more for a distance, percent less for
    /// what costs.
    pub fn gain(self, ours: f64, other: f64) -> f64 {
        match self {
            Measure::HitRatio => (ours - other) * 100.0,
            Measure::PromisesKept => ours - other,
            _ if other == 0.0 => 0.0,
            Measure::RefaultDistanceToClock => (ours - other) / other * 100.0,
            _ => (other - ours) / other * 100.0,
        }
    }

    /// The unit of [`Measure::gain`].
    pub fn unit(self) -> &'static str {
        match self {
            Measure::HitRatio => "points",
            Measure::PromisesKept => "promises",
            Measure::RefaultDistanceToClock => "% more",
            _ => "% less",
        }
    }
}

/// The counts of a whole cache, or of some classes.
#[derive(Default)]
struct Sums {
    references: u64,
    hits: u64,
    requests: u64,
    request_misses: u64,
    read_requests: u64,
    read_request_misses: u64,
    read_accesses: u64,
    write_requests: u64,
    write_backs: u64,
    disk_accesses: u64,
    bytes_read: u64,
    transfers: u64,
    finish_seconds: Option<f64>,
    busy_seconds: Option<f64>,
    service_ms: Option<f64>,
}

impl Sums {
    fn of(row: &Row) -> Sums {
        let counts = &row.counts;
        let write_backs = row.write_backs.unwrap_or(0);
        let disk_accesses = row.disk_accesses.unwrap_or(counts.requests().read_request_misses + write_backs);
        Sums {
            write_backs,
            read_accesses: disk_accesses - write_backs,
            disk_accesses,
            bytes_read: row.bytes_read.unwrap_or(counts.misses * row.block_bytes.unwrap_or(1)),
            transfers: counts.misses + row.extra_reads.unwrap_or(0) + write_backs,
            finish_seconds: row.finish_seconds,
            busy_seconds: row.disk_busy_seconds,
            service_ms: row.mean_service_ms,
            ..Sums::of_counts(counts)
        }
    }

    /// `None` if the row has none of these classes. A class that occurs in no reference adds nothing.
    fn of_classes(row: &Row, classes: &[String]) -> Option<Sums> {
        let named = row.classes.iter().filter(|class| classes.contains(&class.name));
        let sums = named.map(|class| {
            let read_accesses = class.read_accesses.unwrap_or(class.counts.requests().read_request_misses);
            Sums {
                write_backs: class.write_backs,
                read_accesses,
                disk_accesses: read_accesses + class.write_backs,
                bytes_read: class.bytes_read,
                ..Sums::of_counts(&class.counts)
            }
        });
        sums.reduce(|one, other| Sums {
            references: one.references + other.references,
            hits: one.hits + other.hits,
            requests: one.requests + other.requests,
            request_misses: one.request_misses + other.request_misses,
            read_requests: one.read_requests + other.read_requests,
            read_request_misses: one.read_request_misses + other.read_request_misses,
            read_accesses: one.read_accesses + other.read_accesses,
            write_requests: one.write_requests + other.write_requests,
            write_backs: one.write_backs + other.write_backs,
            disk_accesses: one.disk_accesses + other.disk_accesses,
            bytes_read: one.bytes_read + other.bytes_read,
            ..Sums::default()
        })
    }

    fn of_counts(counts: &Counts) -> Sums {
        let of_requests = counts.requests();
        Sums {
            references: counts.references,
            hits: counts.hits,
            requests: of_requests.requests,
            request_misses: of_requests.request_misses,
            read_requests: of_requests.read_requests,
            read_request_misses: of_requests.read_request_misses,
            read_accesses: of_requests.read_request_misses,
            write_requests: of_requests.write_requests.unwrap_or(0),
            ..Sums::default()
        }
    }
}
