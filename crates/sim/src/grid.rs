//! A grid of cells (policies × sizes) over one trace.
//!
//! LRU at several sizes is one cell. A held trace is replayed once a cell, cells side by side on all cores: only as
//! many caches exist at a time as there are cores, and each stays in the processor's cache. A stream is read once and
//! every window goes to all cells.

use hotset_core::setting::SettingName;
use std::sync::Arc;

use hotset_core::host::room::Room;
use hotset_core::policy::{Args, Capabilities, Entry, Explanation, Future, Policy, Setup, Told};
use hotset_core::registry::{self, Boxed, Visitor};
use hotset_core::spec::SpecError;
use hotset_core::view::View;
use rayon::prelude::*;

use crate::clock::{self, Clock, ClockOptions, IntervalSample};
use crate::engine::{
    Bytes, Cell, Dense, DepthsCell, Directory, Hashed, OnePassCell, PolicyCell, Timed, WORTH_DEPTHS, cells_of, check,
    check_in_bytes,
};
use crate::error::SimError;
use crate::expand::Expanded;
use crate::expand::requests::Told as ToldRequests;
use crate::expand::show::Shower;
use crate::progress::Progress;
use crate::references::future;
use crate::references::numbering;
use crate::references::prepare::{Prepared, Stream};
use crate::references::{References, SideColumns, Trace};
use crate::window::Window;

pub use crate::engine::Plan;
use crate::engine::{Ended, Tally};

/// True if the policy wants to see the trace in another view than the plain one at some size, so that its requests must
/// be kept.
pub fn wants_requests(entry: &Entry, args: &Args) -> bool {
    entry.requirements(args, 1 << 20).is_ok_and(|requirements| requirements.view != View::default())
}

/// Why the policy cannot be measured in bytes of objects, if it cannot.
pub(crate) fn refused_in_bytes(entry: &'static Entry, args: &Args) -> Option<SimError> {
    let plan = Plan { entry, args: args.clone(), capacity: 1 << 20, bytes: Some(1 << 30), seed: 1 };
    check_in_bytes(&plan, &ClockOptions::default()).err()
}

/// The facts that a whole replay found about the trace, with the results of each plan, in the order of the plans.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// The counts of each plan.
    pub tallies: Vec<Tally>,
    /// For each plan one stretch after another, if they were asked for.
    pub samples: Vec<Vec<IntervalSample>>,
    /// The learnt state of the policy of each plan.
    pub explanations: Vec<Vec<Explanation>>,
    /// For each plan the nanoseconds that a reference took on average, if they were asked for.
    pub reference_nanoseconds: Vec<Option<f64>>,
    /// Distinct blocks; `None` when the trace was streamed and so never numbered.
    pub distinct: Option<u32>,
}

/// Runs every plan. References are reported to `progress` once a cell.
pub fn run(prepared: &mut Prepared, plans: &[Plan], progress: &dyn Progress) -> Result<Replayed, SimError> {
    run_timed(prepared, plans, &ClockOptions::default(), progress)
}

/// Runs every plan, on a disk and with a series as `options` say. Fails for what makes no sense: a disk where there are
/// no times, or a policy that must know a future which follows from what it decides; and for what needs the whole trace
/// at hand where that is streamed.
pub fn run_timed(
    prepared: &mut Prepared,
    plans: &[Plan],
    options: &ClockOptions,
    progress: &dyn Progress,
) -> Result<Replayed, SimError> {
    let views = views(plans)?;
    let (cells, distinct) = match prepared {
        Prepared::Held(references) => {
            (run_held(references, plans, &views, options, progress)?, Some(references.distinct()))
        }
        Prepared::Stream(stream) => (run_stream(stream, plans, &views, options, progress)?, None),
    };
    let mut replayed = Replayed { distinct, ..Replayed::default() };
    for Ended { tally, samples, explanations, reference_nanoseconds } in cells {
        replayed.tallies.push(tally);
        replayed.samples.push(samples);
        replayed.explanations.push(explanations);
        replayed.reference_nanoseconds.push(reference_nanoseconds);
    }
    Ok(replayed)
}

