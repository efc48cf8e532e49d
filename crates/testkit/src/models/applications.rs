//! Caches divided among applications as they are stated: a model for each part, and rules that divide.

use std::collections::{BTreeMap, BTreeSet};

use hotset_core::policy::{Args, Argument, Interval, Reference};
use hotset_core::spec::Value;

use crate::model::{Given, Model, ModelStep};
use crate::models;

/// The division of room. Parts are numbered in the order in which their applications came.
pub(super) trait Rule {
    fn new(given: &Given<'_>) -> Self;
    fn interval(args: &Args) -> Option<Interval>;
    fn arrive(&mut self, app: u32);
    fn note(&mut self, part: usize, key: u32, hit: bool);
    fn divide(&mut self, capacity: usize, live: &[usize], rooms: &[usize], is_due: bool) -> Vec<usize>;
}

pub(super) struct Applications<R> {
    rule: R,
    capacity: usize,
    every: Option<Interval>,
    begun: Option<u64>,
    /// Divisions that were due so far.
    due: u64,
    references: u64,
    /// Policies of applications that have not come yet.
    waiting: BTreeMap<u32, Box<dyn Model>>,
    parts: Vec<Part>,
    home: BTreeMap<u32, usize>,
}

struct Part {
    app: u32,
    model: Box<dyn Model>,
    room: usize,
    idle: u32,
}

impl<R: Rule> Model for Applications<R> {
    fn new(given: &Given<'_>) -> Self {
        let apps: BTreeSet<u32> = given.references.iter().map(|reference| reference.app).collect();
        Applications {
            rule: R::new(given),
            capacity: given.capacity,
            every: R::interval(given.args),
            begun: None,
            due: 0,
            references: 0,
            waiting: apps.into_iter().map(|app| (app, models::inner(given, "policy", 1))).collect(),
            parts: Vec::new(),
            home: BTreeMap::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let is_due = self.is_due(&reference);
        let known = self.parts.iter().position(|part| part.app == reference.app);
        let part = known.unwrap_or_else(|| {
            let model = self.waiting.remove(&reference.app).expect("it is in the trace");
            self.rule.arrive(reference.app);
            self.parts.push(Part { app: reference.app, model, room: 0, idle: 0 });
            self.parts.len() - 1
        });
        let was_away = self.parts[part].idle >= 30;
        self.parts[part].idle = 0;
        if is_due {
            self.parts.iter_mut().for_each(|part| part.idle += 1);
        }
        let mut evicted = Vec::new();
        if is_due || was_away || known.is_none() {
            evicted = self.divide(is_due);
        }
        let at = *self.home.get(&key).unwrap_or(&part);
        if self.parts[at].room == 0 {
            self.rule.note(part, key, false);
            return ModelStep { evicted, bypassed: true, ..ModelStep::default() };
        }
        self.home.insert(key, at);
        let step = self.parts[at].model.access(key, reference);
        self.forget();
        self.rule.note(part, key, step.hit);
        evicted.extend(step.evicted);
        ModelStep { evicted, ..step }
    }

    fn remove(&mut self, key: u32) {
        if let Some(&part) = self.home.get(&key) {
            self.parts[part].model.remove(key);
            self.forget();
        }
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        self.divide(false)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.parts.iter().flat_map(|part| part.model.resident()).collect()
    }
}

impl<R: Rule> Applications<R> {
    fn is_due(&mut self, reference: &Reference) -> bool {
        let now = match self.every {
            Some(Interval::Time(_)) => reference.clock,
            _ => self.references,
        };
        self.references += 1;
        let begun = *self.begun.get_or_insert(now);
        let passed = match self.every {
            Some(Interval::Time(every) | Interval::References(every)) => (now - begun) / every,
            None => 0,
        };
        let is_due = passed > self.due;
        self.due = passed;
        is_due
    }

    fn divide(&mut self, is_due: bool) -> Vec<u32> {
        let live: Vec<usize> = (0..self.parts.len()).filter(|&part| self.parts[part].idle < 30).collect();
        let before: Vec<usize> = self.parts.iter().map(|part| part.room).collect();
        let mut rooms = vec![0; self.parts.len()];
        for (part, room) in live.iter().zip(self.rule.divide(self.capacity, &live, &before, is_due)) {
            rooms[*part] = room;
        }
        let mut evicted = Vec::new();
        for grows in [false, true] {
            for part in 0..rooms.len() {
                if rooms[part] != before[part] && (rooms[part] > before[part]) == grows {
                    evicted.extend(self.resize_part(part, rooms[part]));
                }
            }
        }
        self.forget();
        evicted
    }

    fn resize_part(&mut self, part: usize, room: usize) -> Vec<u32> {
        let part = &mut self.parts[part];
        part.room = room;
        let mut evicted = part.model.resize(room.max(1));
        if room == 0 {
            for key in part.model.resident() {
                part.model.remove(key);
                evicted.push(key);
            }
        }
        evicted
    }

