//! Replays on a machine that has a clock and a disk, and reads ahead: each application makes its next request when the
//! one before it is served and its own work is done, so that a cache that hits more lets it finish earlier; and series
//! over time of what was hit and what is held.
//!
//! The work between two requests of an application is the time between them in the trace, the service that they had
//! there included: traces do not tell it apart. Applications wait for blocks that they read and miss. Whatever is read
//! or written besides (blocks that a scheme wants, evicted blocks that were written) goes to the same disk behind them
//! and delays whoever comes next.

mod disk;
mod files;
mod host;
mod lanes;
mod read_ahead;
mod replay;
mod series;

pub use disk::{DISKS, Disk};
pub use host::{BANDS, Heat};
pub use replay::{AppTimes, Replayed, Times};
pub use series::{Every, Point, Sample};

use std::sync::OnceLock;

use hotset_core::counters::Counters;
use hotset_core::policy::dynamic::DynPolicy;
use hotset_core::policy::{PolicySpec, Setup};
use hotset_core::view::View;
use rayon::prelude::*;

use crate::error::SimError;
use crate::grid::{self, Plan};
use crate::profile;
use crate::progress::Progress;
use crate::references::References;
use files::Files;
use lanes::Lane;
use read_ahead::ReadAhead;
use replay::{Ahead, Replay};

/// How cells are replayed.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The disk behind the cache; without one requests come as they stand in the trace, and take no time.
    pub disk: Option<Disk>,
    /// How often a series has a sample; none if `None`.
    pub every: Option<Every>,
}

/// Runs every plan. References are reported to `progress` once a cell. Fails for policies that must know the future, if
/// a disk decides what comes next, for schemes that cut or classify blocks in their own way, and if the trace has no
/// times where they are wanted.
pub fn run(
    references: &References,
    plans: &[Plan],
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<Replayed>, SimError> {
    for plan in plans {
        check(references, plan, options)?;
    }
    let machine = Machine::new(references);
    let run_one = |plan: &Plan| {
        let replayed = machine.run(&plan.over(references.run()), options)?;
        progress.advance(references.len());
        Ok(replayed)
    };
    plans.par_iter().with_max_len(1).map(run_one).collect()
}

fn check(references: &References, plan: &Plan, options: &Options) -> Result<(), SimError> {
    let name = plan.entry.info.name.to_owned();
    if plan.is_offline() {
        return Err(SimError::Timeless { policy: name });
    }
    if plan.view()? != View::default() {
        return Err(SimError::TimedView { policy: name });
    }
    let by_clock = options.disk.is_some() || matches!(options.every, Some(Every::Time(_)));
    match (references.has_times(), by_clock, plan.args.wants_clock()) {
        (false, true, _) => Err(SimError::NoClock),
        (false, _, true) => Err(SimError::NoTimes { policy: name }),
        _ => Ok(()),
    }
}

/// A trace on a machine.
pub(crate) struct Machine<'a> {
    pub references: &'a References,
    lanes: Vec<Lane>,
    files: OnceLock<Files>,
}

impl<'a> Machine<'a> {
    pub fn new(references: &'a References) -> Machine<'a> {
        Machine { references, lanes: lanes::lanes(references), files: OnceLock::new() }
    }

    /// Replays the whole trace.
    pub fn run(&self, plan: &Plan, options: &Options) -> Result<Replayed, SimError> {
        let apps = profile::apps(self, plan)?;
        let setup = grid::setup(plan, &self.references.addresses, None, &apps);
        let policy = plan.entry.asks.build(&setup).map_err(|error| plan.refused(error))?;
        Ok(self.replay(&self.lanes, policy, plan, plan.capacity, options).run())
    }

    /// The counts of an application alone in a cache of `capacity` blocks under `policy`, all else as in `plan`; `None`
    /// if it does not occur.
    pub fn alone(
        &self,
        app: u32,
        policy: &PolicySpec,
        capacity: u32,
        plan: &Plan,
    ) -> Result<Option<Counters>, SimError> {
        let Some(lane) = self.lanes.iter().position(|lane| lane.app == app) else { return Ok(None) };
        let around = Setup { capacity, ..grid::setup(plan, &self.references.addresses, None, &[]) };
        let policy = policy.build(capacity, &around).map_err(|error| plan.refused(error))?;
        let lane = std::slice::from_ref(&self.lanes[lane]);
        Ok(Some(self.replay(lane, policy, plan, capacity, &Options::default()).counting_all().run().tally.total))
    }

    fn replay<'b>(
        &'b self,
        lanes: &'b [Lane],
        policy: Box<dyn DynPolicy>,
        plan: &Plan,
        capacity: u32,
        options: &Options,
    ) -> Replay<'b> {
        let block_bytes = plan.args.block_bytes();
        let files = || self.files.get_or_init(|| Files::of(&self.references.addresses));
        let ahead = || Ahead::new(ReadAhead::new(block_bytes, capacity), files());
        let ahead = plan.entry.asks.reads_ahead(&plan.args).then(ahead);
        Replay::new(self.references, lanes, policy, options, block_bytes, ahead)
    }
}

#[cfg(test)]
mod tests;
