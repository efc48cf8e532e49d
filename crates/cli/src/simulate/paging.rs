//! `hotset simulate` on traces of memory: paging policies, which see faults and access bits alone.

mod show;

use std::path::Path;
use std::sync::Arc;

use hotset_core::paging::PagingSpec;
use hotset_core::spec::SizeSpec;
use hotset_sim::BlockSize;
use hotset_sim::paging::{self, Facts, Frees, HeldMemory, PagingRow, Plan, relate_to_clock};
use hotset_trace::Trace;

use super::Simulate;
use crate::failure::Failure;
use crate::output::files;
use crate::progress::{Reading, Replaying};
use crate::traces::{nothing_referenced, say_remarks};

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
    "write_backs",
    "distinct_blocks",
    "faults_after_fill",
    "faults_per_million_references",
    "faults_per_million_instructions",
    "refaults",
    "refault_distance",
    "refault_distance_to_clock",
];

/// What there is to do with every trace.
struct Job<'a> {
    command: &'a Simulate,
    policies: &'a [PagingSpec],
    sizes: &'a SizeSpec,
}

impl Simulate {
    /// All of the command, for traces of memory, of which the first is open.
    pub(super) fn run_paging(&self, first: Trace, sizes: &SizeSpec) -> Result<(), Failure> {
        let policies =
            PagingSpec::parse_list(&self.policy).map_err(|error| Failure::spec("--policy", &self.policy, &error))?;
        let job = Job { command: self, policies: &policies, sizes };
        let mut opened = Some(first);
        let mut rows = Vec::new();
        for path in &self.traces {
            let trace = opened.take().map_or_else(|| self.read.open(path), Ok)?;
            let of_trace = job.run(trace, path)?;
            if !self.has_stdout_data() {
                show::rows(&of_trace)?;
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
}

impl Job<'_> {
    /// Rows policy by policy, each at all sizes.
    fn run(&self, mut trace: Trace, path: &Path) -> Result<Vec<PagingRow>, Failure> {
        let name = path.display().to_string();
        let options = self.command.cut.options();
        let Some(memory) = trace.reader.memory() else {
            return Err(Failure::Usage(format!(
                "{name} is no trace of memory, but {} is: simulate them one after the other",
                self.command.traces[0].display()
            )));
        };
        let told = memory.memory_meta();
        if options.block.is_some_and(|block| block != BlockSize::Bytes(told.page_bytes.into())) {
            let message =
                format!("--block: {name} tells of pages of {} bytes, which cannot be cut again", told.page_bytes);
            return Err(Failure::Usage(message));
        }
        let held = paging::hold(memory, options.memory_bytes, &Reading::new(&name, &trace.progress))?;
        say_remarks(&name, trace.reader.as_ref())?;
        if held.pages() == 0 {
            return Err(nothing_referenced(&name));
        }
        let facts = Facts { name, has_writes: told.has_writes };
        self.replay(held, &facts)
    }

    fn replay(&self, held: HeldMemory, facts: &Facts) -> Result<Vec<PagingRow>, Failure> {
        let (command, held) = (self.command, Arc::new(held));
        let frames = self
            .sizes
            .resolve(held.pages().into(), Some(held.page_bytes()))
            .map_err(|error| Failure::spec("--size", &command.size, &error))?;
        let cells: Vec<(&PagingSpec, u32)> =
            self.policies.iter().flat_map(|policy| frames.iter().map(move |&frames| (policy, frames))).collect();
        let frees = if command.keep_freed { Frees::Keep } else { Frees::Drop };
        let plan = |&(policy, frames): &(&PagingSpec, u32)| Plan {
            info: policy.info(),
            args: policy.args(held.page_bytes()),
            frames,
            seed: command.seed,
            frees,
        };
        let plans: Vec<Plan> = cells.iter().map(plan).collect();
        let tallies = paging::run(&held, &plans, &Replaying::new(plans.len(), Some(held.references())))?;
        let row = |(&(policy, frames), tally): (&(&PagingSpec, u32), &paging::Tally)| {
            facts.row(&held, policy.to_string(), frames, command.seed, tally)
        };
        let mut rows: Vec<PagingRow> = cells.iter().zip(&tallies).map(row).collect();
        relate_to_clock(&mut rows);
        Ok(rows)
    }
}
