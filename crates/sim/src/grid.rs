//! A grid of cells (policies × sizes) over one trace.
//!
//! A held trace is replayed once a cell, cells side by side on all cores: only as many caches exist at a time as there
//! are cores, and each stays in the processor's cache. A stream is read once and every window goes to all cells.

use std::sync::{Arc, LazyLock};

use hotset_core::policy::{App, Args, Column, Entry, Future, Policy, PolicySpec, Run, Setup, Told};
use hotset_core::registry::{self, Visitor};
use hotset_core::spec::SpecError;
use hotset_core::view::View;
use rayon::prelude::*;

use crate::cell::{Cell, PolicyCell, Tally};
use crate::directory::{Dense, Directory, Hashed};
use crate::error::SimError;
use crate::expand::Expanded;
use crate::future;
use crate::machine::{self, Machine};
use crate::prepare::{Prepared, Stream};
use crate::profile;
use crate::progress::Progress;
use crate::references::{References, SideColumns};
use crate::view::{self, ClassCell, Shown};
use crate::window::Window;

/// One cell to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The policy.
    pub entry: &'static Entry,
    /// Its arguments.
    pub args: Args,
    /// Blocks that fit.
    pub capacity: u32,
    /// Seed of its random numbers.
    pub seed: u64,
}

impl Plan {
    /// The plan for a run of known length.
    pub(crate) fn over(&self, run: Run) -> Plan {
        Plan { args: self.args.clone().over(Some(run)), ..self.clone() }
    }

    /// How the policy wants to see the trace.
    pub(crate) fn view(&self) -> Result<View, SimError> {
        self.entry.asks.view(&self.args, self.capacity).map_err(|error| self.refused(error))
    }

    /// The error of a plan that cannot be built.
    pub(crate) fn refused(&self, error: SpecError) -> SimError {
        SimError::scheme(self.entry.info.name, self.capacity, error)
    }

    /// True if the policy, or one in it, must know the future.
    pub(crate) fn is_offline(&self) -> bool {
        self.entry.info.offline || self.args.policies().any(PolicySpec::is_offline)
    }
}

/// True if the policy wants to see the trace in another view than the plain one at some size, so that its requests must
/// be kept.
pub fn wants_requests(entry: &Entry, args: &Args) -> bool {
    entry.asks.view(args, 1 << 20).is_ok_and(|view| view != View::default())
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
    check(plans, references)?;
    let plans: Vec<Plan> = plans.iter().map(|plan| plan.over(references.run())).collect();
    // One view at a time: each takes as much memory as a trace.
    let mut views: Vec<(View, Vec<usize>)> = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        let view = plan.view()?;
        match views.iter_mut().find(|(known, _)| *known == view) {
            Some((_, plans)) => plans.push(number),
            None => views.push((view, vec![number])),
        }
    }
    let mut tallies = vec![Tally::default(); plans.len()];
    for (view, numbers) in &views {
        let seeing: Vec<&Plan> = numbers.iter().map(|&number| &plans[number]).collect();
        let seen = match view == &View::default() {
            true => run_plain(references, &seeing, progress)?,
            false => run_shown(references, view, &seeing, progress)?,
        };
        numbers.iter().zip(seen).for_each(|(&number, tally)| tallies[number] = tally);
    }
    Ok(tallies)
}

fn run_plain(references: &References, plans: &[&Plan], progress: &dyn Progress) -> Result<Vec<Tally>, SimError> {
    let future = future_of(&references.ids, references.distinct(), plans)?;
    let by_app = references.has_apps();
    let machine = LazyLock::new(|| Machine::new(references));
    let run_one = |plan: &&Plan| {
        if plan.entry.asks.reads_ahead(&plan.args) {
            let replayed = machine.run(plan, &machine::Options::default())?;
            progress.advance(references.len());
            return Ok(replayed.tally);
        }
        let apps = match profile::is_wanted(plan) {
            true => profile::apps(&machine, plan)?,
            false => profile::named(&references.apps),
        };
        let setup = setup(plan, &references.addresses, future.as_ref(), &apps);
        let directory = Dense { addresses: references.addresses.clone() };
        let mut cell = build(plan, BuildCell { setup, directory, by_app })?;
        for window in references.windows() {
            cell.run(&window);
            progress.advance(window.keys.len() as u64);
        }
        Ok(cell.tally())
    };
    plans.par_iter().with_max_len(1).map(run_one).collect()
}

