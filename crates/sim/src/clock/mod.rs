//! Replays on a machine with a clock, a store and read-ahead, in which each application makes its next request when the
//! one before it is served and its own work is done. A cache that hits more lets it finish earlier. Also series over
//! time of hits and residents.
//!
//! The work between two requests of an application is the time between them in the trace, which includes their service
//! there: traces do not separate the two. Applications wait for blocks that they read and miss. All other transfers
//! (blocks that a scheme fetches, evicted blocks that were written) go to the same store behind them and delay the next
//! request.

mod lanes;
mod read_ahead;
mod replay;
mod residents;
mod series;

pub use crate::engine::{AppTimes, BANDS, ClockOptions, Every, Heat, IntervalSample, Point, Times};

use std::sync::OnceLock;

use hotset_core::policy::{App, PolicySpec, Profiling, Setup};

use crate::engine::{Cell, Dense, Ended, Hashed, Plan};
use crate::error::SimError;
use crate::references::{References, Trace};
use lanes::Lane;
use read_ahead::{Files, ReadAhead};
use replay::{Ahead, Replay};

/// A trace that is replayed on a clock.
pub(crate) struct Clock<'a> {
    trace: &'a References,
    lanes: OnceLock<Vec<Lane>>,
    files: OnceLock<Files>,
}

impl<'a> Clock<'a> {
    pub fn new(trace: &'a References) -> Clock<'a> {
        Clock { trace, lanes: OnceLock::new(), files: OnceLock::new() }
    }

    fn lanes(&self) -> &[Lane] {
        self.lanes.get_or_init(|| lanes::lanes(&self.trace.window()))
    }

    /// Replays the whole trace.
    pub fn run(&self, plan: &Plan, setup: &Setup, options: &ClockOptions) -> Result<Ended, SimError> {
        let policy = plan.entry.build(setup).map_err(|error| plan.refused(error))?;
        let replay = Replay::new(policy, Dense::new(self.trace.addresses.clone()), plan, options, &self.trace.facts());
        let mut replay =
            replay.with_blocks(setup.slots, &self.trace.block_bytes).with_ahead(self.ahead(plan, setup.capacity));
        let window = self.trace.window();
        replay.run_lanes(&window, self.lanes());
        replay.count(&window);
        Ok(replay.finish())
    }

    fn ahead(&self, plan: &Plan, capacity: u32) -> Option<Ahead<'_>> {
        let ahead = || {
            let files = self.files.get_or_init(|| Files::of(&self.trace.addresses));
            Ahead::new(ReadAhead::new(plan.args.block_bytes(), capacity), files)
        };
        plan.reads_ahead().then(ahead)
    }

    /// References of an application, and how many of them hit alone in a cache of `capacity` blocks under `policy`, all
    /// else as in `plan`; `None` if it does not occur. Requests that the user excludes from the counts are counted,
    /// too: a policy's knowledge of an application does not depend on the user's selection.
    fn alone(&self, app: u32, policy: &PolicySpec, capacity: u32, plan: &Plan) -> Result<Option<Alone>, SimError> {
        let Some(lane) = self.lanes().iter().find(|lane| lane.app == app) else { return Ok(None) };
        let around = Setup { capacity, ..plan.setup(Some(&self.trace.addresses), None, &[])? };
        let policy = policy.build(capacity, &around).map_err(|error| plan.refused(error))?;
        let (directory, facts) = (Dense::new(self.trace.addresses.clone()), self.trace.facts());
        let replay = Replay::new(policy, directory, plan, &ClockOptions::default(), &facts);
        let mut replay =
            replay.with_blocks(around.slots, &self.trace.block_bytes).with_ahead(self.ahead(plan, capacity));
        replay.run_lanes(&self.trace.window(), std::slice::from_ref(lane));
        let references = lane.runs.iter().map(|run| u64::from(run.references)).sum();
        Ok(Some(Alone { references, hits: replay.hits() }))
    }
}

/// The counts of an application alone.
#[derive(Clone, Copy, Debug)]
struct Alone {
    references: u64,
    hits: u64,
}

/// A cell over a stream, with a series.
pub(crate) fn cell(
    plan: &Plan,
    setup: &Setup,
    options: &ClockOptions,
    trace: &Trace,
) -> Result<Box<dyn Cell<u64>>, SimError> {
    let policy = plan.entry.build(setup).map_err(|error| plan.refused(error))?;
    Ok(Box::new(Replay::new(policy, Hashed::default(), plan, options, trace)))
}

/// The applications of a trace by their names, with nothing measured.
pub(crate) fn named(names: &[String]) -> Vec<App> {
    names.iter().map(|name| App::from(name.as_str())).collect()
}

/// The applications of the trace, measured as the policy of `plan` wants it, or read from where it was measured: the
/// hit rate in percent of each alone, at each size; none if it does not occur.
pub(crate) fn apps(clock: &Clock, plan: &Plan) -> Result<Vec<App>, SimError> {
    let mut apps = named(&clock.trace.apps);
    let Some(profiling) = plan.requirements()?.profiling else { return Ok(apps) };
    let (policy, sizes) = match profiling {
        Profiling::Alone { policy, sizes } => (policy, sizes),
        Profiling::Read { policy, file } => {
            let read = hotset_trace::profile::read(&file, &policy, plan.args.block_bytes(), &mut apps);
            read.map_err(|error| plan.refused(error))?;
            return Ok(apps);
        }
    };
    if apps.is_empty() {
        // A trace that names none has one.
        apps.push(App::default());
    }
    for (number, app) in apps.iter_mut().enumerate() {
        for &size in &sizes {
            let Some(alone) = clock.alone(number as u32, &policy, size, plan)? else { break };
            app.references = alone.references;
            app.profile.push((size, 100.0 * alone.hits as f64 / alone.references as f64));
        }
    }
    Ok(apps)
}

#[cfg(test)]
mod tests;
