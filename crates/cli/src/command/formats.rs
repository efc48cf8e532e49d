//! `hotset formats`: what traces can be read.

use std::io::{Write, stdout};

use clap::Args;
use hotset_capture::all_formats;

use crate::failure::Failure;
use crate::output::table;

/// List the supported trace formats, each with an example
#[derive(Args)]
pub(crate) struct Formats {}

impl Formats {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut table = table::plain(&["format", "what", "example"]);
        for format in all_formats() {
            table.add_row([format.name, format.summary, format.example]);
        }
        writeln!(stdout(), "{table}")?;
        Ok(())
    }
}
