//! Results for programs: where a command writes its rows (docs/reference/results.md).

use std::io::{self, BufWriter, Write, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use hotset_results::{Column, ReadError, write_csv, write_json, write_parquet};
use serde::Serialize;

use crate::failure::Failure;
use crate::options::destination::Destination;

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
    /// Makes sure that each file can be written and is none of `inputs`, and that no two kinds of results go to one
    /// place. `series` is where series over time go.
    pub(crate) fn check(&self, series: Option<&Path>, inputs: &[PathBuf]) -> Result<(), Failure> {
        let [json, csv, parquet] = [&self.json, &self.csv, &self.parquet].map(Option::as_deref);
        Failure::unless(cfg!(feature = "parquet") || parquet.is_none(), "Parquet", "parquet")?;
        let options = [("--json", json), ("--csv", csv), ("--parquet", parquet), ("--series", series)];
        for (at, (other, path)) in options.iter().enumerate() {
            let Some(path) = path else { continue };
            if let Some((one, _)) = options[..at].iter().find(|(_, before)| *before == Some(path)) {
                let (place, remedy) = match *path == Path::new("-") {
                    true => ("standard output".to_owned(), "a file for one of them"),
                    false => (path.display().to_string(), "two files"),
                };
                return Err(Failure::Usage(format!(
                    "{one} {0} and {other} {0} would both write to {place}: expected {remedy}",
                    path.display()
                )));
            }
            check(path, inputs)?;
        }
        Ok(())
    }

    /// True if standard output is for programs.
    pub(crate) fn has_stdout(&self) -> bool {
        [&self.json, &self.csv, &self.parquet].into_iter().flatten().any(|path| path == Path::new("-"))
    }

    /// True if results go to a file.
    pub(crate) fn has_files(&self) -> bool {
        [&self.json, &self.csv, &self.parquet].into_iter().flatten().any(|path| path != Path::new("-"))
    }

    /// Writes rows where the user wants them; a CSV file has these columns, a Parquet file has them first.
    pub(crate) fn write<T: Serialize>(&self, columns: &[Column], rows: &[T]) -> Result<(), Failure> {
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

/// Makes sure that `path` can be written and is none of `inputs`; `-` is standard output.
pub(crate) fn check(path: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    if path == Path::new("-") { Ok(()) } else { Destination::new(path, inputs).map(drop) }
}

/// Writes a file, as a whole or not at all; `-` is standard output.
pub(crate) fn write(path: &Path, work: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<(), Failure> {
    if path == Path::new("-") {
        let mut out = BufWriter::new(stdout());
        return Ok(work(&mut out).and_then(|()| out.flush())?);
    }
    Destination::new(path, &[])?.write(|file, path| {
        let mut out = BufWriter::new(file);
        let written = work(&mut out).and_then(|()| out.flush());
        written.map_err(|error| Failure::Work(format!("cannot write {}: {error}", path.display())))
    })
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        Failure::Work(error.to_string())
    }
}
