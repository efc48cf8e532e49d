//! `hotset simulate`: traces × policies × sizes.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use hotset_core::classify::Rules;
use hotset_core::spec::{PolicySpec, SizeSpec, SpecError};
use hotset_sim::grid::{self, Plan};
use hotset_sim::results::{Row, TraceFacts};
use hotset_sim::{BlockSize, Prepared, prepare};

use crate::failure::Failure;
use crate::output::{files, human, style, table, words};
use crate::progress::{Reading, Replaying};
use crate::traces::{CutArgs, ReadArgs, nothing_referenced, say_remarks};

/// Replay traces against cache schemes at given sizes, exactly
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset simulate app.hst --policy lru,arc,lirs,opt --size 64M
  hotset simulate OLTP.lis.zst --policy all --size 1%..50%*2 --csv results.csv
  hotset simulate trace.csv --columns time,id,size --policy 's3-fifo(small=5%),sieve' --size 1000,10000 --json -")]
pub(crate) struct Simulate {
    /// The traces: any known format, plain or packed by zstd, gzip or xz; `-` is standard input; `FORMAT:PATH` names the format
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Schemes, separated by commas, e.g. lru,arc,2q(kin=30%),opt; `all` is every one (see `hotset policies`)
    #[arg(short, long, value_name = "SPEC")]
    policy: String,
    /// Cache sizes, separated by commas: blocks (1000), bytes (64M), share of the footprint (10%), geometric range (16M..1G*2)
    #[arg(short, long, value_name = "SIZE")]
    size: String,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    cut: CutArgs,
    /// Classes of data by path, kind, size and application, for schemes that tell them apart (see docs/classes.md)
    #[arg(long, value_name = "FILE", help_heading = "Cutting it into blocks")]
    classes: Option<PathBuf>,
    /// Write results as JSON Lines, one object a cell; `-` is standard output, then without tables
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    json: Option<PathBuf>,
    /// Write results as CSV; `-` is standard output, then without tables
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    csv: Option<PathBuf>,
    /// Seed of the policies that draw random numbers
    #[arg(long, default_value_t = 1, help_heading = "Results")]
    seed: u64,
}

/// The columns of `--csv`.
const COLUMNS: [&str; 22] = [
    "version",
    "trace",
    "policy",
    "size_blocks",
    "size_bytes",
    "block_bytes",
    "seed",
    "references",
    "hits",
    "misses",
    "hit_ratio",
    "requests",
    "request_misses",
    "read_requests",
    "read_request_misses",
    "write_requests",
    "write_backs",
    "extra_reads",
    "disk_accesses",
    "bytes_read",
    "bytes_written",
    "distinct_blocks",
];

