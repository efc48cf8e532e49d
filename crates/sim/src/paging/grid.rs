//! A grid of policies and sizes over one memory trace, cells side by side on all cores.

use std::sync::Arc;

use hotset_core::policy::{Args, Entry, Future, Setup};
use hotset_core::registry;
use rayon::prelude::*;

use super::cell::{Cell, Frees, PagingTally};
use super::held::HeldMemory;
use super::uses::{Ahead, Uses};
use crate::error::SimError;
use crate::progress::Progress;

/// One cell to be run.
#[derive(Clone, Debug)]
pub struct PagingPlan {
    /// The policy.
    pub entry: &'static Entry,
    /// Its arguments, with the defaults of paging: [`hotset_core::policy::Setting::Paging`].
    pub args: Args,
    /// Pages that fit, at least 1.
    pub frames: u32,
    /// Seed of its random numbers.
    pub seed: u64,
    /// What frees do.
    pub frees: Frees,
}

impl PagingPlan {
    fn name(&self) -> String {
        self.entry.info.name.to_owned()
    }

    /// Refuses a policy that memory does not tell enough.
    fn check(&self, trace: &HeldMemory) -> Result<(), SimError> {
        if self.frames == 0 {
            return Err(SimError::NoFrames { policy: self.name() });
        }
        registry::check_on_faults(self.entry, &self.args).map_err(SimError::EveryReference)?;
        if self.entry.info.offline && trace.entries.len() > u32::MAX as usize {
            return Err(SimError::TooManyReferences { policy: self.name() });
        }
        Ok(())
    }
}

/// Runs every plan. References are reported to `progress` once a cell.
pub fn run(
    trace: &Arc<HeldMemory>,
    plans: &[PagingPlan],
    progress: &dyn Progress,
) -> Result<Vec<PagingTally>, SimError> {
    plans.iter().try_for_each(|plan| plan.check(trace))?;
    let uses = plans.iter().any(|plan| plan.entry.info.offline).then(|| Arc::new(Uses::new(trace)));
    let run_one = |plan: &PagingPlan| {
        let mut cell = build(trace, uses.as_ref(), plan)?;
        let mut told = 0;
        for block in 0..trace.blocks.len() {
            cell.run(block);
            if block % 256 == 255 {
                progress.advance(trace.blocks[block].first_reference - told);
                told = trace.blocks[block].first_reference;
            }
        }
        progress.advance(trace.references - told);
        Ok(cell.tally())
    };
    plans.par_iter().with_max_len(1).map(run_one).collect()
}

fn build(trace: &Arc<HeldMemory>, uses: Option<&Arc<Uses>>, plan: &PagingPlan) -> Result<Cell, SimError> {
    let ahead = uses.filter(|_| plan.entry.info.offline).map(|uses| Ahead::new(trace, uses)).transpose();
    let future = ahead.map_err(SimError::Packer)?.map(|ahead| Future::Asked(Arc::new(ahead)));
    let setup = Setup {
        future: future.as_ref(),
        addresses: Some(&trace.addresses),
        ..Setup::new(&plan.args, plan.frames, trace.pages(), plan.seed)
    };
    let policy =
        plan.entry.build(&setup).map_err(|error| SimError::scheme(plan.entry.info.name, plan.frames, error))?;
    Cell::new(trace.clone(), policy, plan.frames, plan.frees).map_err(SimError::Packer)
}
