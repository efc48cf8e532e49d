//! The virtual queue of one application: hits by position, what is mapped, and what memory therefore holds.

use std::ops::Range;

use crate::allocate::fragments::{self, Mapping};
use crate::allocate::moves::Stake;
use crate::parts::slot_set::SlotSet;
use crate::policy::dynamic::DynRanked;
use crate::policy::{Args, Effects, Extra, Nested, NoEffects, Note, Outcome, Reference, Slot, Worth};
use crate::schemes::slot_map::SlotMap;
use crate::spec::SpecError;

/// Blocks of the paper's queue where blocks have no size.
const QUEUE_BLOCKS: u64 = 1 << 18;
/// Blocks of a virtual queue at most: a quarter of a terabyte of 4 KB.
const MOST_BLOCKS: u64 = 1 << 26;
/// The value of a hit that a promise is short of when units are moved: more than all others can.
const PROMISED: f64 = 1e9;

/// The virtual queue of one application.
pub(super) struct Vrm {
    pub app: u32,
    pub policy: Box<dyn DynRanked>,
    pub settings: Settings,
    /// Numbers for which the policy has room.
    pub slots: u32,
    /// By unit of the queue: hits there, faded. Units behind these were never hit; its capacity is that of all.
    values: Vec<f64>,
    /// References to what the queue did not have, faded.
    beyond: f64,
    /// The share of the last quantum in which the storage was busy, if the scheme follows it and the host knows it.
    pub load: Option<f64>,
    /// The value of a hit when units are moved, for fair speed-ups.
    pub weight: f64,
    /// Units of the queue.
    pub most_units: usize,
    /// Units of the cache that it has.
    pub units: usize,
    /// The positions that are mapped.
    pub runs: Vec<Range<u32>>,
    /// What one unit less and one more would change, when that was looked at last.
    stake: Stake,
    /// The best mappings of one unit less, as many and one more, by units, from weighing until the next mapping.
    weighed: Vec<(usize, Mapping)>,
    /// By number: its data is in memory.
    pub resident: SlotSet,
    /// Numbers of blocks that slid into runs at this reference.
    coming: Vec<u32>,
    pub len: u32,
    /// Number of the quantum of its last reference.
    pub last: u64,
    pub is_away: bool,
}

/// The parameters of one application.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub alpha: f64,
    pub fragments: usize,
    /// Blocks of the virtual queue.
    pub queue: u32,
    /// The share of its references that is promised to hit.
    pub promise: f64,
}

impl Settings {
    pub fn of(args: &Args) -> Result<Settings, SpecError> {
        let queue = match args.is_given("queue") {
            true => u64::from(args.share("queue", u32::MAX)?.max(1)),
            false => args.block_bytes().map_or(QUEUE_BLOCKS, |block| (QUEUE_BLOCKS * 4096 / block).max(1)),
        };
        Ok(Settings {
            alpha: args.real("alpha"),
            fragments: args.count("fragments") as usize,
            queue: queue.min(MOST_BLOCKS) as u32,
            promise: args.real("promise"),
        })
    }
}

/// The host around, told in its own slots what one queue does.
pub(super) struct Side<'a, E> {
    pub part: usize,
    pub slot_map: &'a mut SlotMap,
    pub fx: &'a mut E,
}

/// Handles evictions from the virtual queue.
struct Leaving<'a, 'b, E> {
    side: &'a mut Side<'b, E>,
    resident: &'a mut SlotSet,
    len: &'a mut u32,
}

impl<E: Effects> Nested for Leaving<'_, '_, E> {
    type Host = E;

    #[inline(always)]
    fn host(&self) -> &E {
        self.side.fx
    }

    #[inline(always)]
    fn host_mut(&mut self) -> &mut E {
        self.side.fx
    }

    fn outer(&self, number: Slot) -> Slot {
        self.side.slot_map.slot(self.side.part, number)
    }

    fn on_evict(&mut self, number: Slot) {
        if self.resident.contains(number) {
            self.resident.remove(number);
            *self.len -= 1;
            self.side.fx.evict(self.outer(number));
        }
    }

