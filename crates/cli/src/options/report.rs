//! The option of every command that writes a report.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use hotset_capture::all_formats;
use hotset_serve::report;
use serde::Serialize;

use crate::failure::Failure;
use crate::options::destination::Destination;

/// The option of every command that writes a report.
#[derive(Args)]
pub(crate) struct ReportArgs {
    /// Write a self-contained HTML report that any browser can open offline
    #[arg(long, value_name = "FILE.html", help_heading = "Output")]
    report: Option<PathBuf>,
}

impl ReportArgs {
    /// True if a page is to be written.
    pub(crate) fn is_asked(&self) -> bool {
        self.report.is_some()
    }

    /// Makes sure, before the work begins, that the page can be written and is none of `inputs`.
    pub(crate) fn prepare(&self, inputs: &[PathBuf]) -> Result<Option<Page>, Failure> {
        let Some(path) = &self.report else { return Ok(None) };
        if path == Path::new("-") {
            let message = "--report -: a page is not written to standard output; expected the name of a file";
            return Err(Failure::Usage(message.to_owned()));
        }
        Ok(Some(Page { destination: Destination::new(path, inputs)?, inputs: inputs.to_vec() }))
    }
}

/// A page to be written.
pub(crate) struct Page {
    destination: Destination,
    inputs: Vec<PathBuf>,
}

impl Page {
    /// Writes the page; `command` is the line that made it.
    pub(crate) fn write(self, command: &str, content: impl Serialize) -> Result<(), Failure> {
        let page = report::page(command, &self.inputs, &all_formats(), content)?;
        self.destination.write(|file, _| Ok(file.write_all(page.as_bytes())?))
    }
}
