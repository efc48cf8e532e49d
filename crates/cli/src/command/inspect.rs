//! `hotset inspect`: the content of a trace.

mod page;

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use hotset_results::Choice;
use hotset_results::write_json;
use hotset_sim::inspect::{self, By, Pattern, Ranking, Told};
use hotset_sim::{Options, Ttl};
use serde::Serialize;

use crate::failure::Failure;
use crate::options::progress::Reading;
use crate::options::report::ReportArgs;
use crate::options::results;
use crate::options::select::{self, FilterArgs};
use crate::options::traces::{CutArgs, OneTrace, ReadArgs, say_remarks};
use crate::output::words;

/// Describe a trace: footprint, operations, applications, sizes, sequences, reuse distances, hottest files
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset inspect app.hst
  hotset inspect OLTP.lis.zst --block 4K
  hotset inspect app.hst --by dir --top 30
  hotset inspect app.hst --report app.html
  zstdcat big.csv.zst | hotset inspect - --format csv --json -")]
pub(crate) struct Inspect {
    #[command(flatten)]
    trace: OneTrace,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    cut: CutArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// Print only the most referenced, grouped by this
    #[arg(long, value_name = "WHAT", help_heading = "Output")]
    by: Option<What>,
    /// Number of files, applications and other entries to print
    #[arg(long, value_name = "N", default_value_t = Ranking::default().top, help_heading = "Output")]
    top: usize,
    /// Write everything as one JSON object; `-` writes to standard output instead of text
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
}

/// What requests are counted by.
#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// The file
    File,
    /// The directory that the file is in
    Dir,
    /// The application
    App,
    /// The kind of what is touched, or the trace's own word for it
    Class,
    /// The object, in traces of objects with ids
    Object,
}

impl From<What> for By {
    fn from(what: What) -> By {
        match what {
            What::File => By::File,
            What::Dir => By::Dir,
            What::App => By::App,
            What::Class => By::Class,
            What::Object => By::Object,
        }
    }
}

/// The content of the page.
#[derive(Serialize)]
struct Content<'a> {
    inspection: Told<'a>,
    /// Absent where there are more blocks than memory is allowed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<&'a Pattern>,
    /// The options with which other commands read the trace as this one did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reading: Vec<String>,
}

impl Inspect {
    pub(crate) fn run(self, typed: &str) -> Result<(), Failure> {
        let page = self.report.prepare(std::slice::from_ref(&self.trace.path))?;
        let mut pattern = page.is_some().then(Pattern::default);
        let (selection, path) = (self.filter.selection()?, &self.trace.path);
        // Removals of objects that expire are not in the trace.
        let options = Options { ttl: Ttl::Ignore, ..self.cut.options() };
        let trace = select::select(&self.read.opener()?, path, &selection, &options)?;
        let choice = inspect::choice(&selection, &options, trace.meta().has_ops);
        let name = self.trace.path.display().to_string();
        let mut reader = trace.reader;
        let ranking = Ranking { top: self.top, by: self.by.map(By::from) };
        let inspection = {
            let progress = Reading::new(&name, &trace.progress);
            inspect::inspect(reader.as_mut(), &options, &ranking, pattern.as_mut(), &progress)?
        };
        say_remarks(&name, reader.as_ref());
        let told = Told::new(&name, &choice, &inspection);
        if let Some(path) = &self.json {
            results::write(path, |out| write_json(out, &[told]))?;
        }
        if let Some(page) = page {
            let pattern = pattern.as_ref().filter(|pattern| pattern.is_whole());
            let reading = select::reading(&self.read, &self.cut, &self.filter);
            page.write(typed, Content { inspection: told, pattern, reading })?;
        }
        if self.json.as_deref() != Some(Path::new("-")) {
            let choice = Choice { format: inspection.format, ..choice };
            page::write(&mut stdout().lock(), &words::named(&name, &choice), &inspection)?;
            stdout().flush()?;
        }
        Ok(())
    }
}
