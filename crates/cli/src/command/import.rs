//! `hotset import`: any trace becomes a native one.

mod chain;
mod lcs;
mod memory;

use std::fs::File;
use std::io::{Write, stderr, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use hotset_core::request::Op;
use hotset_sim::curve::Sample;
use hotset_sim::{Options, Progress, Sampled, Ttl};
use hotset_trace::input::Progress as Watched;
use hotset_trace::native::{Header, Stats, Writer};
use hotset_trace::{Batch, Meta, Tables, Trace, TraceReader};

use crate::failure::Failure;
use crate::options::destination::Destination;
use crate::options::progress::Reading;
use crate::options::select::{self, FilterArgs};
use crate::options::traces::{ReadArgs, say_remarks};
use crate::output::human;
use chain::Chain;
use lcs::LcsSink;

/// Convert traces to the native format, which is smaller, faster to read and keeps all fields, or to libCacheSim's
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset import db.strace.zst -o db.hst
  hotset import part1.csv part2.csv -o whole.hst --as postgres
  hotset import cdn.csv -o cdn.lcs
  hotset import app.hst -o reads.hst --app 'cc*' --ops reads
  zcat disk.txt.gz | hotset import - --format spc -o disk.hst
  hotset import huge.oracleGeneral.zst --sample 1% -o sample.hst")]
pub(crate) struct Import {
    /// Traces to concatenate, in any known format, plain or compressed: files, s3://, gs://, az:// or https://
    /// addresses, or `-` for standard input. `FORMAT:PATH` names the format
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// Trace file to write; libCacheSim's format if the name ends with .lcs
    #[arg(short, long, value_name = "OUT.hst")]
    output: PathBuf,
    /// Assign all requests to this application
    #[arg(long = "as", value_name = "NAME")]
    renamed: Option<String>,
    /// Keep this share of the objects or blocks (0.01, 1%), each with all its requests. Sizes stay those of a cache for
    /// the whole trace: simulate replays the sample in the same share of each, which has about the same hit ratio
    #[arg(long, value_name = "RATE", value_parser = Sample::parse_rate)]
    sample: Option<f64>,
    /// Seed of the sample
    #[arg(long, default_value_t = 1, requires = "sample", value_name = "SEED")]
    seed: u64,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    filter: FilterArgs,
}

impl Import {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let destination = Destination::new(&self.output, &self.inputs)?;
        let opener = self.read.opener()?;
        let selection = self.filter.selection()?;
        // Times to live stay with the requests; the command that replays the trace expires objects. Sizes are filled
        // in where the request that gives one may be left out.
        let keep_sizes = !selection.is_everything();
        let options = Options { ttl: Ttl::Ignore, keep_sizes, ..Options::default() };
        let open = |path: &Path| select::select(&opener, path, &selection, &options);
        let mut first = open(&self.inputs[0])?;
        if first.reader.memory().is_some() {
            return self.import_memory(first, destination);
        }
        let mut chain = Chain::new(first.meta().clone(), self.renamed.clone());
        let is_lcs = self.output.extension().is_some_and(|ending| ending == "lcs");
        if is_lcs && !destination.is_regular() {
            let message = format!(
                "cannot write {}: lcs is completed in a second pass, which a pipe or device does not allow; expected the \
                 name of a file",
                self.output.display()
            );
            return Err(Failure::Usage(message));
        }
        let told = destination.write(|file, path| {
            let mut sink: Box<dyn Sink> = match is_lcs {
                true => Box::new(LcsSink::new(file, path, first.meta())?),
                false => Box::new(Writer::new(file, path, &self.header(&first))?),
            };
            self.copy(first, &self.inputs[0], &mut chain, sink.as_mut())?;
            for input in &self.inputs[1..] {
                self.copy(open(input)?, input, &mut chain, sink.as_mut())?;
            }
            sink.finish(chain.tables())
        })?;
        let mut out = stdout().lock();
        Ok(writeln!(out, "{}: {told}", self.output.display())?)
    }

    fn header(&self, first: &Trace) -> Header {
        let meta = first.meta();
        let sample = self.sample.filter(|&rate| rate < 1.0).or(meta.sample);
        Header::new(&Meta { sample, ..meta.clone() }).with("source", first.format)
    }

    fn copy(&self, trace: Trace, path: &Path, chain: &mut Chain, sink: &mut dyn Sink) -> Result<(), Failure> {
        let name = path.display().to_string();
        let Some(rate) = self.sample else {
            let mut reader = trace.reader;
            return copy_from(reader.as_mut(), &name, &trace.progress, chain, sink);
        };
        let mut sampled = Sampled::new(trace.reader, &Options::default(), rate, self.seed)?;
        copy_from(&mut sampled, &name, &trace.progress, chain, sink)?;
        let _ = writeln!(stderr(), "hotset: {name}: {}", sampled.summary());
        Ok(())
    }
}

