//! Promises: what blocks are worth is multiplied by a weight of their application, which rises while that hits less
//! than it was promised, and sinks when it hits more.
//!
//! The observed rate is the recent one, so that the weight rests when it has done its work; the goal is
//! the promise and as much more, within bounds, as makes up for what was missed since the beginning. Misses of blocks
//! that were never there cannot be avoided by room: a weight rises for the others alone.
//!
//! The need of a promise follows from the curves. Promises that do not fit together are given up, the dearest first,
//! but for one: if all were pursued none would be kept.

use std::collections::HashMap;

use super::curves::{BUCKETS, path};
use super::flows::Flows;
use crate::families::promised;
use crate::policy::{Effects, Note, PartRoom, Reference, Repartition, Setup, Slot, Target};
use crate::spec::SpecError;

/// Greatest weight.
const MOST: f32 = 256.0;
/// A weight grows by this part for each point that is missing, and by no more than for so many points.
const GROWTH: (f64, f64) = (0.01, 20.0);
/// A weight loses this part of what it has above 1 for each point too many, and no more than for so many points.
const DECLINE: (f64, f64) = (0.1, 5.0);
/// A promise that is given up loses this part of what its weight has above 1.
const GIVEN_UP: f64 = 0.5;
/// Points beyond the promise that make up for earlier ones, at most, or that earlier ones make up for.
const CATCH_UP: f64 = 5.0;
/// The recent references of an application: so many times those between two looks, and at least this part of the
/// capacity.
const LATELY: (u64, u64) = (4, 4);
/// A division is reported when a partition has changed by this part of the capacity.
const TOLD: u32 = 20;

/// The known facts of the applications.
#[derive(Debug)]
pub(super) struct Promises {
    capacity: u32,
    /// Hit rates in percent, by application.
    goals: HashMap<u32, f64>,
    /// By application.
    accounts: Vec<Account>,
    /// The applications in the order in which they came.
    order: Vec<u16>,
    /// By slot, the application that referred to it last.
    of: Vec<u16>,
    /// References from one look at the rates to the next.
    every: u32,
    /// References until the next look.
    left: u32,
    /// The partitions that were reported last.
    told: Vec<PartRoom>,
}

/// The known facts of one application.
#[derive(Clone, Debug, Default)]
struct Account {
    has_come: bool,
    /// The rate that it was promised in percent, 0 if none was.
    goal: f64,
    weight: f32,
    all: Counts,
    lately: Counts,
    resident: u32,
    /// Blocks with which the promise is taken to be kept.
    needs: Option<u32>,
    /// It does not fit beside promises that need less.
    is_given_up: bool,
    below_since: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    references: u64,
    hits: u64,
    /// Misses of blocks that were known.
    avoidable: u64,
}

impl Counts {
    fn note(&mut self, hit: bool, is_known: bool) {
        self.references += 1;
        self.hits += u64::from(hit);
        self.avoidable += u64::from(!hit && is_known);
    }

    fn percent(self, part: u64) -> f64 {
        100.0 * part as f64 / self.references.max(1) as f64
    }
}

impl Promises {
    /// The promise, if there is one.
    pub(super) fn new(setup: &Setup) -> Result<Option<Box<Promises>>, SpecError> {
        let goals = promised::rates("auto", setup.args, setup.apps)?;
        if goals.is_empty() {
            return Ok(None);
        }
        let every = setup.args.count("look") as u32;
        Ok(Some(Box::new(Promises {
            capacity: setup.capacity,
            goals,
            accounts: Vec::new(),
            order: Vec::new(),
            of: vec![0; setup.slots as usize],
            every,
            left: every,
            told: Vec::new(),
        })))
    }

    /// Takes over what is known of the applications by other promises.
    pub(super) fn take_over(&mut self, known: Promises) {
        (self.accounts, self.order, self.of, self.told) = (known.accounts, known.order, known.of, known.told);
        for &app in &self.order {
            let account = &mut self.accounts[usize::from(app)];
            account.goal = self.goals.get(&app.into()).copied().unwrap_or(0.0);
            if account.goal == 0.0 {
                (account.weight, account.needs, account.is_given_up, account.below_since) = (1.0, None, false, None);
            }
        }
    }