    /// Blocks that their part knows no more are at home nowhere.
    fn forget(&mut self) {
        let parts = &self.parts;
        self.home.retain(|key, part| parts[*part].model.remembers(*key));
    }
}

/// As even as possible, the first a block more.
fn evenly(total: usize, parts: usize) -> Vec<usize> {
    (0..parts).map(|part| (total + parts - 1 - part) / parts).collect()
}

/// No application is left without a block while another has two.
fn fill(rooms: &mut [usize]) {
    while let Some(empty) = rooms.iter().position(|room| *room == 0) {
        let most = *rooms.iter().max().expect("there is one");
        if most < 2 {
            return;
        }
        let giver = rooms.iter().position(|room| *room == most).expect("it is there");
        rooms[giver] -= 1;
        rooms[empty] = 1;
    }
}

/// In proportion, the largest remainders first.
fn in_proportion(total: usize, weights: &[f64]) -> Vec<usize> {
    let sum: f64 = weights.iter().sum();
    if sum <= 0.0 {
        return evenly(total, weights.len());
    }
    let exact: Vec<f64> = weights.iter().map(|weight| weight / sum * total as f64).collect();
    let mut rooms: Vec<usize> = exact.iter().map(|room| room.floor() as usize).collect();
    let mut parts: Vec<usize> = (0..rooms.len()).collect();
    parts.sort_by(|&one, &other| exact[other].fract().total_cmp(&exact[one].fract()));
    for part in parts {
        if rooms.iter().sum::<usize>() < total {
            rooms[part] += 1;
        }
    }
    rooms
}

pub(super) struct Equal;

impl Rule for Equal {
    fn new(_: &Given<'_>) -> Equal {
        Equal
    }

    fn interval(_: &Args) -> Option<Interval> {
        None
    }

    fn arrive(&mut self, _: u32) {}

    fn note(&mut self, _: usize, _: u32, _: bool) {}

    fn divide(&mut self, capacity: usize, live: &[usize], _: &[usize], _: bool) -> Vec<usize> {
        evenly(capacity, live.len())
    }
}

pub(super) struct Qos {
    goals: BTreeMap<String, f64>,
    by_interval: bool,
    capacity: u32,
    /// Points that a table holds.
    length: usize,
    least: usize,
    is_sampled: bool,
    parts: Vec<Account>,
}

struct Account {
    goal: f64,
    points: BTreeMap<u32, f64>,
    /// Sizes in the order in which they were written, the newest last.
    written: Vec<u32>,
    best: f64,
    rate: f64,
    outcomes: Vec<bool>,
    /// Hits of LRU, and the references that it sees.
    stack: Stack,
    told: f64,
}

impl Rule for Qos {
    fn new(given: &Given<'_>) -> Qos {
        let (hit, miss) = (given.args.time("hit_time") as f64, given.args.time("miss_time") as f64);
        let rate = |goal: &Argument| match goal {
            Argument::Value(Value::Percent(rate)) => *rate,
            Argument::Value(Value::Time(time)) => (miss - *time as f64) / (miss - hit) * 100.0,
            other => panic!("{other} is not a goal"),
        };
        let goals = given.args.apps("APP").iter().map(|(name, goal)| (name.clone(), rate(goal).clamp(0.0, 100.0)));
        Qos {
            goals: goals.collect(),
            by_interval: given.args.word("rate") == "interval",
            capacity: given.capacity as u32,
            length: given.args.count("table") as usize,
            least: given.args.count("least") as usize,
            is_sampled: given.args.word("curve") == "sampled",
            parts: Vec::new(),
        }
    }

    fn interval(args: &Args) -> Option<Interval> {
        Some(args.interval("interval").expect("the length of the run is known"))
    }

    fn arrive(&mut self, app: u32) {
        let goal = self.goals.get(&crate::world::app_name(app)).copied().unwrap_or(0.0);
        let most = self.capacity.max(2);
        let points = BTreeMap::from([(1, 0.0), (most, 100.0)]);
        self.parts.push(Account {
            goal,
            points,
            written: vec![1, most],
            best: 0.0,
            rate: 0.0,
            outcomes: Vec::new(),
            stack: Stack::of(self.capacity as usize),
            told: 0.0,
        });
    }

    fn note(&mut self, part: usize, key: u32, hit: bool) {
        let account = &mut self.parts[part];
        account.outcomes.push(hit);
        account.stack.refer(key);
        account.told += 1.0;
    }

