//! The virtual I/O cache as it is stated: lists, values, and memory as whatever stands at mapped positions.

use std::collections::{BTreeMap, BTreeSet};

use hotset_core::policy::{Args, PolicySpec, Quantum, Reference};

use crate::model::{Given, Model, ModelStep};
use crate::models;

pub(super) struct VirtualIo {
    args: Args,
    capacity: usize,
    unit: usize,
    /// Queues of applications that have not come yet.
    waiting: BTreeMap<u32, Vrm>,
    queues: Vec<Vrm>,
    home: BTreeMap<u32, usize>,
    resident: BTreeSet<u32>,
    /// By quantum: the applications of its references, in their order. The last one goes on.
    quanta: Vec<Vec<u32>>,
    /// The clock of the first reference.
    first: Option<u64>,
    /// Quanta of the clock that have passed, where the quantum is a time.
    passed: u64,
    /// The share of the last quantum in which storage was busy, if it is followed.
    load: Option<f64>,
    /// The clock when that was measured, and for how long storage had been busy.
    looked: Option<(u64, u64)>,
}

struct Vrm {
    app: u32,
    model: Box<dyn Model>,
    alpha: f64,
    fragments: usize,
    promise: f64,
    /// Positions of the queue.
    queue: usize,
    /// By unit; those behind are 0.
    values: Vec<f64>,
    /// References to what the queue did not have, faded as values are.
    beyond: f64,
    /// The share of the last quantum in which storage worked, if it follows that.
    load: Option<f64>,
    /// The weight of a hit when units move.
    weight: f64,
    units: usize,
    /// The loss of a unit less and the gain of one more, as last computed.
    loss: Option<f64>,
    gain: Option<f64>,
    /// By unit: it is mapped.
    mapped: Vec<bool>,
    away: bool,
}

impl Vrm {
    fn new(given: &Given<'_>, app: u32) -> Vrm {
        let own = given.args.apps("APP").iter().find(|(name, _)| *name == crate::world::app_name(app));
        let own = own.map(|(_, policy)| PolicySpec::parse(&policy.to_string()).expect("it was printed"));
        let args = match &own {
            Some(spec) if spec.info().name == "virtual" => spec.args_within(given.args),
            _ => given.args.clone(),
        };
        let spec = own.filter(|spec| spec.info().name != "virtual").unwrap_or_else(|| args.policy("policy").clone());
        let queue = args.share("queue", u32::MAX).unwrap_or(1 << 18).max(1) as usize;
        let inner_args = spec.args_within(&args);
        let inner = Given { capacity: queue, args: &inner_args, ..*given };
        Vrm {
            app,
            model: models::model(spec.info().name, &inner).expect("it has a model"),
            alpha: args.real("alpha"),
            fragments: args.count("fragments") as usize,
            promise: args.real("promise"),
            queue,
            values: Vec::new(),
            beyond: 0.0,
            load: None,
            weight: 1.0,
            units: 0,
            loss: None,
            gain: None,
            mapped: Vec::new(),
            away: false,
        }
    }

    /// The values of whole units.
    fn by_unit(&self, unit: usize) -> usize {
        self.queue.div_ceil(unit)
    }

    fn order(&self) -> Vec<u32> {
        self.model.order().expect("the policy has an order")
    }

    fn is_mapped(&self, position: usize, unit: usize) -> bool {
        self.mapped.get(position / unit) == Some(&true)
    }

    fn held(&self, unit: usize) -> Vec<u32> {
        let order = self.order().into_iter().enumerate();
        order.filter(|(position, _)| self.is_mapped(*position, unit)).map(|(_, key)| key).collect()
    }

    fn hits(&self, mapped: &[bool]) -> f64 {
        let hits = self.values.iter().zip(mapped).filter(|(_, mapped)| **mapped).map(|(value, _)| value);
        hits.sum()
    }

    /// Hits of a mapping less what the blocks cost that slide into its runs.
    fn worth_of(&self, mapped: &[bool]) -> f64 {
        let price = self.load.unwrap_or(0.0);
        let mut slides = 0.0;
        for start in (1..mapped.len()).filter(|&at| mapped[at] && !mapped[at - 1]) {
            slides += self.values.iter().skip(start).sum::<f64>() + self.beyond;
        }
        if slides == 0.0 { self.hits(mapped) } else { self.hits(mapped) - price * slides }
    }

    /// The best mapping of so many units, and its worth.
    fn map(&self, units: usize, unit: usize) -> (Vec<bool>, f64) {
        if self.load.is_none_or(|load| load == 0.0) {
            return self.map_by_hits(units, unit, self.fragments);
        }
        let mut best: Vec<bool> = (0..self.by_unit(unit)).map(|at| at < units).collect();
        for most in 1..=self.fragments {
            let other = self.map_by_hits(units, unit, most).0;
            if self.worth_of(&other) > self.worth_of(&best) {
                best = other;
            }
        }
        let worth = self.worth_of(&best);
        (best, worth)
    }

