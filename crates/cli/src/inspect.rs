//! `hotset inspect`: what is in a trace.

mod page;

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use hotset_sim::inspect::{Inspection, inspect};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::files;
use crate::progress::Reading;
use crate::traces::{CutArgs, OneTrace, ReadArgs, say_remarks};

/// Tell what is in a trace: footprint, operations, applications, sizes, sequences, reuse distances, hottest files
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset inspect app.hst
  hotset inspect OLTP.lis.zst --block 4K
  zstdcat big.csv.zst | hotset inspect - --format csv --json -")]
pub(crate) struct Inspect {
    #[command(flatten)]
    trace: OneTrace,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    cut: CutArgs,
    /// Write everything as one JSON object; `-` is standard output, then without the page
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    json: Option<PathBuf>,
}

/// The JSON object.
#[derive(Serialize)]
struct Named<'a> {
    version: u32,
    trace: &'a str,
    #[serde(flatten)]
    inspection: &'a Inspection,
}

impl Inspect {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let trace = self.read.open(&self.trace.path)?;
        let name = self.trace.path.display().to_string();
        let mut reader = trace.reader;
        let inspection = {
            let progress = Reading::new(&name, &trace.progress);
            inspect(reader.as_mut(), &self.cut.options(), &progress)?
        };
        say_remarks(&name, reader.as_ref())?;
        if let Some(path) = &self.json {
            let version = hotset_sim::results::SCHEMA_VERSION;
            files::write_json(path, &[Named { version, trace: &name, inspection: &inspection }])?;
        }
        if self.json.as_deref() != Some(Path::new("-")) {
            page::write(&mut stdout().lock(), &name, &inspection)?;
            stdout().flush()?;
        }
        Ok(())
    }
}
