//! `hotset simulate`: traces × policies × sizes.

pub(crate) mod clock;
mod paging;

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use hotset_core::policy::PolicySpec;
use hotset_core::spec::SizeSpec;
use hotset_sim::results::{Metric, Row, SeriesRow};
use hotset_sim::select::Selection;
use hotset_trace::Trace;
use serde::Serialize;

use crate::classes;
use crate::failure::Failure;
use crate::output::{files, human, style, table, words};
use crate::replay::Replay;
use crate::report::{Page, ReportArgs, Rows};
use crate::results::ResultArgs;
use crate::select::{self, CountArgs, FilterArgs};
use crate::traces::{CutArgs, ReadArgs};

/// Replay traces against cache schemes at given sizes, exactly
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset simulate app.hst --policy lru,arc,lirs,opt --size 64M
  hotset simulate OLTP.lis.zst --policy all --size 1%..50%*2 --csv results.csv
  hotset simulate trace.csv --columns time,id,size --policy 's3-fifo(small=5%),sieve' --size 1000,10000 --json -
  hotset simulate app.hst --policy lru,arc,s3-fifo,opt --size 1%..100%*1.5 --report app.html
  hotset simulate mix.hst --policy 'shared(lru),qos(lru,lu=70%)' --size 64M --disk disk --series over-time.jsonl --every 2s
  hotset simulate program.pgt.zst --policy apr,clock,opt --size 10%,50%    (a trace of memory)")]
pub(crate) struct Simulate {
    /// The traces: any known format, plain or packed by zstd, gzip or xz; `-` is standard input; `FORMAT:PATH` names
    /// the format
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Schemes, separated by commas, e.g. lru,arc,2q(kin=30%),opt; `all` is every one (see `hotset policies`)
    #[arg(short, long, value_name = "SPEC")]
    policy: String,
    /// Cache sizes, separated by commas: blocks (1000), bytes (64M), share of the footprint (10%), geometric range
    /// (16M..1G*2)
    #[arg(short, long, value_name = "SIZE")]
    size: String,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    cut: CutArgs,
    /// Classes of data by path, kind, size and application, for schemes that tell them apart (see
    /// docs/reference/classes.md)
    #[arg(long, value_name = "FILE", help_heading = "Cutting it into blocks")]
    classes: Option<PathBuf>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    count: CountArgs,
    #[command(flatten)]
    results: ResultArgs,
    #[command(flatten)]
    clock: clock::ClockArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// What policies are ranked by, and what is told first
    #[arg(long, value_name = "WHAT", default_value = "reads", help_heading = "Results")]
    metric: Ranked,
    /// Seed of the policies that draw random numbers
    #[arg(long, default_value_t = 1, help_heading = "Results")]
    seed: u64,
    /// In traces of memory, leave pages that the program frees in memory, as when it keeps them for itself
    #[arg(long, help_heading = "Traces of memory")]
    keep_freed: bool,
}

/// What policies are ranked by: [`Metric`] as it is written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Ranked {
    /// Blocks read
    Reads,
    /// Blocks read and written, as in the literature
    References,
    /// Requests that read and find all their blocks
    Requests,
}

impl From<Ranked> for Metric {
    fn from(ranked: Ranked) -> Metric {
        match ranked {
            Ranked::Reads => Metric::Reads,
            Ranked::References => Metric::References,
            Ranked::Requests => Metric::Requests,
        }
    }
}