    /// Whether the mapping is worth the blocks that are read for it; always if it is of more or fewer units.
    fn pays(&self, mapped: &[bool], unit: usize) -> bool {
        let count = |mapped: &[bool]| mapped.iter().filter(|mapped| **mapped).count();
        let Some(price) = self.load.filter(|_| count(mapped) == count(&self.mapped)) else { return true };
        let comes = |at: usize| mapped.get(at / unit) == Some(&true) && !self.is_mapped(at, unit);
        let reads = (0..self.order().len()).filter(|&at| comes(at)).count();
        self.worth_of(mapped) - self.worth_of(&self.mapped) > price * reads as f64
    }

    /// The units that are hit most, in so many runs at most, and their hits.
    fn map_by_hits(&self, units: usize, unit: usize, most: usize) -> (Vec<bool>, f64) {
        // Of units that were never hit the first are taken.
        let hit = self.values.iter().rposition(|&value| value > 0.0).map_or(0, |last| last + 1);
        let mut values = self.values.clone();
        values.resize(self.by_unit(unit).min(hit + units + 2), 0.0);
        let mut mapped = vec![false; values.len()];
        let best = |open: &dyn Fn(usize) -> bool| {
            let mut best: Option<usize> = None;
            for at in (0..values.len()).filter(|&at| open(at)) {
                if best.is_none_or(|best| values[at] > values[best]) {
                    best = Some(at);
                }
            }
            best
        };
        for _ in 0..units {
            let unmapped = mapped.clone();
            if let Some(at) = best(&|at| !unmapped[at]) {
                mapped[at] = true;
            }
        }
        loop {
            let runs = runs(&mapped);
            if runs.len() <= most {
                break;
            }
            let sum = |run: &Vec<usize>| run.iter().map(|&at| values[at]).sum::<f64>();
            let mut least = 0;
            for at in 1..runs.len() {
                if sum(&runs[at]) < sum(&runs[least]) {
                    least = at;
                }
            }
            runs[least].iter().for_each(|&at| mapped[at] = false);
            for _ in 0..runs[least].len() {
                let now = mapped.clone();
                let beside = |at: usize| at > 0 && now[at - 1] || now.get(at + 1) == Some(&true);
                if let Some(at) = best(&|at| !now[at] && beside(at)) {
                    mapped[at] = true;
                }
            }
        }
        let value = runs(&mapped).concat().into_iter().map(|at| values[at]).sum();
        (mapped, value)
    }
}

fn runs(mapped: &[bool]) -> Vec<Vec<usize>> {
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for at in (0..mapped.len()).filter(|&at| mapped[at]) {
        match runs.last_mut() {
            Some(run) if run.last() == Some(&(at - 1)) && at > 0 => run.push(at),
            _ => runs.push(vec![at]),
        }
    }
    runs
}

impl Model for VirtualIo {
    fn new(given: &Given<'_>) -> VirtualIo {
        let apps: BTreeSet<u32> = given.references.iter().map(|reference| reference.app).collect();
        let mut model = VirtualIo {
            args: given.args.clone(),
            capacity: given.capacity,
            unit: 1,
            waiting: apps.into_iter().map(|app| (app, Vrm::new(given, app))).collect(),
            queues: Vec::new(),
            home: BTreeMap::new(),
            resident: BTreeSet::new(),
            quanta: vec![Vec::new()],
            first: None,
            passed: 0,
            load: None,
            looked: None,
        };
        model.unit = model.unit_blocks();
        model
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let mut step = ModelStep::default();
        if self.has_ended(reference.clock) {
            self.end_quantum(reference.clock, &mut step);
        }
        let part = self.come(reference, &mut step);
        self.quanta.last_mut().expect("one goes on").push(reference.app);
        let at = *self.home.entry(key).or_insert(part);
        let unit = self.unit;
        let queue = &mut self.queues[at];
        if let Some(position) = queue.order().iter().position(|&other| other == key) {
            let known = queue.values.len().max(position / unit + 1);
            queue.values.resize(known, 0.0);
            queue.values[position / unit] += 1.0;
        } else {
            queue.beyond += 1.0;
        }
        step.hit = self.resident.contains(&key);
        let victims = queue.model.access(key, reference).evicted;
        let held = queue.held(unit);
        let order = queue.order();
        // Who left the queue, then who slid out of a run, then the block itself if it is not kept where it went.
        let gone = |other: &u32| self.resident.contains(other);
        step.evicted.extend(victims.iter().copied().filter(gone));
        let slid = order.iter().copied().filter(|other| *other != key && gone(other) && !held.contains(other));
        step.evicted.extend(slid);
        step.evicted.extend(Some(key).filter(|key| gone(key) && !held.contains(key)));
        step.fetched.extend(held.iter().copied().filter(|other| *other != key && !self.resident.contains(other)));
        step.bypassed = !step.hit && !held.contains(&key);
        self.hold(at, held);
        step
    }

