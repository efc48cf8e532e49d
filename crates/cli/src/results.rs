//! Results for programs: where a command writes its rows (docs/reference/results.md).

use std::fs::File;
use std::io::{self, BufWriter, Write, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use hotset_results::{ReadError, write_csv, write_json, write_parquet};
use serde::Serialize;

use crate::failure::Failure;

/// Where the rows of simulations go.
#[derive(Args)]
pub(crate) struct ResultArgs {
    /// Write results as JSON Lines, one object per row; `-` writes to standard output instead of tables
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,
    /// Write results as CSV; `-` writes to standard output instead of tables
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    csv: Option<PathBuf>,
    /// Write results as Parquet; `-` writes to standard output instead of tables
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    parquet: Option<PathBuf>,
}

impl ResultArgs {
    /// Makes sure that no two kinds of results go to standard output, where nobody could tell them apart. `series` is
    /// where series over time go.
    pub(crate) fn check(&self, series: Option<&Path>) -> Result<(), Failure> {
        let [json, csv, parquet] = [&self.json, &self.csv, &self.parquet].map(Option::as_deref);
        let options = [("--json", json), ("--csv", csv), ("--parquet", parquet), ("--series", series)];
        let mut there = options.iter().filter(|(_, path)| *path == Some(Path::new("-")));
        match (there.next(), there.next()) {
            (Some((one, _)), Some((other, _))) => Err(Failure::Usage(format!(
                "{one} - and {other} - would both write to standard output: expected a file for one of them"
            ))),
            _ => Ok(()),
        }
    }

    /// True if standard output is for programs.
    pub(crate) fn has_stdout(&self) -> bool {
        [&self.json, &self.csv, &self.parquet].into_iter().flatten().any(|path| path == Path::new("-"))
    }

    /// True if results go to a file.
    pub(crate) fn has_files(&self) -> bool {
        [&self.json, &self.csv, &self.parquet].into_iter().flatten().any(|path| path != Path::new("-"))
    }

    /// True if a CSV file is wanted, whose columns must be the same for all rows.
    pub(crate) fn has_csv(&self) -> bool {
        self.csv.is_some()
    }

    /// Writes rows where the user wants them; a CSV file has these columns, a Parquet file has them first.
    pub(crate) fn write<T: Serialize>(&self, columns: &[&str], rows: &[T]) -> Result<(), Failure> {
        if let Some(path) = &self.json {
            write(path, |out| write_json(out, rows))?;
        }
        if let Some(path) = &self.csv {
            write(path, |out| write_csv(out, columns, rows))?;
        }
        if let Some(path) = &self.parquet {
            write(path, |out| write_parquet(out, columns, rows))?;
        }
        Ok(())
    }
}

/// Writes a file; `-` is standard output.
pub(crate) fn write(path: &Path, work: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<(), Failure> {
    let name = path.display();
    let failed = |doing: &str, error: io::Error| Failure::Work(format!("cannot {doing} {name}: {error}"));
    if path == Path::new("-") {
        let mut out = BufWriter::new(stdout());
        return Ok(work(&mut out).and_then(|()| out.flush())?);
    }
    let mut out = BufWriter::new(File::create(path).map_err(|error| failed("create", error))?);
    work(&mut out).and_then(|()| out.flush()).map_err(|error| failed("write", error))
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        Failure::Work(error.to_string())
    }
}
