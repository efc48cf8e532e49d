//! qos(P, APP=70%, APP=10ms, ...): a part for each application, as large as its promised hit rate needs.
//!
//! Idea: users ask for hit rates or times, not for sizes. The hit rate of an application at each size is measured
//! once beforehand, at a few sizes, and then learnt on: every interval its rate at its present size is written into a
//! table, straight lines between the points give its need, and promises are kept from the cheapest on. What is
//! left goes to those below their best, or to those whose promise cannot be kept, who are flagged.
//!
//! Paper: Patrick, Kandemir and others, soft quality of service for storage caches (POLICIES 1.4).
//!
//! Deviations and readings. Before the start each application is measured alone at 1 block, half of the cache and all
//! of it, as in the paper, or at more sizes (`points`); that can be read from a file of results too
//! (`profile="lu.json"`), which is how a mount has it. Without either an application begins with the hopeful line from
//! 0 % at 1 block to 100 % at the whole cache (`profile=none`). The paper divides anew every 2 s of its simulator's
//! time, several minutes of the applications': here it is a tenth of the run, and five minutes where it is unknown how
//! long that will be. The rate of an application is that since it began (`rate=interval`: since the last division). An
//! application that is not named was promised nothing: it gets one block before others get what is left. A promised
//! mean time becomes a rate by `hit_time` and `miss_time`; one below `hit_time` counts as 100 %. The printed procedure
//! does not sort and starves all flagged applications but one: see the file of the allocator. Rates are looked at when
//! an interval is over, not when an application comes: the first few references of an application would put 0 % into
//! its table. An application that makes no reference for 30 intervals has left; its table is kept. Signs in names that
//! a spec cannot hold are written `_`: `pid_4711`.
//!
//! Two things are ours. A rate measured with less than a few blocks is mostly several reads within the block in hand,
//! which a part of one block loses as soon as something is read ahead into it: a promise needs `least` blocks, or
//! half of an equal part where that is less. And the curve may be what LRU would have hit at every size, learnt from
//! a sample of the references while they are made (`curve=sampled`, as `ucp` does it), as soon as there is one, instead
//! of lines through the few sizes that an application has had.
//!
//! Cost: that of P and a virtual call; a division costs O(n log n) for n applications. Memory: as `equal`, and up to 24
//! KB an application for its table; another 100 KB with `curve=sampled`.
//!
//! When not to use it: hit rates are kept apart, not the best in sum: `ucp` is for that. Curves with cliffs are badly
//! drawn by lines through three points: an application in front of its cliff takes blocks that do not help it until the
//! table has learnt better. `curve=sampled` sees them, but it is LRU's curve, whatever P is, and without reading ahead.

use std::collections::HashMap;

use super::applications::{Applications, Divider, Standing};
use super::monitor::Monitor;
use crate::allocate::curve::Curve;
use crate::allocate::targets::{self, Claim, Grant};
use crate::families::promised;
use crate::policy::{App, Args, Info, Interval, Needs, Param, ParamKind, Profiling, Reference};
use crate::spec::SpecError;

/// The scheme.
pub type Qos = Applications<Promises>;

/// Divides by promised hit rates.
pub struct Promises {
    capacity: u32,
    /// Points that a table holds.
    length: usize,
    by_interval: bool,
    /// Blocks below which a rate is no evidence.
    least: u32,
    /// The same, as far as the applications that are there now allow it.
    least_now: u32,
    is_sampled: bool,
    /// Hit rate in percent that was promised, by application.
    goals: HashMap<u32, f64>,
    profiles: Vec<Vec<(u32, f64)>>,
    parts: Vec<Account>,
}

/// The known facts of one application.
struct Account {
    app: u32,
    goal: f64,
    curve: Curve,
    best: f64,
    /// Hits in percent when they were last looked at; `None` before.
    rate: Option<f64>,
    /// What would have been hit at every size, where that is sampled.
    monitor: Option<Monitor>,
    hits: u64,
    references: u64,
}

/// Defaults outside of the simulator of requests.
const LIVE: &[(&str, &str)] = &[("profile", "none"), ("interval", "300s"), ("prefetch", "off")];

impl Divider for Promises {
    const INFO: Info = Info {
        name: "qos",
        family: "application",
        summary: "a part for each application, as large as the hit rate or time that it was promised needs",
        params: &[
            super::PART_POLICY,
            super::PREFETCH,
            Param {
                key: "interval",
                kind: ParamKind::Interval,
                default: "10%",
                doc: "interval between two partitionings: a share of the run, a time, or a number of references (paper: 2 s of the simulator's time, several minutes of the applications')",
            },
            Param {
                key: "profile",
                kind: ParamKind::WordOrFile(&["alone", "none"]),
                default: "alone",
                doc: "prior knowledge: the rates of each application alone (paper), none, or a file of JSON by `hotset curve` or `simulate`",
            },
            Param {
                key: "points",
                kind: ParamKind::Count { min: 3, max: 1024 },
                default: "3",
                doc: "sizes at which each application is measured alone: 1 block, and the others evenly up to the whole cache (paper: any number larger than two)",
            },
            Param {
                key: "table",
                kind: ParamKind::Count { min: 3, max: 65536 },
                default: "1024",
                doc: "points that the table of an application holds; the one written longest ago goes first (paper: 1024)",
            },
            Param {
                key: "curve",
                kind: ParamKind::Word(&["lines", "sampled"]),
                default: "lines",
                doc: "what tells how much an application needs: straight lines through its table (paper), or LRU's curve of a sample of its references, once there is one",
            },
            Param {
                key: "least",
                kind: ParamKind::Count { min: 1, max: 1 << 31 },
                default: "32",
                doc: "least number of blocks at which a rate counts as evidence, so that a promise needs at least so many; at most half of an equal part (paper: 1)",
            },
            Param {
                key: "rate",
                kind: ParamKind::Word(&["start", "interval"]),
                default: "start",
                doc: "the rate of an application counts since it began (paper) or since the last division",
            },
            promised::HIT_TIME,
            promised::MISS_TIME,
            promised::APP,
        ],
        needs: Needs::EVERYTHING,
        serving: LIVE,
        paging: LIVE,
        ..Info::EMPTY
    };