    fn remove(&mut self, key: u32) {
        if let Some(&part) = self.home.get(&key) {
            self.queues[part].model.remove(key);
            let held = self.queues[part].held(self.unit);
            self.resident.remove(&key);
            self.hold(part, held);
        }
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        let unit = self.unit_blocks();
        if unit != self.unit {
            self.unit = unit;
            for queue in &mut self.queues {
                queue.values.fill(0.0);
                (queue.beyond, queue.weight) = (0.0, 1.0);
            }
        }
        self.queues.iter_mut().for_each(|queue| queue.units = 0);
        self.hand_out();
        let mut step = ModelStep::default();
        self.install(&(0..self.queues.len()).collect::<Vec<_>>(), &mut step);
        step.evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.resident.clone()
    }
}

impl VirtualIo {
    fn unit_blocks(&self) -> usize {
        let (asked, most) = if self.args.is_given("unit") {
            (self.args.share("unit", self.capacity as u32).expect("a share") as usize, self.capacity)
        } else {
            (256, self.capacity / 32)
        };
        asked.clamp(1, most.max(1))
    }

    fn all_units(&self) -> usize {
        self.capacity / self.unit
    }

    fn used(&self) -> usize {
        self.queues.iter().map(|queue| queue.units).sum()
    }

    /// Memory holds what stands at mapped positions of this queue.
    fn hold(&mut self, part: usize, held: Vec<u32>) {
        let queue = &self.queues[part];
        self.home.retain(|key, at| *at != part || queue.model.remembers(*key));
        let home = &self.home;
        self.resident.retain(|key| home.get(key).is_some_and(|at| *at != part));
        self.resident.extend(held);
    }

    fn come(&mut self, reference: Reference, step: &mut ModelStep) -> usize {
        let app = reference.app;
        let known = self.queues.iter().position(|queue| queue.app == app);
        if let Some(part) = known.filter(|&part| !self.queues[part].away) {
            return part;
        }
        let part = known.unwrap_or_else(|| {
            self.queues.push(self.waiting.remove(&app).expect("it is in the trace"));
            self.queues.len() - 1
        });
        if self.first.is_none() {
            self.first = Some(reference.clock);
            self.look(reference.clock);
        }
        self.queues[part].away = false;
        self.queues[part].load = self.load;
        let live = self.queues.iter().filter(|queue| !queue.away).count();
        let share = (self.all_units() / live).min(self.queues[part].by_unit(self.unit));
        let mut changed = BTreeSet::from([part]);
        for _ in 0..share {
            if self.used() == self.all_units() {
                let most = (0..self.queues.len()).filter(|&at| at != part).map(|at| self.queues[at].units).max();
                let giver = (0..self.queues.len()).find(|&at| at != part && Some(self.queues[at].units) == most);
                let giver = giver.expect("another application has the others");
                self.queues[giver].units -= 1;
                changed.insert(giver);
            }
            self.queues[part].units += 1;
        }
        self.install(&changed.into_iter().collect::<Vec<_>>(), step);
        part
    }

    fn hand_out(&mut self) {
        while self.used() < self.all_units() {
            let takers = (0..self.queues.len())
                .filter(|&at| !self.queues[at].away && self.queues[at].units < self.queues[at].by_unit(self.unit));
            let Some(taker) = takers.min_by_key(|&at| self.queues[at].units) else { return };
            self.queues[taker].units += 1;
        }
    }

    /// True if the quantum is over before a reference at this time.
    fn has_ended(&self, clock: u64) -> bool {
        let count = self.quanta.last().map_or(0, Vec::len) as u64;
        let live = self.queues.iter().filter(|queue| !queue.away).count() as u64;
        match self.args.quantum("quantum") {
            Quantum::References(most) => count >= most,
            Quantum::ReferencesPerApp(most) => count >= most * live.max(1),
            Quantum::Time(time) => self.first.is_some_and(|first| (clock - first) / time > self.passed),
            Quantum::Auto => count >= self.capacity.min(2000) as u64,
        }
    }

    fn look(&mut self, clock: u64) {
        if self.args.quantum("quantum") != Quantum::Auto {
            return;
        }
        let busy = crate::world::storage_busy(clock);
        if let Some((clock_before, busy_before)) = self.looked
            && clock > clock_before
        {
            self.load = Some(((busy - busy_before) as f64 / (clock - clock_before) as f64).min(1.0));
        }
        self.looked = Some((clock, busy));
    }

