//! A grid of paging policies and sizes over one trace, cells side by side on all cores.

use std::sync::Arc;

use hotset_core::paging::{self, PagingPolicy, Setup, Visitor};
use hotset_core::policy::{Args, Info};
use rayon::prelude::*;

use super::cell::{Cell, Frees, PolicyCell, Tally};
use super::held::HeldMemory;
use super::uses::Uses;
use crate::error::SimError;
use crate::progress::Progress;

/// One cell to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The policy.
    pub info: &'static Info,
    /// Its arguments.
    pub args: Args,
    /// Pages that fit, at least 1.
    pub frames: u32,
    /// Seed of its random numbers.
    pub seed: u64,
    /// What frees do.
    pub frees: Frees,
}

/// Runs every plan. References are reported to `progress` once a cell.
pub fn run(trace: &Arc<HeldMemory>, plans: &[Plan], progress: &dyn Progress) -> Result<Vec<Tally>, SimError> {
    if let Some(plan) = plans.iter().find(|plan| plan.frames == 0) {
        return Err(SimError::NoFrames { policy: plan.info.name.to_owned() });
    }
    if let Some(plan) = plans.iter().find(|plan| plan.info.offline)
        && trace.entries.len() > u32::MAX as usize
    {
        return Err(SimError::TooManyReferences { policy: plan.info.name.to_owned() });
    }
    let uses = plans.iter().any(|plan| plan.info.offline).then(|| Arc::new(Uses::new(trace)));
    let run_one = |plan: &Plan| {
        let visitor = Build { trace, uses: uses.as_ref(), plan };
        let mut cell = paging::visit(plan.info.name, visitor).expect("a plan's info comes from the table")?;
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

struct Build<'a> {
    trace: &'a Arc<HeldMemory>,
    uses: Option<&'a Arc<Uses>>,
    plan: &'a Plan,
}

impl Visitor for Build<'_> {
    type Output = Result<Box<dyn Cell>, SimError>;

    fn visit<P: PagingPolicy + 'static>(self) -> Self::Output {
        let Build { trace, uses, plan } = self;
        let setup = Setup { frames: plan.frames, addresses: &trace.addresses, seed: plan.seed, args: &plan.args };
        let policy = P::new(&setup).map_err(|error| SimError::scheme(P::INFO.name, plan.frames, error))?;
        let cell = PolicyCell::new(trace.clone(), uses.cloned(), policy, plan.frames, plan.frees);
        Ok(Box::new(cell.map_err(SimError::Packer)?))
    }
}