/// The distinct views, each with the numbers of the plans that want it.
fn views(plans: &[Plan]) -> Result<Vec<(View, Vec<usize>)>, SimError> {
    let mut views: Vec<(View, Vec<usize>)> = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        let view = plan.requirements()?.view;
        match views.iter_mut().find(|(known, _)| *known == view) {
            Some((_, plans)) => plans.push(number),
            None => views.push((view, vec![number])),
        }
    }
    Ok(views)
}

fn no_requests(plan: &Plan) -> SimError {
    SimError::NoRequests { policy: plan.entry.info.name.to_owned() }
}

/// One view at a time: each takes as much memory as a trace.
fn run_held(
    references: &References,
    plans: &[Plan],
    views: &[(View, Vec<usize>)],
    options: &ClockOptions,
    progress: &dyn Progress,
) -> Result<Vec<Ended>, SimError> {
    plans.iter().try_for_each(|plan| check(plan, options, &references.facts()))?;
    let plans: Vec<Plan> = plans.iter().map(|plan| plan.over(references.run())).collect();
    let mut cells = vec![Ended::default(); plans.len()];
    for (view, numbers) in views {
        let seeing: Vec<&Plan> = numbers.iter().map(|&number| &plans[number]).collect();
        let seen = if view == &View::default() {
            run_view(references, &seeing, options, &|replayed| progress.advance(replayed as u64))?
        } else {
            let requests = references.requests.as_ref().ok_or_else(|| no_requests(seeing[0]))?;
            let shown = numbering::show(requests, view, seeing[0].entry.info.name)?;
            // Cells are reported in references of the plain view, of which the user knows the number.
            let scale = references.len() as f64 / shown.len().max(1) as f64;
            run_view(&shown, &seeing, options, &|replayed| progress.advance((replayed as f64 * scale) as u64))?
        };
        numbers.iter().zip(seen).for_each(|(&number, cell)| cells[number] = cell);
    }
    Ok(cells)
}

/// Runs plans over a trace in the view that they need. `advance` is called with the number of further references.
fn run_view(
    trace: &References,
    plans: &[&Plan],
    options: &ClockOptions,
    advance: &(dyn Fn(usize) + Sync),
) -> Result<Vec<Ended>, SimError> {
    let future = future_of(trace, plans)?;
    let clock = Clock::new(trace);
    let can_use_depths = !trace.has_writes() && trace.events().is_empty();
    let run_one = |numbers: &Vec<usize>| {
        let plan = plans[numbers[0]];
        let apps = clock::apps(&clock, plan)?;
        let costs = options.store.is_some();
        let setup = Setup { costs, ..plan.setup(Some(&trace.addresses), future.as_ref(), &apps)? };
        if options.is_asked() || plan.reads_ahead() {
            let replayed = clock.run(plan, &setup, options)?;
            advance(trace.ids().len());
            return Ok(vec![replayed]);
        }
        let mut cell: Box<dyn Cell<u32>> = if can_use_depths && numbers.len() >= WORTH_DEPTHS {
            let sizes: Vec<u32> = numbers.iter().map(|&number| plans[number].capacity).collect();
            Box::new(DepthsCell::new(&sizes, trace.facts().has_apps))
        } else {
            let directory = Dense::new(trace.addresses.clone());
            let built = BuildCell { setup, bytes: plan.bytes, directory, trace: trace.facts() };
            build(plans, numbers, options, built)?
        };
        for window in trace.windows() {
            cell.run(&window);
            advance(window.keys.len() * numbers.len());
        }
        Ok(cell.end())
    };
    let cells = cells_of(plans, options, can_use_depths);
    let ended: Vec<Vec<Ended>> = cells.par_iter().with_max_len(1).map(run_one).collect::<Result<_, SimError>>()?;
    Ok(in_order_of_plans(plans.len(), cells.into_iter().zip(ended)))
}

/// The results of the plans of each cell, by plan.
fn in_order_of_plans(plans: usize, ended: impl Iterator<Item = (Vec<usize>, Vec<Ended>)>) -> Vec<Ended> {
    let mut counted = vec![Ended::default(); plans];
    for (number, tally) in ended.flat_map(|(numbers, tallies)| numbers.into_iter().zip(tallies)) {
        counted[number] = tally;
    }
    counted
}