    fn divide(&mut self, capacity: usize, live: &[usize], rooms: &[usize], is_due: bool) -> Vec<usize> {
        for &part in live.iter().filter(|_| is_due) {
            let account = &mut self.parts[part];
            if rooms[part] > 0 && !account.outcomes.is_empty() {
                let hits = account.outcomes.iter().filter(|hit| **hit).count();
                account.rate = 100.0 * hits as f64 / account.outcomes.len() as f64;
                account.best = account.best.max(account.rate);
                let size = rooms[part] as u32;
                account.written.retain(|&other| other != size);
                account.written.push(size);
                account.points.insert(size, account.rate);
                if account.written.len() > self.length {
                    account.points.remove(&account.written.remove(0));
                }
                if self.is_sampled && account.told >= self.capacity.into() {
                    let hits = |size: u32| account.stack.hits[..size as usize].iter().fold(0.0, |sum, hits| sum + hits);
                    account.points =
                        (1..=self.capacity).map(|size| (size, 100.0 * hits(size) / account.told)).collect();
                    account.best = account.points.values().copied().fold(account.best, f64::max);
                }
                if self.by_interval {
                    account.outcomes.clear();
                    account.stack.halve();
                    account.told /= 2.0;
                }
            }
        }
        let least = self.least.min((capacity / live.len().max(1) / 2).max(1));
        let needs: Vec<Option<usize>> = live.iter().map(|&part| self.parts[part].need(least)).collect();
        let mut free = capacity;
        let mut granted = vec![None; live.len()];
        // The cheapest that fits, again and again, is the ascending order.
        while let Some(next) =
            (0..live.len()).filter(|&at| granted[at].is_none() && needs[at].is_some()).min_by_key(|&at| needs[at])
        {
            let need = needs[next].expect("filtered");
            if need > free {
                break;
            }
            free -= need;
            granted[next] = Some(need);
        }
        let flagged: Vec<usize> = (0..live.len()).filter(|&at| granted[at].is_none()).collect();
        let mut rooms: Vec<usize> = granted.iter().map(|grant| grant.unwrap_or(0)).collect();
        if flagged.is_empty() {
            let behind: Vec<f64> = live.iter().map(|&part| self.parts[part].behind()).collect();
            for (room, more) in rooms.iter_mut().zip(in_proportion(free, &behind)) {
                *room += more;
            }
        } else {
            for (at, more) in flagged.iter().zip(evenly(free, flagged.len())) {
                rooms[*at] = more;
            }
        }
        fill(&mut rooms);
        rooms
    }
}

impl Account {
    fn behind(&self) -> f64 {
        (self.best - self.rate).max(0.0)
    }

    fn need(&self, least: usize) -> Option<usize> {
        if self.goal == 0.0 { Some(1) } else { Some(self.size()?.max(least)) }
    }

    /// With which the points reach the goal.
    fn size(&self) -> Option<usize> {
        let points: Vec<(f64, f64)> = self.points.iter().map(|(&x, &y)| (f64::from(x), y)).collect();
        if points[0].1 >= self.goal {
            return Some(points[0].0 as usize);
        }
        for pair in points.windows(2) {
            let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
            if y1 < self.goal && self.goal <= y2 {
                return Some((x1 + ((self.goal - y1) * (x2 - x1) / (y2 - y1)).ceil()).min(x2) as usize);
            }
        }
        None
    }
}

/// With a stack for each application, by the book.
pub(super) struct Ucp {
    capacity: usize,
    parts: Vec<Stack>,
}

struct Stack {
    order: Vec<u32>,
    hits: Vec<f64>,
}

impl Stack {
    fn of(capacity: usize) -> Stack {
        Stack { order: Vec::new(), hits: vec![0.0; capacity] }
    }

    fn refer(&mut self, key: u32) {
        if let Some(depth) = self.order.iter().position(|&other| other == key) {
            self.hits[depth] += 1.0;
            self.order.remove(depth);
        }
        self.order.insert(0, key);
        self.order.truncate(self.hits.len());
    }

    fn halve(&mut self) {
        self.hits.iter_mut().for_each(|hits| *hits /= 2.0);
    }
}

impl Rule for Ucp {
    fn new(given: &Given<'_>) -> Ucp {
        assert!(given.capacity <= 128, "larger caches are divided in steps, which this model does not know");
        Ucp { capacity: given.capacity, parts: Vec::new() }
    }

    fn interval(args: &Args) -> Option<Interval> {
        Some(args.interval("interval").expect("the length of the run is known"))
    }

    fn arrive(&mut self, _: u32) {
        self.parts.push(Stack::of(self.capacity));
    }

    fn note(&mut self, part: usize, key: u32, _: bool) {
        self.parts[part].refer(key);
    }

    fn divide(&mut self, capacity: usize, live: &[usize], _: &[usize], _: bool) -> Vec<usize> {
        let steps = self.capacity;
        let mut given: Vec<usize> = (0..live.len()).map(|at| usize::from(at < steps)).collect();
        loop {
            let left = steps - given.iter().sum::<usize>();
            let mut best = (0.0, 0, 0);
            for (at, &part) in live.iter().enumerate() {
                for run in 1..=left {
                    // As differences of sums from 0 on: hits halved a hundred times are lost beside new ones.
                    let sum = |units: usize| self.parts[part].hits[..units].iter().fold(0.0, |sum, hits| sum + hits);
                    let gain = (sum(given[at] + run) - sum(given[at])) / run as f64;
                    if gain > best.0 {
                        best = (gain, at, run);
                    }
                }
            }
            if best.2 == 0 {
                evenly(left, live.len()).iter().zip(&mut given).for_each(|(more, units)| *units += more);
                break;
            }
            given[best.1] += best.2;
        }
        self.parts.iter_mut().for_each(Stack::halve);
        let weights: Vec<f64> = given.iter().map(|&units| units as f64).collect();
        let mut rooms = in_proportion(capacity, &weights);
        fill(&mut rooms);
        rooms
    }
}
