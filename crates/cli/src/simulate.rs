//! `hotset simulate`: traces × policies × sizes.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use hotset_core::spec::{PolicySpec, SizeSpec};
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
const COLUMNS: [&str; 19] = [
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
    "distinct_blocks",
];

impl Simulate {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let policies =
            PolicySpec::parse_list(&self.policy).map_err(|error| Failure::spec("--policy", &self.policy, &error))?;
        let sizes = SizeSpec::parse(&self.size).map_err(|error| Failure::spec("--size", &self.size, &error))?;
        let mut rows = Vec::new();
        for trace in &self.traces {
            let of_trace = self.run_trace(trace, &policies, &sizes)?;
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
    fn run_trace(&self, path: &Path, policies: &[PolicySpec], sizes: &SizeSpec) -> Result<Vec<Row>, Failure> {
        let trace = self.read.open(path)?;
        let meta = trace.meta().clone();
        let options = self.cut.options();
        let block_bytes = options.block.unwrap_or_else(|| BlockSize::default_for(&meta)).bytes();
        let name = path.display().to_string();
        let (mut prepared, reader) = prepare(trace.reader, &options, &Reading::new(&name, &trace.progress))?;
        let (footprint, references) = match &prepared {
            Prepared::Held(references) if references.is_empty() => return Err(nothing_referenced(&name)),
            Prepared::Held(references) => (u64::from(references.distinct()), Some(references.len())),
            Prepared::Stream(stream) => {
                stream.check(sizes.needs_footprint(), policies.iter().find(|policy| policy.info().offline))?;
                (0, None)
            }
        };
        let capacities =
            sizes.resolve(footprint, block_bytes).map_err(|error| Failure::spec("--size", &self.size, &error))?;
        let plan = |policy: &PolicySpec, capacity| Plan {
            info: policy.info(),
            args: policy.args(block_bytes),
            capacity,
            seed: self.seed,
        };
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

fn show(rows: &[Row]) -> Result<(), Failure> {
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
