//! `hotset mix`: traces of several applications made into one.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use hotset_core::spec::Value;
use hotset_sim::select::{Selected, Selection};
use hotset_sim::{Completed, Options, Progress, SimError};
use hotset_trace::error::Place;
use hotset_trace::mix::{self, Mix, MixPart, Order};
use hotset_trace::native::{Header, Writer};
use hotset_trace::{Batch, TraceError, TraceReader};

use crate::command::import::describe;
use crate::failure::Failure;
use crate::options::destination::Destination;
use crate::options::progress::Making;
use crate::options::select::FilterArgs;
use crate::options::traces::{Opener, say_remarks};

/// Combine the traces of several applications as if they had run at the same time
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset mix lu=lu.hst tpcc=tpcc.hst --by page -o two.hst
  hotset mix lu=lu.hst tpcc=tpcc.hst --by time --start tpcc=10s --loops lu=3 -o two.hst
  hotset mix a=tpcc.hst b=tpcc.hst --by time --span a=120s --span b=120s -o twice.hst
  hotset mix lu=lu.hst tpcc=tpcc.hst --ops reads -o reads.hst
  hotset simulate two.hst --policy 'shared(lru),qos(lru,lu=70%,tpcc=85%),virtual(lru)' --size 64M")]
pub(crate) struct MixTraces {
    /// Applications and their traces. Each application has its own files, and all requests of its trace belong to it
    #[arg(required = true, value_name = "APP=TRACE", value_parser = parse_pair::<PathBuf>)]
    parts: Vec<(String, PathBuf)>,
    /// Order of requests. Orders that take turns keep no times
    #[arg(long, value_name = "ORDER", default_value = "time")]
    by: By,
    /// Delay the start of an application by this time
    #[arg(long, value_name = "APP=TIME", value_parser = parse_time)]
    start: Vec<(String, u64)>,
    /// Repeat the trace of an application this many times
    #[arg(long, value_name = "APP=COUNT", value_parser = parse_loops)]
    loops: Vec<(String, u32)>,
    /// Scale the times of an application so that one pass takes this long
    #[arg(long, value_name = "APP=TIME", value_parser = parse_time)]
    span: Vec<(String, u64)>,
    /// Trace file to write
    #[arg(short, long, value_name = "OUT.hst")]
    output: PathBuf,
    #[command(flatten)]
    filter: FilterArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// One request of each application in turn
    Request,
    /// One reference of each application to a 4 KB page in turn; requests without data and mappings take no turn
    Page,
    /// The earliest request first, by time since the start of its trace
    Time,
}

impl MixTraces {
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.check()?;
        let inputs: Vec<PathBuf> = self.parts.iter().map(|(_, path)| path.clone()).collect();
        let destination = Destination::new(&self.output, &inputs)?;
        let order = match self.by {
            By::Request => Order::Request,
            By::Page => Order::Page,
            By::Time => Order::Time,
        };
        let selection = self.filter.selection()?;
        let opener = Opener::default();
        let part = |(name, path): &(String, PathBuf)| self.part(name, path, &opener, &selection);
        let mut mix = Mix::new(self.parts.iter().map(part).collect(), order)?;
        let named: Vec<String> = self.parts.iter().map(|(name, path)| format!("{name}={}", path.display())).collect();
        let header = Header::new(mix.meta()).with("source", "mix").with("parts", &named.join(" "));
        let stats = destination.write(|file, path| {
            let mut writer = Writer::new(file, path, &header)?;
            let progress = Making::new();
            let mut batch = Batch::new();
            loop {
                mix.read(&mut batch)?;
                if batch.is_empty() {
                    return Ok(writer.finish(mix.tables())?);
                }
                writer.push(&batch, mix.tables())?;
                progress.advance(batch.len() as u64);
            }
        })?;
        say_remarks("mix", &mix);
        Ok(writeln!(stdout(), "{}: {}", self.output.display(), describe(&stats))?)
    }

    /// Refuses settings of applications that do not exist, and two settings of one.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let known: Vec<&str> = self.parts.iter().map(|(name, _)| name.as_str()).collect();
        once("APP=TRACE", &self.parts)?;
        names(&self.start).chain(names(&self.span)).chain(names(&self.loops)).try_for_each(|name| {
            let unknown =
                || Failure::Usage(format!("the mix has no application {name:?}: expected {}", known.join(", ")));
            if known.contains(&name) { Ok(()) } else { Err(unknown()) }
        })?;
        once("--start", &self.start)?;
        once("--span", &self.span)?;
        once("--loops", &self.loops)
    }

    fn part(&self, name: &str, path: &Path, opener: &Opener, selection: &Selection) -> MixPart {
        MixPart {
            name: name.to_owned(),
            open: chosen(path, opener, selection),
            loops: of(&self.loops, name).unwrap_or(1),
            start: of(&self.start, name).unwrap_or(0),
            span: of(&self.span, name),
        }
    }
}

/// Opens what is chosen of a trace, as often as it is passed over.
fn chosen(path: &Path, opener: &Opener, selection: &Selection) -> mix::Opener {
    let (path, opener, selection) = (path.to_owned(), opener.clone(), selection.clone());
    Box::new(move || -> Result<Box<dyn TraceReader>, TraceError> {
        let reader = opener.open(&path)?.reader;
        if selection.is_everything() {
            return Ok(reader);
        }
        let refused = |error: SimError| TraceError::new(&path, Place::File, error.to_string());
        let options = Options { keep_sizes: true, ..Options::default() };
        let completed = Completed::new(reader, &options);
        Ok(Box::new(Selected::new(completed, &selection, &options).map_err(refused)?))
    })
}

fn names<T>(pairs: &[(String, T)]) -> impl Iterator<Item = &str> {
    pairs.iter().map(|(name, _)| name.as_str())
}

/// Refuses names that are given twice.
fn once<T>(option: &str, pairs: &[(String, T)]) -> Result<(), Failure> {
    let again = names(pairs).enumerate().find(|(index, name)| names(&pairs[..*index]).any(|other| other == *name));
    let twice = |(_, name)| Failure::Usage(format!("{option}: {name:?} is given twice, expected once"));
    again.map_or(Ok(()), |again| Err(twice(again)))
}

fn of<T: Copy>(pairs: &[(String, T)], name: &str) -> Option<T> {
    pairs.iter().find(|(known, _)| known == name).map(|&(_, value)| value)
}

fn parse_pair<T: std::str::FromStr>(text: &str) -> Result<(String, T), String> {
    let (name, value) = pair(text)?;
    let value = value.parse().map_err(|_| format!("{value:?} is not a number: expected a whole number such as 3"))?;
    Ok((name, value))
}

/// An application's name and a number of passes.
fn parse_loops(text: &str) -> Result<(String, u32), String> {
    match parse_pair(text)? {
        (name, 0) => Err(format!("{name} would not occur with 0 passes: expected 1 or more")),
        passes => Ok(passes),
    }
}

/// An application's name and a time in nanoseconds.
fn parse_time(text: &str) -> Result<(String, u64), String> {
    let (name, value) = pair(text)?;
    match Value::parse(&value) {
        Ok(Value::Time(time)) => Ok((name, time)),
        _ => Err(format!("{value:?} is not a valid time; expected one such as 10s or 500ms")),
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    let (name, value) = parts.ok_or_else(|| {
        format!(
            "{text:?}: expected an application's name, `=` and what belongs to it: db=sqlite.hst, or db=3, or db=10s"
        )
    })?;
    Ok((name.to_owned(), value.to_owned()))
}
