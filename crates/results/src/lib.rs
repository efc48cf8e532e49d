//! Rows of results as files: JSON Lines, CSV and Parquet, written and read again.
//!
//! ```
//! use hotset_results::{Results, write_json};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("results.jsonl");
//! let row = serde_json::json!({
//!     "version": 2, "trace": "app.hst", "policy": "lru", "size_blocks": 64,
//!     "references": 100, "hits": 40, "misses": 60, "hit_ratio": 0.4,
//! });
//! write_json(std::fs::File::create(&path)?, &[row])?;
//!
//! let mut results = Results::default();
//! results.add(&path)?;
//! assert_eq!(results.rows[0]["hits"], 40);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod columns;
#[cfg_attr(not(feature = "parquet"), path = "absent.rs")]
mod parquet;
mod read;
mod write;

pub use columns::{CACHE_COLUMNS, CURVE_COLUMNS, PAGING_COLUMNS};
pub use read::{ReadError, Results, begin};
pub use write::{write_csv, write_json, write_parquet};
