//! `hotset simulate`: traces × policies × sizes.

pub(crate) mod clock;
mod costs;
mod memory;

use std::cell::Cell;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use hotset_core::policy::PolicySpec;
use hotset_results::{COLUMNS, Metric, Row, SeriesRow};
use hotset_serve::report;
use hotset_sim::advise;
use hotset_sim::paging::Frees;
use hotset_sim::sweep::{self, SIZES, Sweep, Swept};
use hotset_trace::{Trace, TraceError};

use crate::failure::Failure;
use crate::options::progress::Terminal;
use crate::options::report::{Page, ReportArgs};
use crate::options::results::ResultArgs;
use crate::options::select::{self, CountArgs, FilterArgs};
use crate::options::traces::{CutArgs, DeleteArgs, ReadArgs};
use crate::options::values;
use crate::output::table::Marks;
use crate::output::{explained, human, style, table, words};

/// Replay traces through replacement policies at given cache sizes, exactly
#[derive(Args)]
#[command(after_help = "\
Examples:
  A selection of policies at six sizes:
    hotset simulate app.hst
  Chosen policies at one size:
    hotset simulate app.hst -p lru,arc,lirs,opt -s 64M
  Every policy over a range of sizes, as CSV:
    hotset simulate OLTP.lis.zst -p all -s 1%..50%*2 --csv results.csv
  A CSV trace without a header:
    hotset simulate trace.csv --columns time,id,size -p sieve -s '1000,10000 blocks'
  An HTML report:
    hotset simulate app.hst -p lru,opt -s 1%..100%*1.5 --report app.html
  Partitioned caches, with estimated times:
    hotset simulate mix.hst -p 'shared(lru),qos(lru,lu=70%)' -s 64M --store disk
  A trace in an object store:
    hotset simulate s3://bucket/trace.oracleGeneral.zst -p lru -s 5%
  A trace of memory references:
    hotset simulate program.pgt.zst -p apr,clock,opt -s 10%,50%")]
pub(crate) struct Simulate {
    /// Traces in any known format, plain or compressed (zstd, gzip, xz): files, s3://, gs://, az:// or https://
    /// addresses, or `-` for standard input. `FORMAT:PATH` names the format
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Policies, separated by commas, e.g. lru,arc,2q(kin=30%),opt; `all` for every one (see `hotset policies`)
    /// [default: a selection, best first]
    #[arg(short, long, value_name = "SPEC")]
    policy: Option<String>,
    /// Cache sizes, separated by commas: '64 blocks', bytes (64M), share of the footprint (10% or 0.1),
    /// geometric range (16M..1G*2) [default: six shares of the footprint]
    #[arg(short, long, value_name = "SIZE", allow_hyphen_values = true)]
    size: Option<String>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    cut: CutArgs,
    #[command(flatten)]
    deletes: DeleteArgs,
    /// Rules that assign classes of data by path, kind, size and application (see docs/reference/classes.md)
    #[arg(long, value_name = "FILE", help_heading = "Blocks")]
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
    /// Metric that policies are ranked by; its table is printed first
    #[arg(long, value_name = "WHAT", default_value = "reads", help_heading = "Output")]
    metric: Ranked,
    /// Print the state that adaptive policies have learnt by the end of the trace
    #[arg(long, help_heading = "Output")]
    explain: bool,
    /// Print the cost of each policy: processor time per reference and memory per block
    #[arg(long, conflicts_with_all = ["store", "series"], help_heading = "Output")]
    costs: bool,
    /// Seed for policies that use random numbers
    #[arg(long, default_value_t = 1, help_heading = "Output")]
    seed: u64,
    /// Keep pages in the cache after the program has freed them
    #[arg(long, help_heading = "Memory traces")]
    keep_freed: bool,
}

/// What policies are ranked by: [`Metric`] as it is written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Ranked {
    /// Hit ratio of blocks read
    Reads,
    /// Hit ratio of blocks read and written, as in most papers
    References,
    /// Share of read requests that find all their blocks in the cache
    Requests,
    /// Misses of blocks read and written, in place of hits
    Miss,
}

impl From<Ranked> for Metric {
    fn from(ranked: Ranked) -> Metric {
        match ranked {
            Ranked::Reads => Metric::Reads,
            Ranked::References => Metric::References,
            Ranked::Requests => Metric::Requests,
            Ranked::Miss => Metric::Misses,
        }
    }
}