    const CHANGEABLE: &[&str] = &["least", "rate", "hit_time", "miss_time", "APP"];

    fn reconfigure(&mut self, args: &Args, apps: &[App]) {
        self.by_interval = args.word("rate") == "interval";
        self.least = args.count("least") as u32;
        self.goals = promised::rates("qos", args, apps).expect("new accepts the same arguments");
        for account in &mut self.parts {
            account.goal = self.goals.get(&account.app).copied().unwrap_or(0.0);
        }
    }

    fn interval(args: &Args) -> Result<Option<Interval>, SpecError> {
        args.interval("interval").map(Some)
    }

    fn profiling(args: &Args, capacity: u32) -> Option<Profiling> {
        let policy = args.policy("policy").clone();
        match args.word_or_file("profile") {
            Ok("alone") => Some(Profiling::Alone { policy, sizes: sizes(args.count("points"), capacity) }),
            Ok(_) => None,
            Err(file) => Some(Profiling::Read { policy, file: file.to_owned() }),
        }
    }

    fn new(args: &Args, capacity: u32, apps: &[App]) -> Result<Self, SpecError> {
        Ok(Promises {
            capacity,
            length: args.count("table") as usize,
            by_interval: args.word("rate") == "interval",
            least: args.count("least") as u32,
            least_now: 1,
            is_sampled: args.word("curve") == "sampled",
            goals: promised::rates("qos", args, apps)?,
            profiles: apps.iter().map(|app| app.profile.clone()).collect(),
            parts: Vec::new(),
        })
    }

    fn arrive(&mut self, app: u32) {
        let known = self.profiles.get(app as usize).filter(|profile| !profile.is_empty());
        let hopeful = || vec![(1, 0.0), (self.capacity.max(2), 100.0)];
        let curve = Curve::through(self.length, known.cloned().unwrap_or_else(hopeful));
        let best = if known.is_some() { curve.best() } else { 0.0 };
        let goal = self.goals.get(&app).copied().unwrap_or(0.0);
        let monitor = self.is_sampled.then(|| Monitor::new(self.capacity));
        self.parts.push(Account { app, goal, curve, best, rate: None, monitor, hits: 0, references: 0 });
    }

    #[inline(always)]
    fn note(&mut self, part: usize, reference: &Reference, hit: bool) {
        let account = &mut self.parts[part];
        if let Some(monitor) = &mut account.monitor {
            monitor.note(reference.file, reference.block);
        }
        account.references += 1;
        account.hits += u64::from(hit);
    }

    fn divide(&mut self, capacity: u32, live: &[usize], rooms: &[u32], is_due: bool) -> Vec<Grant> {
        self.least_now = (capacity / (2 * live.len().max(1) as u32)).clamp(1, self.least);
        for &part in live.iter().filter(|_| is_due) {
            self.parts[part].sample(rooms[part], self.by_interval);
        }
        let claims: Vec<Claim> = live.iter().map(|&part| self.parts[part].claim(self.least_now)).collect();
        targets::divide(capacity, &claims)
    }

    fn standing(&self, part: usize) -> Option<Standing> {
        let account = &self.parts[part];
        let needs = account.claim(self.least_now).need;
        (account.goal > 0.0).then_some(Standing { goal: account.goal, reached: account.rate, needs })
    }

    fn table(&self, part: usize) -> Vec<(u32, f64)> {
        self.parts[part].curve.points().collect()
    }
}

/// So many sizes: 1 block, and the others evenly up to all of the capacity.
fn sizes(points: u64, capacity: u32) -> Vec<u32> {
    let size = |point: u64| (u64::from(capacity) * point / (points - 1)).max(1) as u32;
    let mut sizes: Vec<u32> = (0..points).map(size).collect();
    sizes.dedup();
    sizes
}

impl Account {
    /// Notes the rate with `room` blocks, if there was a reference since it was last begun to count.
    fn sample(&mut self, room: u32, by_interval: bool) {
        if self.references == 0 || room == 0 {
            return;
        }
        let rate = 100.0 * self.hits as f64 / self.references as f64;
        self.rate = Some(rate);
        self.curve.record(room, rate);
        let sampled = self.monitor.as_ref().map_or_else(Vec::new, Monitor::rates);
        if !sampled.is_empty() {
            self.curve = Curve::through(sampled.len(), sampled);
            self.best = self.best.max(self.curve.best());
        }
        self.best = self.best.max(rate);
        if by_interval {
            (self.hits, self.references) = (0, 0);
            self.monitor.iter_mut().for_each(Monitor::age);
        }
    }

    /// With a rate that was measured at less than `least` blocks for no evidence.
    fn claim(&self, least: u32) -> Claim {
        // Who was promised nothing needs a block, whatever its curve begins with.
        let need = if self.goal > 0.0 { self.curve.need(self.goal).map(|need| need.max(least)) } else { Some(1) };
        Claim { need, rate: self.rate.unwrap_or(0.0), best: self.best }
    }
}