    fn end_quantum(&mut self, clock: u64, step: &mut ModelStep) {
        self.look(clock);
        let live = self.queues.iter().filter(|queue| !queue.away).count();
        let equal = self.all_units() / live.max(1);
        for queue in &mut self.queues {
            queue.load = self.load;
            if self.args.word("objective") == "fair" {
                let misses = queue.references() - queue.map(equal, self.unit).1;
                queue.weight = 1.0 / misses.max(1.0);
            }
            queue.weigh(self.unit);
        }
        for (at, change) in self.best_changes().into_iter().enumerate() {
            self.queues[at].units = self.queues[at].units.saturating_add_signed(change);
        }
        // An application without a reference in 30 quanta in a row, this one included, has left.
        for queue in &mut self.queues {
            let quiet = self.quanta.iter().rev().take_while(|quantum| !quantum.contains(&queue.app)).count();
            if quiet >= 30 {
                (queue.away, queue.units) = (true, 0);
            }
        }
        if self.queues.iter().any(|queue| queue.away) {
            self.hand_out();
        }
        self.install(&(0..self.queues.len()).collect::<Vec<_>>(), step);
        for queue in &mut self.queues {
            let alpha = queue.load.map_or(queue.alpha, |load| load.min(queue.alpha));
            queue.beyond *= alpha;
            queue.values.iter_mut().for_each(|value| *value *= alpha);
        }
        self.quanta.push(Vec::new());
        if let (Some(first), Quantum::Time(time)) = (self.first, self.args.quantum("quantum")) {
            self.passed = (clock - first) / time;
        }
    }
}

impl VirtualIo {
    /// The best of all choices; of equal ones the one with the fewest moves, then the one that a table from the first
    /// queue on finds first.
    fn best_changes(&self) -> Vec<isize> {
        let count = self.queues.len() as u32;
        let mut best: Option<(f64, usize, Vec<usize>, Vec<isize>)> = None;
        for number in 0..3usize.pow(count) {
            let ranks: Vec<usize> = (0..count).map(|place| number / 3usize.pow(place) % 3).collect();
            let changes: Vec<isize> = ranks.iter().map(|&rank| [0, -1, 1][rank]).collect();
            if changes.iter().sum::<isize>() != 0 {
                continue;
            }
            let values: Option<Vec<f64>> =
                self.queues.iter().zip(&changes).map(|(queue, &change)| queue.worth(change)).collect();
            let Some(values) = values else { continue };
            let value: f64 = values.iter().sum();
            let moved = changes.iter().filter(|change| **change != 0).count();
            let last_first: Vec<usize> = ranks.iter().rev().copied().collect();
            let is_better = best.as_ref().is_none_or(|(so_far, fewest, first, _)| {
                value > *so_far || value == *so_far && (moved, &last_first) < (*fewest, first)
            });
            if is_better {
                best = Some((value, moved, last_first, changes));
            }
        }
        best.map(|best| best.3).unwrap_or_default()
    }

    /// Maps these queues anew: first all that leaves, then all that comes.
    fn install(&mut self, changed: &[usize], step: &mut ModelStep) {
        let unit = self.unit;
        for &part in changed {
            let queue = &mut self.queues[part];
            queue.weigh(unit);
            let mapped = queue.map(queue.units, unit).0;
            if queue.pays(&mapped, unit) {
                queue.mapped = mapped;
            }
        }
        for &part in changed {
            let held = self.queues[part].held(unit);
            let left =
                self.queues[part].order().into_iter().filter(|key| self.resident.contains(key) && !held.contains(key));
            step.evicted.extend(left);
        }
        for &part in changed {
            let held = self.queues[part].held(unit);
            step.fetched.extend(held.iter().copied().filter(|key| !self.resident.contains(key)));
            self.hold(part, held);
        }
    }
}

impl Vrm {
    fn references(&self) -> f64 {
        self.values.iter().sum::<f64>() + self.beyond
    }

    /// The weight of the best mapping of so many units beside other applications.
    fn counted(&self, units: usize, unit: usize) -> f64 {
        let (mapped, worth) = self.map(units, unit);
        self.weight * worth + 1e9 * self.hits(&mapped).min(self.promise * self.references())
    }

    fn weigh(&mut self, unit: usize) {
        let now = self.counted(self.units, unit);
        let less = (self.units > 0).then(|| self.counted(self.units - 1, unit));
        let more = (self.units < self.by_unit(unit)).then(|| self.counted(self.units + 1, unit));
        self.loss = less.filter(|_| self.units > 1).map(|less| now - less);
        self.gain = more.map(|more| more - now);
    }

    fn worth(&self, change: isize) -> Option<f64> {
        match change {
            1 => self.gain.filter(|_| !self.away),
            -1 => self.loss.map(|loss| -loss),
            _ => Some(0.0),
        }
    }
}