    fn on_forget(&mut self, number: Slot) {
        // Of a block that is removed only the host's data are void.
        if self.resident.contains(number) {
            self.resident.remove(number);
            *self.len -= 1;
        }
        self.side.fx.forget(self.side.slot_map.remove(self.side.part, number));
    }

    /// The queue holds ids alone: its policy reads nothing.
    fn on_fetch(&mut self, _number: Slot, _why: Extra) {}

    /// The queue sees every reference, and most of its blocks are not resident.
    fn on_take_accessed(&mut self, _number: Slot) -> bool {
        false
    }
}

impl Vrm {
    /// An empty queue in the order that `policy` keeps, with no room.
    pub fn new(app: u32, policy: Box<dyn DynRanked>, settings: Settings, unit: u32) -> Vrm {
        let mut queue = Vrm {
            app,
            policy,
            settings,
            slots: 0,
            values: Vec::new(),
            beyond: 0.0,
            load: None,
            weight: 1.0,
            most_units: 0,
            units: 0,
            runs: Vec::new(),
            stake: Stake::default(),
            weighed: Vec::new(),
            resident: SlotSet::new(0),
            coming: Vec::new(),
            len: 0,
            last: 0,
            is_away: false,
        };
        queue.begin(unit);
        queue
    }

    /// Forgets all values; the head will be mapped.
    pub fn begin(&mut self, unit: u32) {
        self.most_units = self.settings.queue.div_ceil(unit).max(1) as usize;
        self.values = Vec::with_capacity(self.most_units);
        (self.beyond, self.weight) = (0.0, 1.0);
        self.stake = Stake::default();
        self.weighed.clear();
    }