impl Simulate {
    pub(crate) fn run(self, typed: &str) -> Result<(), Failure> {
        self.results.check(self.clock.series(), &self.traces)?;
        let page = self.report.prepare(&self.traces)?;
        let opener = self.read.opener()?;
        // Which policies run depends on what the first trace is of; standard input can be opened once.
        let mut first = opener.open(&self.traces[0])?;
        let is_of_memory = first.reader.memory().is_some();
        let first = Cell::new(Some(first));
        let sweep = self.sweep(is_of_memory)?;
        let mut swept: Vec<Swept> = Vec::new();
        for path in &self.traces {
            let open = || first.take().map_or_else(|| opener.open(path), Ok);
            swept.push(self.replay(&sweep, path, open)?);
        }
        let series: Vec<SeriesRow> = swept.iter_mut().flat_map(|swept| std::mem::take(&mut swept.series)).collect();
        self.clock.write(&series)?;
        let rows: Vec<Row> = swept.into_iter().flat_map(|swept| swept.rows).collect();
        self.write(&rows, &series, page, typed)
    }

    /// The replayed traces, of requests or of memory.
    fn sweep(&self, is_of_memory: bool) -> Result<Sweep, Failure> {
        let policies = match &self.policy {
            Some(text) if is_of_memory => PolicySpec::parse_paging_list(text).map_err(|error| (text.clone(), error)),
            Some(text) => PolicySpec::parse_list(text).map_err(|error| (text.clone(), error)),
            None if is_of_memory => PolicySpec::parse_paging_list("all").map_err(|error| ("all".to_owned(), error)),
            None => Ok(advise::compared()),
        };
        let policies = policies.map_err(|(text, error)| Failure::spec("--policy", &text, &error))?;
        let sizes = sweep::sizes(self.size.as_deref());
        let sizes = sizes.map_err(|error| Failure::spec("--size", self.sizes(), &error))?;
        Ok(Sweep {
            of_memory: is_of_memory,
            options: self.cut.options_with(&self.deletes),
            selection: self.count.count(self.filter.selection()?),
            rules: self.classes.as_deref().map(values::classes).transpose()?,
            seed: self.seed,
            clock: self.clock.options(self.costs)?,
            explain: self.explain,
            is_all: self.policy.as_deref() == Some("all"),
            bounds: true,
            frees: if self.keep_freed { Frees::Keep } else { Frees::Drop },
            ..Sweep::new(policies, sizes)
        })
    }

    /// The sizes as they are written.
    fn sizes(&self) -> &str {
        self.size.as_deref().unwrap_or(SIZES)
    }

    /// Replays one trace and shows what came out.
    fn replay(
        &self,
        sweep: &Sweep,
        path: &Path,
        open: impl Fn() -> Result<Trace, TraceError>,
    ) -> Result<Swept, Failure> {
        select::check(path, &sweep.selection)?;
        let swept = sweep.run(&path.display().to_string(), open, &Terminal::default());
        let mut swept = swept.map_err(|error| Failure::swept(error, "--size", self.sizes()))?;
        if self.costs {
            costs::weigh(&mut swept.rows, sweep);
        }
        if !self.results.has_stdout() && !self.clock.has_stdout() {
            Failure::shown(self.show(&swept.rows, sweep.of_memory), self.has_files())?;
        }
        Ok(swept)
    }

    fn show(&self, rows: &[Row], is_of_memory: bool) -> Result<(), Failure> {
        if is_of_memory {
            return memory::show(rows);
        }
        match self.policy {
            None => show_ranked(rows, self.metric.into())?,
            Some(_) => show(rows, self.metric.into(), &Marks::None)?,
        }
        if self.explain {
            rows.chunk_by(|one, other| one.policy == other.policy).try_for_each(show_learnt)?;
        }
        Ok(())
    }

    /// True if something is written besides what is shown.
    fn has_files(&self) -> bool {
        self.results.has_files() || self.report.is_asked() || self.clock.series().is_some()
    }

    /// Writes the results where the user wants them.
    fn write(&self, rows: &[Row], series: &[SeriesRow], page: Option<Page>, typed: &str) -> Result<(), Failure> {
        self.results.write(COLUMNS, rows)?;
        match page {
            Some(page) => page.write(
                typed,
                report::Rows { rows, series, reading: select::reading(&self.read, &self.cut, &self.filter) },
            ),
            None => Ok(()),
        }
    }
}

/// Prints rows of policies that were not chosen by the user: the best at the middle size first, with a recommendation.
fn show_ranked(rows: &[Row], metric: Metric) -> Result<(), Failure> {
    let of_policies: Vec<&[Row]> = rows.chunk_by(|one, other| one.policy == other.policy).collect();
    let ratio = |rows: &[Row]| rows[(rows.len() - 1) / 2].share(metric).ratio();
    let mut ranked = of_policies.clone();
    ranked.sort_by(|one, other| ratio(other).total_cmp(&ratio(one)));
    let online = |rows: &&&[Row]| !table::knows_future(&rows[0]);
    let best = of_policies.iter().filter(online).map(|rows| ratio(rows)).fold(0.0, f64::max);
    // They were given from the cheapest on.
    let pick = of_policies.iter().filter(online).find(|rows| ratio(rows) >= best - advise::NEAR);
    let pick = pick.map(|rows| rows[0].policy.as_str());
    show(&ranked.concat(), metric, &Marks::Ranked { pick })?;
    let Some(pick) = pick else { return Ok(()) };
    let text = format!(
        "* Cheapest within a point of the best at the middle size: {pick}. ° knows the future, and is a bound. hotset \
         advise tells how much memory is enough, and what to do."
    );
    Ok(writeln!(stdout(), "\n{}", human::wrap(&text, style::width()))?)
}

