//! One trace of memory against policies at sizes: what `simulate` and `experiment` share.

use std::path::Path;
use std::sync::Arc;

use hotset_core::policy::{PolicySpec, Setting};
use hotset_core::spec::SizeSpec;
use hotset_sim::paging::{self, Facts, Frees, HeldMemory, PagingRow, Plan, relate_to_clock};
use hotset_sim::select::Selection;
use hotset_sim::{BlockSize, Options};
use hotset_trace::Trace;

use crate::failure::Failure;
use crate::progress::{Reading, Replaying};
use crate::traces::{nothing_referenced, say_remarks};

/// What is replayed against what.
pub(crate) struct PagingReplay<'a> {
    pub(crate) policies: &'a [PolicySpec],
    /// The sizes, and how they were written.
    pub(crate) sizes: (&'a SizeSpec, &'a str),
    /// Where they were written, for errors.
    pub(crate) sizes_from: &'a str,
    pub(crate) options: Options,
    pub(crate) frees: Frees,
    pub(crate) seed: u64,
}

impl PagingReplay<'_> {
    /// Rows of an open trace policy by policy, each at all sizes.
    pub(crate) fn rows_of(&self, mut trace: Trace, path: &Path) -> Result<Vec<PagingRow>, Failure> {
        let name = path.display().to_string();
        let Some(memory) = trace.reader.memory() else {
            let message = format!("{name} is no trace of memory: replay it apart from those that are");
            return Err(Failure::Usage(message));
        };
        let told = memory.memory_meta();
        if self.options.block.is_some_and(|block| block != BlockSize::Bytes(told.page_bytes.into())) {
            let message =
                format!("--block: {name} tells of pages of {} bytes, which cannot be cut again", told.page_bytes);
            return Err(Failure::Usage(message));
        }
        let held = paging::hold(memory, self.options.memory_bytes, &Reading::new(&name, &trace.progress))?;
        say_remarks(&name, trace.reader.as_ref())?;
        if held.pages() == 0 {
            return Err(nothing_referenced(&name, &Selection::default()));
        }
        self.replay(held, &Facts { name, has_writes: told.has_writes })
    }

    fn replay(&self, held: HeldMemory, facts: &Facts) -> Result<Vec<PagingRow>, Failure> {
        let (held, (sizes, written)) = (Arc::new(held), self.sizes);
        let frames = sizes
            .resolve(held.pages().into(), Some(held.page_bytes()))
            .map_err(|error| Failure::spec(self.sizes_from, written, &error))?;
        let cells: Vec<(&PolicySpec, u32)> =
            self.policies.iter().flat_map(|policy| frames.iter().map(move |&frames| (policy, frames))).collect();
        let plan = |&(policy, frames): &(&PolicySpec, u32)| Plan {
            entry: policy.entry(),
            args: policy.clone().set_in(Setting::Paging).args(Some(held.page_bytes())),
            frames,
            seed: self.seed,
            frees: self.frees,
        };
        let plans: Vec<Plan> = cells.iter().map(plan).collect();
        let tallies = paging::run(&held, &plans, &Replaying::new(plans.len(), Some(held.references())))?;
        let row = |(&(policy, frames), tally): (&(&PolicySpec, u32), &paging::Tally)| {
            facts.row(&held, policy.to_string(), frames, self.seed, tally)
        };
        let mut rows: Vec<PagingRow> = cells.iter().zip(&tallies).map(row).collect();
        relate_to_clock(&mut rows);
        Ok(rows)
    }
}
