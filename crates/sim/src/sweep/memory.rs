//! A sweep over references to memory, where policies see faults and access bits alone.

use std::sync::Arc;

use hotset_core::policy::{PolicySpec, Setting};
use hotset_results::{Choice, Row};
use hotset_trace::Trace;

use super::Sweep;
use crate::error::SimError;
use crate::facts::TraceFacts;
use crate::paging::{self, HeldMemory, PagingPlan, relate_to_clock};
use crate::progress::Observer;
use hotset_core::view::BlockSize;

impl Sweep {
    /// Rows of an open trace of memory.
    pub(super) fn over_memory(
        &self,
        name: &str,
        mut trace: Trace,
        observer: &dyn Observer,
    ) -> Result<Vec<Row>, SimError> {
        let memory = trace.reader.memory().expect("the caller asked for it before");
        let told = memory.memory_meta();
        if let Some(clock) = &self.clock {
            return Err(SimError::NotOfMemory { trace: name.to_owned(), what: clock.asked_by().to_string() });
        }
        if self.options.block.is_some_and(|block| block != BlockSize::Bytes(told.page_bytes.into())) {
            return Err(SimError::CutPages { trace: name.to_owned(), page_bytes: told.page_bytes });
        }
        let held = {
            let reading = observer.reading(name, &trace.progress);
            paging::hold(memory, self.options.memory_bytes, reading.as_ref())?
        };
        observer.read(name, trace.reader.as_ref());
        if held.pages() == 0 {
            return Err(SimError::nothing_referenced(name, &self.selection));
        }
        let facts = TraceFacts {
            name: name.to_owned(),
            choice: Choice::default(),
            block_bytes: Some(held.page_bytes()),
            distinct: Some(held.pages().into()),
            has_ops: told.has_writes,
            sample: None,
            apps: Vec::new(),
        };
        self.over_pages(held, &facts, observer)
    }

    fn over_pages(&self, held: HeldMemory, facts: &TraceFacts, observer: &dyn Observer) -> Result<Vec<Row>, SimError> {
        let held = Arc::new(held);
        let frames = self.sizes.resolve(held.pages().into(), Some(held.page_bytes())).map_err(SimError::Sizes)?;
        let cells: Vec<(&PolicySpec, u32)> =
            self.policies.iter().flat_map(|policy| frames.iter().map(move |&frames| (policy, frames))).collect();
        let plan = |&(policy, frames): &(&PolicySpec, u32)| PagingPlan {
            entry: policy.entry(),
            args: policy.clone().set_in(Setting::Paging).args(Some(held.page_bytes())),
            frames,
            seed: self.seed,
            frees: self.frees,
        };
        let plans: Vec<PagingPlan> = cells.iter().map(plan).collect();
        let tallies = {
            let replaying = observer.replaying(plans.len(), Some(held.references()));
            paging::run(&held, &plans, replaying.as_ref())?
        };
        let row = |(&(policy, frames), tally): (&(&PolicySpec, u32), &paging::PagingTally)| {
            paging::row(facts, &held, policy.to_string(), frames, self.seed, tally)
        };
        let mut rows: Vec<Row> = cells.iter().zip(&tallies).map(row).collect();
        relate_to_clock(&mut rows);
        Ok(rows)
    }
}