/// The future of the trace, if one of the plans must know it.
fn future_of(trace: &References, plans: &[&Plan]) -> Result<Option<Future>, SimError> {
    let Some(plan) = plans.iter().find(|plan| plan.is_offline()) else { return Ok(None) };
    let too_many = |_| SimError::TooManyReferences { policy: plan.entry.info.name.to_owned() };
    let next_use = future::next_use_of(trace).map_err(too_many)?;
    Ok(Some(Future::Told(Told { slots: trace.ids.clone(), next_use: Arc::new(next_use) })))
}

/// Refuses what a part of the trace does not tell.
fn check_stream(stream: &Stream, plan: &Plan, options: &ClockOptions) -> Result<(), SimError> {
    let trace = Trace { has_apps: true, ..stream.begun.facts() };
    if plan.is_offline() {
        return Err(stream.refuse_future(plan.entry.info.name.to_owned()));
    }
    check(plan, options, &trace)?;
    if plan.reads_ahead() {
        let what = "reading ahead ends where a file ends in the trace";
        return Err(stream.refuse_part(what, "or give prefetch=off"));
    }
    if options.store.is_some() {
        let what = "on a disk one application may get ahead of another by any length of the trace";
        return Err(stream.refuse_part(what, format!("or leave {} out", SettingName("store"))));
    }
    Ok(())
}

fn run_stream(
    stream: &mut Stream,
    plans: &[Plan],
    views: &[(View, Vec<usize>)],
    options: &ClockOptions,
    progress: &dyn Progress,
) -> Result<Vec<Ended>, SimError> {
    plans.iter().try_for_each(|plan| check_stream(stream, plan, options))?;
    let mut plain = None;
    let mut shown = Vec::new();
    for (view, numbers) in views {
        let feed = Feed::new(stream, plans, (view, numbers), options)?;
        if feed.shower.is_some() { shown.push(feed) } else { plain = Some(feed) }
    }
    let mut expanded = Expanded::default();
    if let Some(plain) = &mut plain {
        stream.begun.windows_by_address(|window| plain.run(window, progress));
        plain.begin = stream.begun.len();
        plain.groups.clone_from(&stream.begun.groups);
    }
    for feed in &mut shown {
        let requests = stream.requests.as_ref().ok_or_else(|| no_requests(&plans[feed.cells[0].0[0]]))?;
        let told = ToldRequests { tables: stream.source.told().tables, ..requests.told() };
        feed.show(told, &mut expanded, progress);
    }
    loop {
        while let Some(plain) = &mut plain
            && stream.source.cut(&mut expanded)?
        {
            plain.take(&expanded, progress);
        }
        if !stream.source.read()? {
            break;
        }
        if let Some(plain) = &mut plain {
            stream.source.append_groups(&mut plain.groups);
        }
        for feed in &mut shown {
            feed.show(stream.source.told(), &mut expanded, progress);
        }
    }
    let feeds = plain.into_iter().chain(shown);
    let ended = feeds.flat_map(|feed| feed.cells).map(|(numbers, cell)| (numbers, cell.end()));
    Ok(in_order_of_plans(plans.len(), ended))
}

/// The cells of one view of a stream.
struct Feed {
    /// What shows the view; nothing for the plain one.
    shower: Option<Shower>,
    /// The cells, each with its plans.
    cells: Vec<(Vec<usize>, Box<dyn Cell<u64>>)>,
    /// References so far.
    begin: u64,
    /// Types of blocks, by the high half of addresses.
    groups: Vec<u32>,
}

