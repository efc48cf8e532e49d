//! `hotset advise`: whether storage is the problem, what would help, and how to verify it.

mod recorded;
mod steps;
mod words;

use std::ffi::OsString;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use hotset_core::spec::SizeSpec;
use hotset_results::write_json;
use hotset_sim::advise::{Advice, Advisor, Evidence, buffers};
use hotset_sim::inspect::{Inspection, Ranking, inspect};
use serde::Serialize;

use crate::failure::Failure;
use crate::options::progress::{Reading, Terminal};
use crate::options::report::ReportArgs;
use crate::options::results;
use crate::options::select::{self, FilterArgs};
use crate::options::traces::{CutArgs, Opener, ReadArgs};
use crate::options::values;
use crate::output::shell;
use crate::output::{human, style};
use steps::Steps;

/// Say whether storage limits a program, what would help and by how much, and how to verify it
#[derive(Args)]
#[command(after_help = "\
docs/guide/advice.md explains the rules. Each recommendation ends with commands that check it.

Examples:
  hotset advise app.hst
  hotset advise app.hst --size 512M --store nvme
  hotset advise app.hst --report advice.html
  hotset advise app.hst --app postgres --json -
  hotset advise -- make -j4")]
pub(crate) struct Advise {
    /// Traces in any known format, plain or compressed (zstd, gzip, xz): files or s3://, gs://, az:// or https://
    /// addresses. `FORMAT:PATH` names the format
    #[arg(required_unless_present = "command", value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Program to record first, with its arguments: by BPF with mapped pages where permitted, otherwise by strace
    #[arg(last = true, conflicts_with = "traces", value_name = "COMMAND")]
    command: Vec<OsString>,
    /// Memory that the cache has [default: the recommended size]
    #[arg(short, long, value_name = "SIZE")]
    size: Option<String>,
    /// Storage model behind the cache, for estimates in seconds (as in `hotset simulate`)
    #[arg(long, value_name = "MODEL")]
    store: Option<String>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    cut: CutArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// Write the advice as JSON, one object per trace; `-` writes to standard output instead of text
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
}

/// Name of a recording of the command, in the lines that check the figures.
const RECORDED: &str = "recorded.hst";

/// The content of the page.
#[derive(Serialize)]
struct Content<'a> {
    advice: Vec<Told<'a>>,
}

/// Advice on one trace with the words that say it.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    advice: &'a Advice,
    paragraphs: Vec<String>,
    steps: &'a Steps,
}

impl Advise {
    pub(crate) fn run(self, typed: &str) -> Result<(), Failure> {
        let page = self.report.prepare(&self.traces)?;
        let advisor = self.advisor()?;
        let opener = self.read.opener()?;
        let is_for_programs = self.json.as_deref() == Some(Path::new("-"));
        let recorded =
            (!self.command.is_empty()).then(|| recorded::record(&self.command, is_for_programs)).transpose()?;
        let traces = match &recorded {
            Some(recorded) => vec![recorded.trace.clone()],
            None => self.traces.clone(),
        };
        let quoted = self.command.iter().map(|word| shell::quoted(&word.to_string_lossy()));
        let command = recorded.as_ref().map(|_| quoted.collect::<Vec<_>>().join(" "));
        let mut all = Vec::with_capacity(traces.len());
        for path in &traces {
            let inspection = inspected(&advisor, &opener, path)?;
            let waited = recorded.as_ref().and_then(|recorded| recorded.waited);
            let evidence = Evidence { waited, ..Evidence::of(&inspection, &advisor.options) };
            let advisor = Advisor { beside: buffers(&inspection), evidence, ..advisor.clone() };
            let mut advice = self.advise(&advisor, &opener, path)?;
            if let Some(command) = &command {
                advice.trace.clone_from(command);
            }
            let steps = steps::next(&advice, &inspection, &self.trace(path, command.is_some()), command.as_deref());
            if !is_for_programs {
                Failure::shown(show(&advice, &steps), page.is_some() || self.json.is_some())?;
            }
            all.push((advice, steps));
        }
        if let Some(path) = &self.json {
            let all: Vec<&Advice> = all.iter().map(|(advice, _)| advice).collect();
            results::write(path, |out| write_json(out, &all))?;
        }
        let Some(page) = page else { return Ok(()) };
        let told = all.iter().map(|(advice, steps)| {
            let paragraphs = [words::findings(advice), words::details(advice)].concat();
            Told { advice, paragraphs, steps }
        });
        page.write(typed, Content { advice: told.collect() })
    }

    fn advisor(&self) -> Result<Advisor, Failure> {
        let size = |text: &String| SizeSpec::parse(text).map_err(|error| Failure::spec("--size", text, &error));
        Ok(Advisor {
            memory: self.size.as_ref().map(size).transpose()?,
            options: self.cut.options(),
            selection: self.filter.selection()?,
            store: values::storage("--store", self.store.as_deref())?,
            ..Advisor::default()
        })
    }

    fn advise(&self, advisor: &Advisor, opener: &Opener, path: &Path) -> Result<Advice, Failure> {
        let name = path.display().to_string();
        // The advice itself says what a recording lacks.
        let observer = Terminal::without_remarks_on(if self.command.is_empty() { "" } else { &name });
        let advice = advisor.run(&name, || opener.open(path), &observer);
        advice.map_err(|error| Failure::swept(error, "--size", self.size.as_deref().unwrap_or_default()))
    }

    /// What names a trace on a command line, with the options that say how it is read.
    fn trace(&self, path: &Path, is_temporary: bool) -> Vec<String> {
        let name = if is_temporary { RECORDED.to_owned() } else { path.display().to_string() };
        [vec![name], select::reading(&self.read, &self.cut, &self.filter)].concat()
    }
}

fn show(advice: &Advice, steps: &Steps) -> Result<(), Failure> {
    let mut out = stdout().lock();
    for paragraph in words::findings(advice) {
        writeln!(out, "{}\n", human::wrap(&paragraph, style::width()))?;
    }
    for line in steps.lines() {
        writeln!(out, "{line}")?;
    }
    for paragraph in words::details(advice) {
        writeln!(out, "\n{}", human::wrap(&paragraph, style::width()))?;
    }
    if advice.memory.is_some() {
        writeln!(out, "\nReads served from memory, in %:\n{}", words::table(advice))?;
    }
    Ok(out.flush()?)
}

/// The content of a trace.
fn inspected(advisor: &Advisor, opener: &Opener, path: &Path) -> Result<Inspection, Failure> {
    if path == Path::new("-") {
        let message = "advice reads the trace several times over, which standard input does not allow: expected a file";
        return Err(Failure::Usage(message.to_owned()));
    }
    let options = &advisor.options;
    let trace = select::select(opener, path, &advisor.selection, options)?;
    let name = path.display().to_string();
    let reading = Reading::new(&name, &trace.progress);
    let mut reader = trace.reader;
    Ok(inspect(reader.as_mut(), options, &Ranking::default(), None, &reading)?)
}
