//! Results for programs: where a command writes its rows (JSON Lines, CSV, Parquet), and how they are read again
//! (docs/reference/results.md).

mod parquet;
pub(crate) mod read;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::output::files;

/// Where the rows of simulations go.
#[derive(Args)]
pub(crate) struct ResultArgs {
    /// Write results as JSON Lines, one object a row; `-` is standard output, then without tables
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    json: Option<PathBuf>,
    /// Write results as CSV; `-` is standard output, then without tables
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    csv: Option<PathBuf>,
    /// Write results as Parquet; `-` is standard output, then without tables
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    parquet: Option<PathBuf>,
}

impl ResultArgs {
    /// True if standard output is for programs.
    pub(crate) fn has_stdout(&self) -> bool {
        [&self.json, &self.csv, &self.parquet].into_iter().flatten().any(|path| path == Path::new("-"))
    }

    /// True if a CSV file is wanted, whose columns must be the same for all rows.
    pub(crate) fn has_csv(&self) -> bool {
        self.csv.is_some()
    }

    /// Writes rows where the user wants them; a CSV file has these columns, a Parquet file has them first.
    pub(crate) fn write<T: Serialize>(&self, columns: &[&str], rows: &[T]) -> Result<(), Failure> {
        if let Some(path) = &self.json {
            files::write_json(path, rows)?;
        }
        if let Some(path) = &self.csv {
            files::write_csv(path, columns, rows)?;
        }
        if let Some(path) = &self.parquet {
            let rows = rows.iter().map(serde_json::to_value).collect::<Result<Vec<Value>, _>>()?;
            let cannot = |error| Failure::Work(format!("cannot write {}: {error}", path.display()));
            parquet::write(files::create(path)?, columns, &rows).map_err(cannot)?;
        }
        Ok(())
    }
}
