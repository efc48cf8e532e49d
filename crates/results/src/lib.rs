//! Rows of results: their fields, and how they are written and read as JSON Lines, CSV and Parquet.
//!
//! ```
//! use hotset_results::{Counts, Results, Row, write_json};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("results.jsonl");
//! let row = Row {
//!     trace: "app.hst".to_owned(),
//!     policy: "lru".to_owned(),
//!     size_blocks: 64,
//!     counts: Counts::new(100, 40),
//!     ..Row::default()
//! };
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
mod row;
mod schema;
mod share;
mod write;

pub use columns::COLUMNS;
pub use read::{ReadError, Results, begin};
pub use row::{AppCounts, Choice, Counts, NamedClass, Paging, RequestCounts, Row, Sampling, SeriesRow};
pub use schema::{Column, SCHEMA_VERSION, ValueKind, Version};
pub use share::{Metric, Share};
pub use write::{write_csv, write_json, write_parquet};