fn run_shown(
    references: &References,
    view: &View,
    plans: &[&Plan],
    progress: &dyn Progress,
) -> Result<Vec<Tally>, SimError> {
    let requests = references
        .requests
        .as_ref()
        .ok_or_else(|| SimError::NoRequests { policy: plans[0].entry.info.name.to_owned() })?;
    let shown = view::show(requests, view, plans[0].entry.info.name)?;
    let ids: Column = shown.ids.clone();
    let future = future_of(&ids, shown.addresses.len() as u32, plans)?;
    // Cells are reported in references of the plain view, of which the user knows the number.
    let scale = references.len() as f64 / shown.len().max(1) as f64;
    let advance = |replayed: usize| progress.advance((replayed as f64 * scale) as u64);
    let apps = profile::named(&references.apps);
    let run_one = |plan: &&Plan| {
        let setup = setup(plan, &shown.addresses, future.as_ref(), &apps);
        let run = RunShown { setup, shown: &shown, progress: &advance };
        let ran = registry::visit(plan.entry.info.name, run).expect("a plan's info comes from the registry");
        ran.map_err(|error| plan.refused(error))
    };
    plans.par_iter().with_max_len(1).map(run_one).collect()
}

struct RunShown<'a> {
    setup: Setup<'a>,
    shown: &'a Shown,
    progress: &'a (dyn Fn(usize) + Sync),
}

impl Visitor for RunShown<'_> {
    type Output = Result<Tally, SpecError>;

    fn visit<P: Policy + 'static>(self) -> Self::Output {
        Ok(ClassCell::new(P::new(&self.setup)?, self.shown).run(self.shown, self.progress))
    }
}

/// Refuses plans that need times where there are none, or a future that is made as they go.
fn check(plans: &[Plan], references: &References) -> Result<(), SimError> {
    for plan in plans {
        let policy = plan.entry.info.name.to_owned();
        if plan.args.wants_clock() && !references.has_times() {
            return Err(SimError::NoTimes { policy });
        }
        if plan.entry.asks.reads_ahead(&plan.args) && plan.is_offline() {
            return Err(SimError::FutureAhead { policy });
        }
    }
    Ok(())
}

pub(crate) fn setup<'a>(
    plan: &'a Plan,
    addresses: &'a [u64],
    future: Option<&'a Future>,
    apps: &'a [App],
) -> Setup<'a> {
    let Plan { capacity, seed, args, .. } = plan;
    let slots = addresses.len() as u32;
    Setup { capacity: *capacity, slots, seed: *seed, args, future, addresses: Some(addresses), apps }
}

/// The future of the references to `ids`, if one of the plans must know it.
fn future_of(ids: &Column, distinct: u32, plans: &[&Plan]) -> Result<Option<Future>, SimError> {
    let Some(plan) = plans.iter().find(|plan| plan.is_offline()) else { return Ok(None) };
    let too_many = |_| SimError::TooManyReferences { policy: plan.entry.info.name.to_owned() };
    let next_use = future::next_use((**ids).as_ref(), distinct).map_err(too_many)?;
    Ok(Some(Future::Told(Told { slots: ids.clone(), next_use: Arc::new(next_use) })))
}

fn run_stream(stream: &mut Stream, plans: &[Plan], progress: &dyn Progress) -> Result<Vec<Tally>, SimError> {
    check(plans, &stream.begun)?;
    let apps = profile::named(&stream.begun.apps);
    let mut cells = Vec::with_capacity(plans.len());
    for plan in plans {
        if plan.is_offline() || plan.view()? != View::default() {
            return Err(stream.refuse(plan.entry.info.name, "or leave the policy out"));
        }
        if plan.entry.asks.reads_ahead(&plan.args) {
            return Err(stream.refuse("reading ahead", "or give prefetch=off"));
        }
        let setup = Setup {
            capacity: plan.capacity,
            slots: 0,
            seed: plan.seed,
            args: &plan.args,
            future: None,
            addresses: None,
            apps: &apps,
        };
        cells.push(build(plan, BuildCell { setup, directory: Hashed::default(), by_app: true })?);
    }
    for window in stream.begun.windows() {
        let keys: Vec<u64> = window.keys.iter().map(|&id| stream.begun.addresses[id as usize]).collect();
        feed(&mut cells, &window.with_keys(&keys), progress);
    }
    let mut expanded = Expanded::default();
    let mut begin = stream.begun.len();
    loop {
        while stream.source.cut(&mut expanded)? {
            let mut columns = SideColumns::starting_at(begin);
            columns.append(&expanded);
            columns.finish();
            feed(&mut cells, &columns.window(begin, &expanded.keys), progress);
            begin += expanded.keys.len() as u64;
        }
        if !stream.source.read()? {
            break;
        }
    }
    Ok(cells.iter().map(|cell| cell.tally()).collect())
}

fn feed(cells: &mut [Box<dyn Cell<u64>>], window: &Window<u64>, progress: &dyn Progress) {
    cells.par_iter_mut().with_max_len(1).for_each(|cell| cell.run(window));
    progress.advance(window.keys.len() as u64 * cells.len() as u64);
}

fn build<D: Directory + 'static>(plan: &Plan, visitor: BuildCell<D>) -> Result<Box<dyn Cell<D::Key>>, SimError> {
    let built = registry::visit(plan.entry.info.name, visitor).expect("a plan's info comes from the registry");
    built.map_err(|error| plan.refused(error))
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
