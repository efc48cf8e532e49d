//! The columns of files of results, which are also the first ones of a Parquet file.

use hotset_sim::sweep::Rows;

/// The columns of such rows.
pub fn columns(rows: &Rows) -> &'static [&'static str] {
    match rows {
        Rows::Cache(_) => &CACHE_COLUMNS,
        Rows::Memory(_) => &PAGING_COLUMNS,
    }
}

/// Of results of caches.
pub const CACHE_COLUMNS: [&str; 38] = [
    "version",
    "trace",
    "policy",
    "size_blocks",
    "size_bytes",
    "block_bytes",
    "seed",
    "filter",
    "warmup",
    "count_only",
    "maps",
    "references",
    "hits",
    "misses",
    "hit_ratio",
    "read_references",
    "read_hits",
    "read_hit_ratio",
    "repeats",
    "repeat_hits",
    "requests",
    "request_misses",
    "read_requests",
    "read_request_misses",
    "write_requests",
    "write_backs",
    "extra_reads",
    "allocation_reads",
    "fragment_reads",
    "fragment_push_outs",
    "prefetch_reads",
    "disk_accesses",
    "bytes_read",
    "bytes_written",
    "distinct_blocks",
    "finish_seconds",
    "disk_busy_seconds",
    "mean_service_ms",
];

/// Of results of paging.
pub const PAGING_COLUMNS: [&str; 19] = [
    "version",
    "trace",
    "policy",
    "size_blocks",
    "size_bytes",
    "block_bytes",
    "seed",
    "references",
    "hits",
    "misses",
    "hit_ratio",
    "write_backs",
    "distinct_blocks",
    "faults_after_fill",
    "faults_per_million_references",
    "faults_per_million_instructions",
    "refaults",
    "refault_distance",
    "refault_distance_to_clock",
];

/// Of points of curves.
pub const CURVE_COLUMNS: [&str; 20] = [
    "version",
    "trace",
    "policy",
    "size_blocks",
    "size_bytes",
    "block_bytes",
    "seed",
    "filter",
    "warmup",
    "count_only",
    "maps",
    "references",
    "hits",
    "misses",
    "hit_ratio",
    "distinct_blocks",
    "sampling_rate",
    "sampled_blocks",
    "resolution_blocks",
    "expected_error",
];