impl Feed {
    fn new(
        stream: &Stream,
        plans: &[Plan],
        (view, numbers): (&View, &[usize]),
        options: &ClockOptions,
    ) -> Result<Feed, SimError> {
        let shower = (view != &View::default())
            .then(|| stream.requests.as_ref().ok_or_else(|| no_requests(&plans[numbers[0]])))
            .transpose()?
            .map(|requests| Shower::new(view, requests));
        let classes = shower.as_ref().map_or(Vec::new(), Shower::classes);
        let trace = Trace { classes: &classes, has_apps: true, ..stream.begun.facts() };
        let apps = clock::named(&stream.begun.apps);
        let seeing: Vec<&Plan> = numbers.iter().map(|&number| &plans[number]).collect();
        let cell = |of_cell: Vec<usize>| {
            let plan = seeing[of_cell[0]];
            let setup = plan.setup(None, None, &apps)?;
            let cell = match options.is_asked() {
                true => clock::cell(plan, &setup, options, &trace),
                false => {
                    let directory = Hashed::default();
                    build(&seeing, &of_cell, options, BuildCell { setup, bytes: plan.bytes, directory, trace })
                }
            };
            Ok((of_cell.into_iter().map(|place| numbers[place]).collect(), cell?))
        };
        let cells = cells_of(&seeing, options, false).into_iter().map(cell).collect::<Result<_, SimError>>()?;
        Ok(Feed { shower, cells, begin: 0, groups: Vec::new() })
    }

    /// Shows requests to the cells.
    fn show(&mut self, told: ToldRequests, expanded: &mut Expanded, progress: &dyn Progress) {
        let mut at = 0;
        while let Some(shower) = &mut self.shower {
            expanded.clear();
            shower.show(told, &mut at, expanded);
            if expanded.is_empty() {
                break;
            }
            self.groups.extend_from_slice(&shower.groups()[self.groups.len()..]);
            self.take(expanded, progress);
        }
    }

    /// Runs the cells over a piece.
    fn take(&mut self, expanded: &Expanded, progress: &dyn Progress) {
        let mut columns = SideColumns::starting_at(self.begin);
        columns.append(expanded);
        columns.finish();
        let groups = std::mem::take(&mut self.groups);
        let window = columns.window(self.begin, &expanded.keys, &columns.events, &columns.event_keys);
        self.run(&Window { groups: &groups, ..window }, progress);
        self.groups = groups;
        self.begin += expanded.keys.len() as u64;
    }

    fn run(&mut self, window: &Window<u64>, progress: &dyn Progress) {
        self.cells.par_iter_mut().with_max_len(1).for_each(|(_, cell)| cell.run(window));
        let plans: usize = self.cells.iter().map(|(numbers, _)| numbers.len()).sum();
        progress.advance((window.keys.len() * plans) as u64);
    }
}

/// A cell of the plans with these numbers.
fn build<D: Directory + 'static>(
    plans: &[&Plan],
    numbers: &[usize],
    options: &ClockOptions,
    visitor: BuildCell<D>,
) -> Result<Box<dyn Cell<D::Key>>, SimError> {
    if numbers.len() > 1 {
        let sizes: Vec<u32> = numbers.iter().map(|&number| plans[number].capacity).collect();
        let BuildCell { setup, directory, trace, .. } = visitor;
        return Ok(Box::new(OnePassCell::new(&sizes, directory, setup.slots, &trace)));
    }
    let plan = plans[numbers[0]];
    let built = registry::visit(plan.entry.info.name, visitor).expect("a plan's info comes from the registry");
    let cell = built.map_err(|error| plan.refused(error))?;
    Ok(if options.costs { Box::new(Timed::new(cell)) } else { cell })
}

struct BuildCell<'a, D> {
    setup: Setup<'a>,
    /// Bytes of objects that fit, where the capacity is measured in them.
    bytes: Option<u64>,
    directory: D,
    trace: Trace<'a>,
}

impl<D: Directory + 'static> Visitor for BuildCell<'_, D> {
    type Output = Result<Box<dyn Cell<D::Key>>, SpecError>;

    fn visit<P: Policy + Capabilities + 'static>(self) -> Self::Output {
        let BuildCell { setup, bytes, directory, trace } = self;
        let Some(bytes) = bytes else {
            return Ok(Box::new(PolicyCell::new(P::new(&setup)?, directory, setup.slots, &trace, ())));
        };
        let policy = Boxed::<P>::new(&setup)?;
        let can_keep = |capacity| P::new(&Setup { capacity, ..setup.clone() }).is_ok();
        let capacity = Bytes::new(Room::new(bytes, P::requirements(setup.args, setup.capacity)?.weighs, can_keep));
        Ok(Box::new(PolicyCell::new(policy, directory, setup.slots, &trace, capacity)))
    }
}