fn show(rows: &[Row], metric: Metric, marks: &Marks) -> Result<(), Failure> {
    let (aware, plain) = table::apart(rows);
    if !plain.is_empty() {
        show_plain(&plain, metric, marks)?;
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

/// The learnt state of the policy of these rows at each size.
fn show_learnt(rows: &[Row]) -> Result<(), Failure> {
    let policy = &rows[0].policy;
    if rows.iter().all(|row| row.explained.is_empty()) {
        writeln!(stdout(), "\n{policy} does not tell what it learns")?;
    }
    for row in rows.iter().filter(|row| !row.explained.is_empty()) {
        let (size, learnt) = (size_in_words(row), explained::table(&row.explained));
        writeln!(stdout(), "\nWhat {policy} has learnt with {size}\n{learnt}")?;
    }
    Ok(())
}

/// `1,000 blocks (3.9M)`, or `64M of objects`.
fn size_in_words(row: &Row) -> String {
    let blocks = || format!("{} blocks", human::count(row.size_blocks));
    match (row.size_bytes, row.object_bytes) {
        (Some(bytes), Some(_)) => format!("{} of objects", human::bytes(bytes)),
        (Some(bytes), None) => format!("{} ({})", blocks(), human::bytes(bytes)),
        (None, _) => blocks(),
    }
}

fn show_plain(rows: &[Row], metric: Metric, marks: &Marks) -> Result<(), Failure> {
    let first = &rows[0];
    let mut out = stdout().lock();
    write!(out, "{}: {} references", words::chosen(first), human::count(first.counts.references))?;
    match first.distinct_blocks {
        Some(distinct) => write!(out, " to {} distinct blocks", human::count(distinct))?,
        None => write!(out, " to blocks")?,
    }
    if let Some(block) = first.block_bytes {
        write!(out, " of {}", human::bytes(block))?;
    }
    if first.distinct_blocks.is_none() {
        write!(out, ", streamed because the trace does not fit in --memory")?;
    }
    let metrics = table::metrics(rows, metric);
    let size = |row: &Row| (row.size_blocks, row.size_bytes);
    if rows.iter().all(|row| size(row) == size(first)) {
        writeln!(out, "; cache of {}\n{}", size_in_words(first), table::counts(rows, &metrics))?;
        for row in rows.iter().filter(|row| table::tells_applications(row)) {
            writeln!(out, "\n{}, application by application\n{}", row.policy, table::applications(row))?;
        }
    } else {
        let is_folded = metric != Metric::References && table::writes_hardly_matter(rows, &metrics);
        let shown = metrics.iter().filter(|shown| !(is_folded && **shown == Metric::References));
        for (number, &shown) in shown.enumerate() {
            let before = if number == 0 { "; " } else { "\n" };
            let title = table::title(shown, &metrics);
            writeln!(out, "{before}{title} by cache size\n{}", table::hit_ratios(rows, shown, marks))?;
        }
        if is_folded {
            writeln!(out, "Ratios that include writes differ by less than a point (--metric references shows them).")?;
        }
        if rows.iter().any(|row| row.byte_hit_ratio.is_some()) {
            let what = if metric == Metric::Misses { "miss" } else { "hit" };
            writeln!(out, "\n{what} ratio of bytes in % by cache size\n{}", table::byte_hits(rows, metric))?;
        }
        if rows.iter().any(|row| row.bound_hit_ratio.is_some()) {
            let (what, which) = if metric == Metric::Misses { ("miss", "lower") } else { ("hit", "upper") };
            let bounds = table::bounds(rows, metric);
            writeln!(out, "\n{which} bound on the {what} ratios of any policy in % (PFOO-L)\n{bounds}")?;
        }
        if rows.iter().any(|row| row.finish_seconds.is_some()) {
            writeln!(out, "\nseconds until the end by cache size\n{}", table::finishes(rows))?;
        }
        if let Some((row, table)) = table::costs(rows) {
            writeln!(out, "\nwhat policies cost with {}\n{table}", size_in_words(row))?;
        }
    }
    if let Some(summary) = words::summary(rows, metric) {
        writeln!(out, "\n{}", human::wrap(&summary, style::width()))?;
    }
    Ok(())
}
