//! A grid of cells (policies × sizes) over one trace.
//!
//! A held trace is replayed once a cell, cells side by side on all cores: only as many caches exist at a time as there are cores,
//! and each stays in the processor's cache. A stream is read once and every window goes to all cells.

use std::sync::Arc;

use hotset_core::policy::{Future, Info, Policy, Setup};
use hotset_core::registry::{self, Visitor};
use hotset_core::spec::{Args, SpecError};
use rayon::prelude::*;

use crate::cell::{Cell, PolicyCell, Tally};
use crate::directory::{Dense, Directory, Hashed};
use crate::error::SimError;
use crate::expand::Expanded;
use crate::future;
use crate::prepare::{Prepared, Stream};
use crate::progress::Progress;
use crate::references::{References, SideColumns};
use crate::window::{WINDOW, Window};

/// One cell to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The policy.
    pub info: &'static Info,
    /// Its arguments.
    pub args: Args,
    /// Blocks that fit.
    pub capacity: u32,
    /// Seed of its random numbers.
    pub seed: u64,
}

/// What a whole replay found out about the trace, with a tally for each plan.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// One a plan, in the order of the plans.
    pub tallies: Vec<Tally>,
    /// Distinct blocks; `None` when the trace was streamed and so never numbered.
    pub distinct: Option<u32>,
}

/// Runs every plan. References are reported to `progress` once a cell.
pub fn run(prepared: &mut Prepared, plans: &[Plan], progress: &dyn Progress) -> Result<Replayed, SimError> {
    match prepared {
        Prepared::Held(references) => {
            let tallies = run_held(references, plans, progress)?;
            Ok(Replayed { tallies, distinct: Some(references.distinct()) })
        }
        Prepared::Stream(stream) => Ok(Replayed { tallies: run_stream(stream, plans, progress)?, distinct: None }),
    }
}

fn run_held(references: &References, plans: &[Plan], progress: &dyn Progress) -> Result<Vec<Tally>, SimError> {
    let future = match plans.iter().find(|plan| plan.info.offline) {
        Some(plan) => Some(future_of(references, plan)?),
        None => None,
    };
    let by_app = references.has_apps();
    let run_one = |plan: &Plan| {
        let setup = Setup {
            capacity: plan.capacity,
            slots: references.distinct(),
            seed: plan.seed,
            args: &plan.args,
            future: future.as_ref(),
            addresses: Some(&references.addresses),
        };
        let mut cell =
            build(plan, BuildCell { setup, directory: Dense { addresses: references.addresses.clone() }, by_app })?;
        for window in references.windows() {
            cell.run(&window);
            progress.advance(window.keys.len() as u64);
        }
        Ok(cell.tally())
    };
    plans.par_iter().with_max_len(1).map(run_one).collect()
}

fn future_of(references: &References, plan: &Plan) -> Result<Future, SimError> {
    let too_many = |_| SimError::TooManyReferences { policy: plan.info.name.to_owned() };
    let next_use = future::next_use(references.ids(), references.distinct()).map_err(too_many)?;
    Ok(Future { slots: references.ids.clone(), next_use: Arc::new(next_use) })
}

fn run_stream(stream: &mut Stream, plans: &[Plan], progress: &dyn Progress) -> Result<Vec<Tally>, SimError> {
    let mut cells = Vec::with_capacity(plans.len());
    for plan in plans {
        if plan.info.offline {
            return Err(stream.refuse(plan.info.name, "or leave the policy out"));
        }
        let setup = Setup {
            capacity: plan.capacity,
            slots: 0,
            seed: plan.seed,
            args: &plan.args,
            future: None,
            addresses: None,
        };
        cells.push(build(plan, BuildCell { setup, directory: Hashed::default(), by_app: true })?);
    }
    for window in stream.begun.windows() {
        let keys: Vec<u64> = window.keys.iter().map(|&id| stream.begun.addresses[id as usize]).collect();
        feed(&mut cells, &window.with_keys(&keys), progress);
    }
    let mut expanded = Expanded::default();
    let mut begin = stream.begun.len();
    while stream.source.next(&mut expanded)? {
        let mut columns = SideColumns::starting_at(begin);
        columns.append(&expanded);
        columns.finish();
        for (index, keys) in expanded.keys.chunks(WINDOW).enumerate() {
            let window = columns.window(begin + (index * WINDOW) as u64, keys);
            feed(&mut cells, &window, progress);
        }
        begin += expanded.keys.len() as u64;
    }
    Ok(cells.iter().map(|cell| cell.tally()).collect())
}

fn feed(cells: &mut [Box<dyn Cell<u64>>], window: &Window<u64>, progress: &dyn Progress) {
    cells.par_iter_mut().with_max_len(1).for_each(|cell| cell.run(window));
    progress.advance(window.keys.len() as u64 * cells.len() as u64);
}

fn build<D: Directory + 'static>(plan: &Plan, visitor: BuildCell<D>) -> Result<Box<dyn Cell<D::Key>>, SpecError> {
    registry::visit(plan.info.name, visitor).expect("a plan's info comes from the registry")
}

struct BuildCell<'a, D> {
    setup: Setup<'a>,
    directory: D,
    by_app: bool,
}

impl<D: Directory + 'static> Visitor for BuildCell<'_, D> {
    type Output = Result<Box<dyn Cell<D::Key>>, SpecError>;

    fn visit<P: Policy + 'static>(self) -> Self::Output {
        let policy = P::new(&self.setup)?;
        Ok(Box::new(PolicyCell::new(policy, self.directory, self.setup.slots, self.by_app)))
    }
}