/// A trace that is being written.
trait Sink {
    /// Appends requests, whose names are in `tables`.
    fn push(&mut self, batch: &Batch, tables: &Tables) -> Result<(), Failure>;

    /// Completes the trace. Gives a line about it.
    fn finish(self: Box<Self>, tables: &Tables) -> Result<String, Failure>;
}

impl Sink for Writer<&mut File> {
    fn push(&mut self, batch: &Batch, tables: &Tables) -> Result<(), Failure> {
        Ok(Writer::push(self, batch, tables)?)
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Result<String, Failure> {
        Ok(describe(&Writer::finish(*self, tables)?))
    }
}

/// Copies all requests of `reader` behind those that were written.
fn copy_from(
    reader: &mut dyn TraceReader,
    name: &str,
    watched: &Watched,
    chain: &mut Chain,
    sink: &mut dyn Sink,
) -> Result<(), Failure> {
    chain.check(reader.meta()).map_err(|message| Failure::Work(format!("{name}: {message}")))?;
    let progress = Reading::new(name, watched).counting("requests");
    let mut batch = Batch::new();
    loop {
        reader.read(&mut batch)?;
        chain.take(&mut batch.requests, reader.tables());
        if batch.is_empty() {
            break;
        }
        sink.push(&batch, chain.tables())?;
        progress.advance(batch.len() as u64);
    }
    chain.end(reader.tables());
    drop(progress);
    say_remarks(name, reader);
    Ok(())
}

/// A summary of a trace.
pub(crate) fn describe(stats: &Stats) -> String {
    let known = [(Op::Read, "read"), (Op::Write, "write"), (Op::Map, "mapping")];
    let mut parts: Vec<String> = known
        .map(|(op, noun)| (stats.count(op), noun))
        .into_iter()
        .filter(|part| part.0 > 0)
        .map(|(count, noun)| human::counted(count, noun))
        .collect();
    let others = stats.requests - known.iter().map(|&(op, _)| stats.count(op)).sum::<u64>();
    if others > 0 {
        parts.push(human::counted(others, "metadata operation"));
    }
    let parts = if parts.len() > 1 { format!(" ({})", parts.join(", ")) } else { String::new() };
    let mut text = format!("{}{parts}", human::counted(stats.requests, "request"));
    if stats.files > 1 {
        text += &format!(" to {}", human::counted(stats.files, "file"));
    }
    if stats.apps > 0 {
        text += &format!(" by {}", human::counted(stats.apps, "application"));
    }
    let told = stats.bytes_cached.saturating_add(stats.bytes_fetched);
    if told > 0 {
        let share = 100.0 * stats.bytes_cached as f64 / told as f64;
        text += &format!(", the page cache had {share:.1} % of {} read", human::bytes(told));
    }
    if stats.last_time > stats.first_time {
        text += &format!(" in {}", human::duration((stats.last_time - stats.first_time) as f64 / 1e9));
    }
    text
}
