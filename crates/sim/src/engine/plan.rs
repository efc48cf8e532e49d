//! Planned runs, and the checks of their options.

use hotset_core::host::room;
use hotset_core::policy::{App, Args, Entry, Future, OnePass, PolicySpec, Requirements, Run, Setup};
use hotset_core::setting::SettingName;
use hotset_core::spec::SpecError;
use hotset_core::view::View;

use super::clocked::{ClockOptions, Every};
use super::{depths, one_pass};
use crate::error::SimError;
use crate::references::Trace;

/// One cell to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The policy.
    pub entry: &'static Entry,
    /// Its arguments.
    pub args: Args,
    /// Blocks that fit.
    pub capacity: u32,
    /// Bytes of objects that fit, in place of that.
    pub bytes: Option<u64>,
    /// Seed of its random numbers.
    pub seed: u64,
}

impl Plan {
    /// The plan for a run of known length.
    pub(crate) fn over(&self, run: Run) -> Plan {
        Plan { args: self.args.clone().over(Some(run)), ..self.clone() }
    }

    /// The requirements of the policy.
    pub(crate) fn requirements(&self) -> Result<Requirements, SimError> {
        self.entry.requirements(&self.args, self.capacity).map_err(|error| self.refused(error))
    }

    /// The error of a plan that cannot be built.
    pub(crate) fn refused(&self, error: SpecError) -> SimError {
        SimError::scheme(self.entry.info.name, self.capacity, error)
    }

    /// True if the policy, or one in it, must know the future.
    pub(crate) fn is_offline(&self) -> bool {
        self.entry.info.offline || self.args.policies().any(PolicySpec::is_offline)
    }

    /// True if the host is to read ahead.
    pub(crate) fn reads_ahead(&self) -> bool {
        self.requirements().is_ok_and(|requirements| requirements.reads_ahead)
    }

    /// True if one pass counts it at several sizes.
    fn is_of_one_pass(&self) -> bool {
        let is_small = (1..=one_pass::LARGEST).contains(&self.capacity);
        is_small && self.bytes.is_none() && self.entry.info.one_pass == Some(OnePass::LastUse) && !self.reads_ahead()
    }

    /// The input from which the policy is built. Without addresses slots are handed out as they are needed.
    pub(crate) fn setup<'a>(
        &'a self,
        addresses: Option<&'a [u64]>,
        future: Option<&'a Future>,
        apps: &'a [App],
    ) -> Result<Setup<'a>, SimError> {
        let slots = addresses.map_or(0, |addresses| addresses.len() as u32);
        let begun = |bytes| room::begun_with(bytes, |capacity| self.entry.requirements(&self.args, capacity));
        let begun = self.bytes.map(begun).transpose().map_err(|error| self.refused(error))?;
        let capacity = begun.map_or(self.capacity, |(capacity, _)| capacity);
        let setup = Setup::new(&self.args, capacity, slots, self.seed);
        Ok(Setup { future, addresses, apps, weighs: self.bytes.is_some(), ..setup })
    }
}

/// Which of the plans run as one cell: those of one pass, in as many cells as there are threads or fewer, dealt by size
/// so that each has as much to do; each other one alone, and on the clock all.
///
/// Plans of one pass that are many run as a single cell by depths, where `can_use_depths`.
pub(crate) fn cells_of(plans: &[&Plan], options: &ClockOptions, can_use_depths: bool) -> Vec<Vec<usize>> {
    let is_shared = !options.is_asked() && !options.costs;
    let (mut together, alone): (Vec<usize>, Vec<usize>) =
        (0..plans.len()).partition(|&number| is_shared && plans[number].is_of_one_pass());
    together.sort_by_key(|&number| plans[number].capacity);
    let cells = together.len().div_ceil(WORTHWHILE).min(rayon::current_num_threads());
    let cells = match can_use_depths && together.len() >= depths::WORTHWHILE {
        true => 1,
        false => cells.max(together.len().div_ceil(one_pass::MOST)),
    };
    let dealt = (0..cells).map(|cell| together.iter().copied().skip(cell).step_by(cells).collect());
    dealt.chain(alone.into_iter().map(|number| vec![number])).collect()
}

/// A second pass is worth a thread for so many sizes.
const WORTHWHILE: usize = 4;

/// Refuses a plan that makes no sense: times where there are none, or a future that is made as it goes.
pub(crate) fn check(plan: &Plan, options: &ClockOptions, trace: &Trace) -> Result<(), SimError> {
    let policy = || plan.entry.info.name.to_owned();
    let by_clock = options.store.is_some() || matches!(options.every, Some(Every::Time(_)));
    match (trace.has_times, by_clock, plan.args.wants_clock()) {
        (false, true, _) => return Err(SimError::NoClock),
        (false, _, true) => return Err(SimError::NoTimes { policy: policy() }),
        _ => {}
    }
    if options.store.is_none() && plan.args.wants_load() {
        return Err(SimError::NoLoad { policy: policy() });
    }
    if plan.bytes.is_some() {
        check_in_bytes(plan, options)?;
    }
    match plan.is_offline() {
        true if plan.reads_ahead() => Err(SimError::FutureAhead { policy: policy() }),
        true if options.store.is_some() && trace.has_apps => Err(SimError::Timeless { policy: policy() }),
        _ => Ok(()),
    }
}

/// Refuses what makes no sense, or is not known, where a cache is measured in bytes of objects.
pub(crate) fn check_in_bytes(plan: &Plan, options: &ClockOptions) -> Result<(), SimError> {
    let requirements = plan.requirements()?;
    let clock = format!("{} and {} count blocks", SettingName("store"), SettingName("series"));
    let wrong = [
        (plan.is_offline(), "the next use alone does not say which of two objects of different sizes should leave"),
        (requirements.view != View::default(), "it divides the cache by kinds of data"),
        (requirements.profiling.is_some(), "it measures applications by blocks"),
        (requirements.reads_ahead, "objects have no neighbours to read ahead"),
        (options.is_asked(), &clock),
    ];
    match wrong.into_iter().find(|(is_so, _)| *is_so) {
        Some((_, why)) => Err(SimError::InBytes { policy: plan.entry.info.name.to_owned(), why: why.to_owned() }),
        None => Ok(()),
    }
}