    /// Its report for a host.
    pub fn worth(&self, unit: u32) -> Worth<'_> {
        Worth { app: self.app, values: &self.values, unit, units: self.most_units }
    }

    /// Makes all values fade: the faster, the less storage has to do, where that is followed.
    pub fn fade(&mut self) {
        let alpha = self.load.map_or(self.settings.alpha, |load| load.min(self.settings.alpha));
        self.beyond *= alpha;
        self.values.iter_mut().for_each(|value| *value *= alpha);
    }

    /// The cost of a block that is read without a request, in hits: nothing while storage is idle, one when it is never
    /// idle.
    fn price(&self) -> f64 {
        self.load.unwrap_or(0.0)
    }

    /// Has values of so many units at least.
    #[inline(always)]
    fn reach(&mut self, units: usize) {
        if units > self.values.len() {
            self.values.resize(units, 0.0);
        }
    }

    fn is_mapped(&self, position: u32) -> bool {
        self.runs.iter().any(|run| run.contains(&position))
    }

    #[inline(always)]
    pub fn access<E: Effects>(&mut self, number: u32, unit: u32, reference: Reference, side: &mut Side<E>) -> Outcome {
        if number >= self.slots {
            self.grow(number);
        }
        let before = self.policy.position(number);
        if let Some(position) = before {
            let unit = (position / unit) as usize;
            self.reach(unit + 1);
            self.values[unit] += 1.0;
        } else {
            self.beyond += 1.0;
        }
        let hit = self.resident.contains(number);
        let mut leaving = Leaving { side, resident: &mut self.resident, len: &mut self.len };
        self.policy.access(number, reference, &mut leaving);
        let after = self.policy.position(number);
        self.follow(number, before, after, side);
        match (hit, after.is_some_and(|position| self.is_mapped(position))) {
            (true, true) => Outcome::Hit,
            (true, false) => {
                self.leave(number, side);
                Outcome::Hit
            }
            (false, true) => {
                self.resident.insert(number);
                self.len += 1;
                Outcome::Admitted
            }
            (false, false) => Outcome::Bypassed,
        }
    }

    /// Makes slots up to `number`, in the policy too: its queue is never longer than its slots.
    #[cold]
    fn grow(&mut self, number: u32) {
        self.slots = number.saturating_add(number / 2).saturating_add(64);
        self.policy.grow(self.slots);
        self.resident.grow(self.slots);
        // Nothing can leave: the queue grows.
        self.policy.resize(self.slots.min(self.settings.queue), &mut NoEffects);
    }

    /// A block moved from one position to another, or came, or left: what slid over the border of a run leaves or is
    /// read. All leave before anything is read.
    #[inline(always)]
    fn follow<E: Effects>(&mut self, number: u32, before: Option<u32>, after: Option<u32>, side: &mut Side<E>) {
        // Blocks between these positions moved by one, and no others. A newcomer may have pushed out a block anywhere.
        let (low, high) = match (before, after) {
            (Some(before), Some(after)) => (before.min(after), before.max(after)),
            _ => (0, u32::MAX),
        };
        // The block that crossed a border is behind it if blocks moved down, before it if they moved up.
        let steps = match (before, after) {
            (Some(before), Some(after)) if after <= before => 0..1,
            (Some(_), Some(_)) => 1..2,
            _ => 0..2,
        };
        for run in 0..self.runs.len() {
            let Range { start, end } = self.runs[run];
            for border in [start, end] {
                if border > 0 && low < border && border <= high {
                    steps.clone().rev().for_each(|step| self.set_right(number, border - step, start > 0, side));
                }
            }
        }
        for index in 0..self.coming.len() {
            self.enter(self.coming[index], Extra::Moved, side);
        }
        self.coming.clear();
    }

    /// Makes the block at `position` leave memory if it should, or wait to come.
    #[inline(always)]
    fn set_right<E: Effects>(&mut self, moved: u32, position: u32, is_fragment: bool, side: &mut Side<E>) {
        let Some(number) = self.policy.at(position).filter(|&number| number != moved) else { return };
        match (self.is_mapped(position), self.resident.contains(number)) {
            (true, false) if !self.coming.contains(&number) => self.coming.push(number),
            (false, true) if is_fragment => {
                self.resident.remove(number);
                self.len -= 1;
                let slot = side.slot_map.slot(side.part, number);
                side.fx.note(&Note::Unforced(slot));
                side.fx.evict(slot);
            }
            (false, true) => self.leave(number, side),
            _ => {}
        }
    }

    fn enter<E: Effects>(&mut self, number: u32, why: Extra, side: &mut Side<E>) {
        self.resident.insert(number);
        self.len += 1;
        side.fx.fetch(side.slot_map.slot(side.part, number), why);
    }

    fn leave<E: Effects>(&mut self, number: u32, side: &mut Side<E>) {
        self.resident.remove(number);
        self.len -= 1;
        side.fx.evict(side.slot_map.slot(side.part, number));
    }

    /// The block is void: those behind it move up.
    pub fn remove<E: Effects>(&mut self, number: u32, side: &mut Side<E>) {
        let mut leaving = Leaving { side, resident: &mut self.resident, len: &mut self.len };
        self.policy.remove(number, &mut leaving);
        self.follow(u32::MAX, None, None, side);
    }

    /// The best mapping of so many units.
    fn best(&mut self, units: usize) -> Mapping {
        // Units without a hit are worth nothing, and of equal units the first are taken: those further back cannot be.
        let hit = self.values.iter().rposition(|&value| value > 0.0).map_or(0, |last| last + 1);
        let known = (hit + units + 1).min(self.most_units);
        self.reach(known);
        fragments::map_at(self.price(), self.beyond, &self.values[..known], units, self.settings.fragments)
    }

    /// Finds the best mappings of one unit less, as many and one more, and what the changes are worth.
    pub fn weigh(&mut self) {
        let now = self.best(self.units);
        let value = self.counted(&now);
        self.stake = Stake::default();
        self.weighed.clear();
        // The last unit stays.
        if self.units > 1 {
            let less = self.best(self.units - 1);
            self.stake.loss = Some(value - self.counted(&less));
            self.weighed.push((self.units - 1, less));
        }
        if self.units < self.most_units {
            let more = self.best(self.units + 1);
            self.stake.gain = Some(self.counted(&more) - value);
            self.weighed.push((self.units + 1, more));
        }
        self.weighed.push((self.units, now));
    }

    pub fn stake(&self) -> Stake {
        Stake { gain: self.stake.gain.filter(|_| !self.is_away), ..self.stake }
    }

    /// The value of a mapping among those of others: by its weight, and most for what a promise is short of.
    fn counted(&self, mapping: &Mapping) -> f64 {
        let promised = self.settings.promise * self.references();
        self.weight * mapping.value + PROMISED * self.hits(&mapping.runs).min(promised)
    }

    /// Sets the weight so that a hit counts by the share that it is of what the application would miss, blocks read
    /// unasked included, with so many units.
    pub fn weigh_by_misses(&mut self, units: usize) {
        let most = self.settings.fragments;
        let value = fragments::map_at(self.price(), self.beyond, &self.values, units, most).value;
        self.weight = 1.0 / (self.references() - value).max(1.0);
    }

    /// References so far, faded.
    fn references(&self) -> f64 {
        self.values.iter().sum::<f64>() + self.beyond
    }

    /// Hits in these runs.
    fn hits(&self, runs: &[Range<usize>]) -> f64 {
        runs.iter().flat_map(|run| self.values.iter().skip(run.start).take(run.len())).sum()
    }

    /// Decides which positions are mapped; gives those that were.
    pub fn map(&mut self, unit: u32) -> Vec<Range<u32>> {
        let weighed = std::mem::take(&mut self.weighed).into_iter().find(|(units, _)| *units == self.units);
        let mapping = weighed.map_or_else(|| self.best(self.units), |(_, mapping)| mapping);
        let blocks = |unit_at: usize| u32::try_from(unit_at as u64 * u64::from(unit)).unwrap_or(u32::MAX);
        let runs: Vec<Range<u32>> = mapping.runs.iter().map(|run| blocks(run.start)..blocks(run.end)).collect();
        if self.load.is_some() && !self.pays(mapping.value, &runs, unit) {
            return self.runs.clone();
        }
        self.coming.reserve(2 * runs.len());
        std::mem::replace(&mut self.runs, runs)
    }

    /// True if mapping `runs`, which are worth `value`, instead of what is mapped now gains more than the blocks cost
    /// that are read for it, or if more or less must be mapped than is now.
    fn pays(&self, value: f64, runs: &[Range<u32>], unit: u32) -> bool {
        let mapped: u64 = self.runs.iter().map(|run| run.len() as u64).sum();
        if mapped != self.units as u64 * u64::from(unit) {
            return true;
        }
        let known = self.policy.len();
        let reads: u32 =
            fragments::without(runs, &self.runs).iter().map(|run| run.end.min(known) - run.start.min(known)).sum();
        let units = |run: &Range<u32>| (run.start / unit) as usize..(run.end / unit) as usize;
        let now: Vec<Range<usize>> = self.runs.iter().map(units).collect();
        let worth = self.hits(&now) - self.price() * fragments::slides(&self.values, self.beyond, &now);
        value - worth > self.price() * f64::from(reads)
    }

    /// Gives up what is not mapped any more.
    pub fn drop_unmapped<E: Effects>(&mut self, before: &[Range<u32>], side: &mut Side<E>) {
        for position in fragments::without(before, &self.runs).into_iter().flatten() {
            let Some(number) = self.policy.at(position) else { return };
            if self.resident.contains(number) {
                self.leave(number, side);
            }
        }
    }

    /// Reads what is mapped now.
    pub fn read_mapped<E: Effects>(&mut self, before: &[Range<u32>], side: &mut Side<E>) {
        for position in fragments::without(&self.runs, before).into_iter().flatten() {
            let Some(number) = self.policy.at(position) else { return };
            if !self.resident.contains(number) {
                self.enter(number, Extra::Allocation, side);
            }
        }
    }

    /// Panics unless memory holds what stands at mapped positions.
    pub fn validate(&self, numbers: impl Iterator<Item = u32>, unit: u32) {
        let mapped: u64 = self.runs.iter().map(|run| run.len() as u64).sum();
        assert_eq!(mapped, self.units as u64 * u64::from(unit), "not as many positions are mapped as there is room");
        assert!(self.runs.len() <= self.settings.fragments, "too many runs");
        let mut held = 0;
        for number in numbers {
            let position = self.policy.position(number);
            assert!(position.is_none_or(|position| self.policy.at(position) == Some(number)), "positions disagree");
            let mapped = position.is_some_and(|position| self.is_mapped(position));
            assert_eq!(self.resident.contains(number), mapped, "memory does not hold what is mapped");
            held += u32::from(mapped);
        }
        assert_eq!(held, self.len, "resident blocks are miscounted");
    }
}