    /// A block of this application is resident already.
    pub(super) fn take_in(&mut self, slot: Slot, app: u32) {
        let app = app.min(u16::MAX.into()) as u16;
        self.arrive(app);
        self.of[slot as usize] = app;
        self.admit(slot);
    }

    pub(super) fn grow(&mut self, slots: u32) {
        self.of.resize(self.of.len().max(slots as usize), 0);
    }

    pub(super) fn resize(&mut self, capacity: u32) {
        self.capacity = capacity;
    }

    /// By what the worth of a block is multiplied.
    #[inline(always)]
    pub(super) fn weight(&self, slot: Slot) -> f32 {
        self.accounts[usize::from(self.of[slot as usize])].weight
    }

    /// A block was referenced, which was resident or not, and known or not.
    pub(super) fn note(&mut self, slot: Slot, reference: &Reference, hit: bool, is_known: bool, fx: &mut impl Effects) {
        let app = reference.app.min(u16::MAX.into()) as u16;
        self.arrive(app);
        let before = std::mem::replace(&mut self.of[slot as usize], app);
        if hit {
            self.accounts[usize::from(before)].resident -= 1;
            self.accounts[usize::from(app)].resident += 1;
        }
        let account = &mut self.accounts[usize::from(app)];
        account.all.note(hit, is_known);
        account.lately.note(hit, is_known);
        self.left -= 1;
        if self.left == 0 {
            self.look(reference, fx);
        }
    }

    /// A block has come in.
    pub(super) fn admit(&mut self, slot: Slot) {
        self.accounts[usize::from(self.of[slot as usize])].resident += 1;
    }

    /// A resident block has left.
    pub(super) fn release(&mut self, slot: Slot) {
        self.accounts[usize::from(self.of[slot as usize])].resident -= 1;
    }

    fn arrive(&mut self, app: u16) {
        let place = usize::from(app);
        if place >= self.accounts.len() {
            self.accounts.resize(place + 1, Account::default());
        }
        if !self.accounts[place].has_come {
            let goal = self.goals.get(&app.into()).copied().unwrap_or(0.0);
            self.accounts[place] = Account { has_come: true, goal, weight: 1.0, ..Account::default() };
            self.order.push(app);
        }
    }

    /// Looks at the rates, and has weights follow.
    #[cold]
    fn look(&mut self, reference: &Reference, fx: &mut impl Effects) {
        self.left = self.every;
        let window = (LATELY.0 * u64::from(self.every)).max(u64::from(self.capacity) / LATELY.1);
        for account in self.accounts.iter_mut().filter(|account| account.goal > 0.0 && account.all.references > 0) {
            account.adapt();
            if account.lately.references >= window {
                let Counts { references, hits, avoidable } = account.lately;
                account.lately = Counts { references: references / 2, hits: hits / 2, avoidable: avoidable / 2 };
            }
            let is_below = account.all.percent(account.all.hits) < account.goal;
            let since = account.below_since.unwrap_or((reference.time, reference.clock));
            account.below_since = is_below.then_some(since);
        }
        self.tell(reference, fx);
    }

    /// Reports the partitioning, with other figures if they have changed.
    fn tell(&mut self, reference: &Reference, fx: &mut impl Effects) {
        let parts: Vec<PartRoom> = self.order.iter().map(|&app| self.accounts[usize::from(app)].part(app)).collect();
        let is_news = |(new, old): (&PartRoom, &PartRoom)| {
            new.blocks.abs_diff(old.blocks) > self.capacity / TOLD || new.is_infeasible != old.is_infeasible
        };
        if parts.len() != self.told.len() || parts.iter().zip(&self.told).any(is_news) {
            self.told = parts;
        }
        // With the same rooms the promises may be others.
        fx.note(&Note::Division(&self.repartition(reference)));
    }

    fn repartition(&self, reference: &Reference) -> Repartition {
        let promised = self.order.iter().map(|&app| (app, &self.accounts[usize::from(app)]));
        let targets = promised.filter(|(_, account)| account.goal > 0.0).map(|(app, account)| Target {
            app: app.into(),
            needs: account.needs,
            below_since: account.below_since,
        });
        let (parts, targets) = (self.told.clone(), targets.collect());
        Repartition { time: reference.time, clock: reference.clock, parts, targets }
    }