impl Simulate {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let policies =
            PolicySpec::parse_list(&self.policy).map_err(|error| Failure::spec("--policy", &self.policy, &error))?;
        let sizes = SizeSpec::parse(&self.size).map_err(|error| Failure::spec("--size", &self.size, &error))?;
        let rules = self.classes.as_deref().map(read_classes).transpose()?;
        let mut rows = Vec::new();
        for trace in &self.traces {
            let of_trace = self.run_trace(trace, &policies, &sizes, rules.as_ref())?;
            if !self.has_stdout_data() {
                show(&of_trace)?;
            }
            rows.extend(of_trace);
        }
        if let Some(path) = &self.json {
            files::write_json(path, &rows)?;
        }
        if let Some(path) = &self.csv {
            files::write_csv(path, &COLUMNS, &rows)?;
        }
        Ok(())
    }

    fn has_stdout_data(&self) -> bool {
        [&self.json, &self.csv].into_iter().flatten().any(|path| path == Path::new("-"))
    }

    /// Rows policy by policy, each at all sizes.
    fn run_trace(
        &self,
        path: &Path,
        policies: &[PolicySpec],
        sizes: &SizeSpec,
        rules: Option<&Rules>,
    ) -> Result<Vec<Row>, Failure> {
        let trace = self.read.open(path)?;
        let meta = trace.meta().clone();
        let mut options = self.cut.options();
        let block_bytes = options.block.unwrap_or_else(|| BlockSize::default_for(&meta)).bytes();
        let args = |policy: &PolicySpec| policy.args(block_bytes).with_rules(rules.cloned());
        options.keep_requests = policies.iter().any(|policy| grid::wants_requests(policy.info(), &args(policy)));
        let name = path.display().to_string();
        let (mut prepared, reader) = prepare(trace.reader, &options, &Reading::new(&name, &trace.progress))?;
        let (footprint, references) = match &prepared {
            Prepared::Held(references) if references.is_empty() => return Err(nothing_referenced(&name)),
            Prepared::Held(references) => (u64::from(references.distinct()), Some(references.len())),
            Prepared::Stream(stream) => {
                stream.check(sizes.needs_footprint(), policies.iter().find(|policy| policy.is_offline()))?;
                (0, None)
            }
        };
        let capacities =
            sizes.resolve(footprint, block_bytes).map_err(|error| Failure::spec("--size", &self.size, &error))?;
        let plan =
            |policy: &PolicySpec, capacity| Plan { info: policy.info(), args: args(policy), capacity, seed: self.seed };
        let plans: Vec<Plan> =
            policies.iter().flat_map(|policy| capacities.iter().map(|&size| plan(policy, size))).collect();
        let replayed = grid::run(&mut prepared, &plans, &Replaying::new(plans.len(), references))?;
        let reader = match (reader, prepared) {
            (Some(reader), _) => reader,
            (None, Prepared::Stream(stream)) => stream.into_reader(),
            (None, Prepared::Held(_)) => unreachable!("a held trace has been read"),
        };
        say_remarks(&name, reader.as_ref())?;
        let facts = TraceFacts {
            name,
            block_bytes,
            distinct: replayed.distinct,
            has_ops: meta.has_ops,
            apps: reader.tables().apps.clone(),
        };
        let specs = policies.iter().flat_map(|policy| std::iter::repeat_n(policy, capacities.len()));
        let cells = specs.zip(&plans).zip(&replayed.tallies);
        Ok(cells.map(|((spec, plan), tally)| facts.row(spec.to_string(), plan.capacity, self.seed, tally)).collect())
    }
}

/// Reads the user's classes.
fn read_classes(path: &Path) -> Result<Rules, Failure> {
    let name = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| Failure::Work(format!("{name}: cannot read it: {error}")))?;
    Rules::from_toml(&text).map_err(|error| Failure::Usage(located(&name.to_string(), &text, &error)))
}

/// An error in a file of several lines, with its line and what stands there.
fn located(name: &str, text: &str, error: &SpecError) -> String {
    let Some(place) = &error.at else { return format!("{name}: {error}") };
    let before = text.get(..place.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let said = text.lines().nth(line - 1).unwrap_or_default().trim();
    format!("{name}, line {line}: {}\n  {said}", error.message)
}

fn show(rows: &[Row]) -> Result<(), Failure> {
    let (aware, plain): (Vec<Row>, Vec<Row>) = rows.iter().cloned().partition(table::has_own_blocks);
    if !plain.is_empty() {
        show_plain(&plain)?;
    }
    if !aware.is_empty() {
        let mut out = stdout().lock();
        let first = &aware[0];
        writeln!(
            out,
            "{}: requests to inodes, directories and data in blocks of the schemes' own sizes\n{}",
            first.trace,
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

fn show_plain(rows: &[Row]) -> Result<(), Failure> {
    let first = &rows[0];
    let mut out = stdout().lock();
    write!(out, "{}: {} references", first.trace, human::count(first.counts.references))?;
    if let Some(distinct) = first.distinct_blocks {
        write!(out, " to {} distinct blocks", human::count(distinct.into()))?;
    }
    if let Some(block) = first.block_bytes {
        write!(out, " of {}", human::bytes(block))?;
    }
    let one_size = rows.iter().all(|row| row.size_blocks == first.size_blocks);
    if one_size {
        let bytes = first.size_bytes.map_or(String::new(), |bytes| format!(" ({})", human::bytes(bytes)));
        writeln!(out, "; cache of {} blocks{bytes}\n{}", human::count(first.size_blocks.into()), table::counts(rows))?;
    } else {
        writeln!(out, "; hit ratio in % by cache size\n{}", table::hit_ratios(rows))?;
    }
    if let Some(summary) = words::summary(rows) {
        writeln!(out, "\n{}", human::wrap(&summary, style::width()))?;
    }
    Ok(())
}
