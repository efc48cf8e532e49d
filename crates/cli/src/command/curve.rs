//! `hotset curve`: the hit ratio at every cache size.

mod bytes;
mod show;

use clap::{Args, ValueEnum};
use hotset_core::policy::PolicySpec;
use hotset_results::{COLUMNS, Metric};
use hotset_serve::report::Rows;
use hotset_sim::curve::{Curves, Points, Sample};

use crate::failure::Failure;
use crate::options::progress::Terminal;
use crate::options::report::ReportArgs;
use crate::options::results::ResultArgs;
use crate::options::select::{self, CountArgs, FilterArgs};
use crate::options::traces::{CutArgs, DeleteArgs, OneTrace, ReadArgs};
use crate::output::words;

/// Draw the hit ratio by cache size: LRU and OPT exactly at every size, other policies at selected sizes
#[derive(Args)]
#[command(after_help = "\
Examples:
  LRU and OPT, exactly:
    hotset curve app.hst
  LRU, estimated from 1% of the blocks:
    hotset curve huge.hst --policy lru --sample 0.01
  Other policies, at 30 sizes:
    hotset curve app.hst --policy lru,arc,opt --points 30 --csv curves.csv
    hotset curve app.hst --policy lru,s3-fifo,opt --report app.html
  Objects of different sizes, over bytes:
    hotset curve cdn.oracleGeneral.zst --bytes --policy lru,s3-fifo
    hotset curve huge.oracleGeneral.zst --bytes --sample 0.01")]
pub(crate) struct Curve {
    #[command(flatten)]
    trace: OneTrace,
    /// Policies, separated by commas. LRU and OPT take one pass for all sizes; others are simulated at each point
    /// [default: lru,opt; with --bytes lru]
    #[arg(short, long, value_name = "SPEC")]
    policy: Option<String>,
    /// Sizes in bytes, for objects of different sizes, with a bound on hits (PFOO-L). LRU takes one pass for all
    /// sizes from the largest object on, unless objects shrink or are removed
    #[arg(long, conflicts_with_all = ["sample_size", "report"])]
    bytes: bool,
    /// References to report
    #[arg(long, value_name = "WHAT", default_value = "references", help_heading = "Results")]
    metric: Told,
    /// Estimate the LRU curve from this share of the blocks (0.01, 1%), with its expected error; with --bytes the
    /// curves of all policies
    #[arg(long, value_name = "RATE", value_parser = Sample::parse_rate, conflicts_with = "sample_size")]
    sample: Option<f64>,
    /// Estimate the LRU curve from this number of blocks
    #[arg(long, value_name = "BLOCKS", value_parser = clap::value_parser!(u32).range(1..))]
    sample_size: Option<u32>,
    #[arg(short, long, value_name = "SIZES", hide = true)]
    size: Option<String>,
    /// Number of sizes in the results, spaced logarithmically; `all` for every size at which hits rise
    #[arg(long, value_name = "N", value_parser = Points::parse, default_value = "20")]
    points: Points,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    cut: CutArgs,
    #[command(flatten)]
    deletes: DeleteArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    count: CountArgs,
    #[command(flatten)]
    results: ResultArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Seed for sampling and for policies that use random numbers
    #[arg(long, default_value_t = 1, help_heading = "Output")]
    seed: u64,
}

/// What curves tell: [`Metric`] as it is written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Told {
    /// Those that hit
    References,
    /// Those that miss
    Miss,
}

impl From<Told> for Metric {
    fn from(told: Told) -> Metric {
        match told {
            Told::References => Metric::References,
            Told::Miss => Metric::Misses,
        }
    }
}

/// Policies drawn by default. OPT is not optimal over bytes.
fn default_policies(over_bytes: bool) -> &'static str {
    const POLICIES: &str = "lru,opt";
    if over_bytes { POLICIES.trim_end_matches(",opt") } else { POLICIES }
}

impl Curve {
    pub(crate) fn run(self, typed: &str) -> Result<(), Failure> {
        if let Some(sizes) = &self.size {
            let trace = self.trace.path.display();
            return Err(Failure::Usage(format!(
                "--size: a curve covers all sizes; for chosen sizes use `hotset simulate {trace} --size '{sizes}'`"
            )));
        }
        self.results.check(None, std::slice::from_ref(&self.trace.path))?;
        let policy = self.policy.as_deref().unwrap_or_else(|| default_policies(self.bytes));
        let policies = PolicySpec::parse_list(policy).map_err(|error| Failure::spec("--policy", policy, &error))?;
        let name = self.trace.path.display().to_string();
        let page = self.report.prepare(std::slice::from_ref(&self.trace.path))?;
        let curves = Curves {
            policies,
            options: self.cut.options_with(&self.deletes),
            selection: self.count.count(self.filter.selection()?),
            points: self.points,
            sample: self.sample.map(Sample::Rate).or(self.sample_size.map(Sample::Blocks)),
            seed: self.seed,
        };
        let (opener, path) = (self.read.opener()?, &self.trace.path);
        select::check(path, &curves.selection)?;
        if self.bytes {
            let (drawn, rows) = curves.run_bytes(&name, || opener.open(path), &Terminal::default())?;
            self.results.write(COLUMNS, &rows)?;
            return match self.results.has_stdout() {
                true => Ok(()),
                false => bytes::show(&words::named(&name, &rows[0].choice), &drawn, self.metric.into()),
            };
        }
        let drawn = curves.run(&name, || opener.open(path), &Terminal::default())?;
        self.results.write(COLUMNS, &drawn.rows)?;
        if let Some(page) = page {
            let reading = select::reading(&self.read, &self.cut, &self.filter);
            page.write(typed, Rows { rows: &drawn.rows, series: &[], reading })?;
        }
        if !self.results.has_stdout() {
            show::show(
                &words::named(&name, &drawn.rows[0].choice),
                &drawn.lines,
                drawn.block_bytes,
                self.metric.into(),
            )?;
        }
        Ok(())
    }
}
