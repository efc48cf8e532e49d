//! Results for programs: where a command writes its rows, and how they are read again (docs/reference/results.md).

pub(crate) mod read;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

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
}

impl ResultArgs {
    /// True if standard output is for programs.
    pub(crate) fn has_stdout(&self) -> bool {
        [&self.json, &self.csv].into_iter().flatten().any(|path| path == Path::new("-"))
    }

    /// True if a CSV file is wanted, whose columns must be the same for all rows.
    pub(crate) fn has_csv(&self) -> bool {
        self.csv.is_some()
    }

    /// Writes rows where the user wants them; a CSV file has these columns.
    pub(crate) fn write<T: Serialize>(&self, columns: &[&str], rows: &[T]) -> Result<(), Failure> {
        if let Some(path) = &self.json {
            files::write_json(path, rows)?;
        }
        if let Some(path) = &self.csv {
            files::write_csv(path, columns, rows)?;
        }
        Ok(())
    }
}