    /// Finds out by the curves how many blocks each promise needs, and which of them fit together.
    pub(super) fn learn(&mut self, flows: &Flows) {
        let mut promised: Vec<u16> = self.order.clone();
        promised.retain(|&app| self.accounts[usize::from(app)].goal > 0.0);
        for &app in &promised {
            let account = &mut self.accounts[usize::from(app)];
            account.needs = needs(flows, app.into(), account.goal / 100.0);
        }
        let need = |app: &u16| self.accounts[usize::from(*app)].needs.map_or(u64::MAX, u64::from);
        promised.sort_by_key(need);
        let mut left = u64::from(self.capacity);
        for (place, app) in promised.into_iter().enumerate() {
            let account = &mut self.accounts[usize::from(app)];
            let need = account.needs.map_or(u64::MAX, u64::from);
            account.is_given_up = place > 0 && need > left;
            left = left.saturating_sub(need);
        }
    }

    pub(super) fn validate(&self, resident: impl Iterator<Item = Slot>) {
        let mut counted = vec![0; self.accounts.len()];
        resident.for_each(|slot| counted[usize::from(self.of[slot as usize])] += 1);
        assert!(self.accounts.iter().zip(&counted).all(|(account, &blocks)| account.resident == blocks));
        assert!(self.order.iter().all(|&app| (1.0..=MOST).contains(&self.accounts[usize::from(app)].weight)));
    }
}

impl Account {
    fn adapt(&mut self) {
        let missing = (self.goal - self.all.percent(self.all.hits)).clamp(-CATCH_UP, CATCH_UP);
        let gap = self.goal + missing - self.lately.percent(self.lately.hits);
        let weight = f64::from(self.weight);
        let weight = if self.is_given_up {
            1.0 + (weight - 1.0) * (1.0 - GIVEN_UP)
        } else if gap > 0.0 {
            let avoidable = self.lately.percent(self.lately.avoidable);
            weight * (1.0 + GROWTH.0 * gap.min(avoidable).min(GROWTH.1))
        } else {
            1.0 + (weight - 1.0) * (1.0 - DECLINE.0 * (-gap).min(DECLINE.1))
        };
        self.weight = (weight as f32).min(MOST);
    }

    fn part(&self, app: u16) -> PartRoom {
        let is_promised = self.goal > 0.0;
        PartRoom {
            app: app.into(),
            blocks: self.resident,
            target: is_promised.then_some((self.goal * 1e4).round() as u32),
            is_infeasible: self.below_since.is_some() && (self.is_given_up || self.weight == MOST),
        }
    }
}

/// Ages of a flow that are worth as much: what passing them takes in blocks, and how many are used by then.
struct Step {
    worth: f32,
    room: f64,
    used: f64,
}

/// The least blocks with which an application hits this share of its references, if the blocks that are worth most at
/// their age are kept; `None` if no room does, or nothing is known.
fn needs(flows: &Flows, app: u32, goal: f64) -> Option<u32> {
    let all: f64 = (0..flows.len()).map(|node| f64::from(flows.evidence(node))).sum();
    let own = (0..flows.len()).filter(|&node| flows.evidence(node) > 0.0 && flows.flow(node).app == Some(app));
    let (mut steps, mut references) = (Vec::<Step>::new(), 0.0);
    for node in own {
        let share = f64::from(flows.evidence(node)) / all;
        let (hazard, indices) = flows.curves.of(node)?;
        let points = path(hazard);
        references += share;
        // A block stays as long as it is worth more than what else there is: up to the first age at which it is not.
        // Ages that are so worth as much are passed together or not at all.
        let mut worth = f32::MAX;
        for age in 0..BUCKETS {
            let room = share * (points[age + 1].0 - points[age].0);
            let used = share * (points[age + 1].1 - points[age].1);
            match steps.last_mut().filter(|_| age > 0 && indices[age] >= worth) {
                Some(step) => (step.room, step.used) = (step.room + room, step.used + used),
                None => {
                    worth = indices[age];
                    steps.push(Step { worth, room, used });
                }
            }
        }
    }
    steps.sort_by(|one, other| other.worth.total_cmp(&one.worth));
    let (mut blocks, mut hits) = (0.0, 0.0);
    for Step { room, used, .. } in steps {
        if hits + used >= goal * references && used > 0.0 {
            let part = (goal * references - hits) / used;
            return Some((blocks + part * room).ceil().min(f64::from(u32::MAX)) as u32);
        }
        (blocks, hits) = (blocks + room, hits + used);
    }
    None
}