impl Simulate {
    pub(crate) fn run(self, typed: &str) -> Result<(), Failure> {
        let policies =
            PolicySpec::parse_list(&self.policy).map_err(|error| Failure::spec("--policy", &self.policy, &error))?;
        let sizes = SizeSpec::parse(&self.size).map_err(|error| Failure::spec("--size", &self.size, &error))?;
        let rules = self.classes.as_deref().map(classes::read).transpose()?;
        let page = self.report.prepare(&self.traces)?;
        let selection = self.count.count(self.filter.selection()?);
        let mut first = self.open(&self.traces[0], &selection)?;
        if first.reader.memory().is_some() {
            self.clock.refuse(&self.traces[0])?;
            return self.write(&self.run_paging(first, &sizes)?, &[], &files::PAGING_COLUMNS, page, typed);
        }
        let timed = self.clock.options()?;
        let replay = Replay {
            policies: &policies,
            sizes: (&sizes, &self.size),
            sizes_from: "--size",
            options: self.cut.options(),
            selection: &selection,
            rules: rules.as_ref(),
            seed: self.seed,
            timed: timed.as_ref(),
        };
        let mut first = Some(first);
        let (mut rows, mut series) = (Vec::new(), Vec::new());
        for path in &self.traces {
            let trace = first.take().map_or_else(|| self.open(path, &selection), Ok)?;
            let of_trace = replay.rows_of(trace, path)?;
            if !self.results.has_stdout() && !self.clock.has_stdout() {
                show(&of_trace.rows, self.metric.into())?;
            }
            rows.extend(of_trace.rows);
            series.extend(of_trace.series);
        }
        self.clock.write(&series)?;
        self.write(&rows, &series, &files::CACHE_COLUMNS, page, typed)
    }

    /// Opens what is chosen of a trace.
    fn open(&self, path: &Path, selection: &Selection) -> Result<Trace, Failure> {
        select::select(|| self.read.open(path), path, selection, &self.cut.options())
    }

    /// Writes the results where the user wants them.
    fn write<R: Serialize>(
        &self,
        rows: &[R],
        series: &[SeriesRow],
        columns: &[&str],
        page: Option<Page>,
        typed: &str,
    ) -> Result<(), Failure> {
        self.results.write(columns, rows)?;
        match page {
            Some(page) => page.write(typed, Rows { rows, series }),
            None => Ok(()),
        }
    }
}

fn show(rows: &[Row], metric: Metric) -> Result<(), Failure> {
    let (aware, plain) = table::apart(rows);
    if !plain.is_empty() {
        show_plain(&plain, metric)?;
    }
    if !aware.is_empty() {
        let mut out = stdout().lock();
        let first = &aware[0];
        writeln!(
            out,
            "{}: requests to inodes, directories and data in blocks of the schemes' own sizes\n{}",
            words::chosen(first),
            table::accesses(&aware)
        )?;
        if aware.iter().all(|row| row.size_blocks == first.size_blocks) {
            for row in &aware {
                writeln!(out, "{}, class by class\n{}", row.policy, table::classes(row))?;
            }
        }
    }
    Ok(())
}

fn show_plain(rows: &[Row], metric: Metric) -> Result<(), Failure> {
    let first = &rows[0];
    let mut out = stdout().lock();
    write!(out, "{}: {} references", words::chosen(first), human::count(first.counts.references))?;
    if let Some(distinct) = first.distinct_blocks {
        write!(out, " to {} distinct blocks", human::count(distinct.into()))?;
    }
    if let Some(block) = first.block_bytes {
        write!(out, " of {}", human::bytes(block))?;
    }
    let metrics = table::metrics(rows, metric);
    let one_size = rows.iter().all(|row| row.size_blocks == first.size_blocks);
    if one_size {
        let bytes = first.size_bytes.map_or(String::new(), |bytes| format!(" ({})", human::bytes(bytes)));
        writeln!(
            out,
            "; cache of {} blocks{bytes}\n{}",
            human::count(first.size_blocks.into()),
            table::counts(rows, &metrics)
        )?;
        for row in rows.iter().filter(|row| table::tells_applications(row)) {
            writeln!(out, "\n{}, application by application\n{}", row.policy, table::applications(row))?;
        }
    } else {
        for (number, &shown) in metrics.iter().enumerate() {
            let before = if number == 0 { "; " } else { "\n" };
            let title = table::title(shown, &metrics);
            writeln!(out, "{before}{title} by cache size\n{}", table::hit_ratios(rows, shown))?;
        }
    }
    if let Some(summary) = words::summary(rows, metric) {
        writeln!(out, "\n{}", human::wrap(&summary, style::width()))?;
    }
    Ok(())
}
