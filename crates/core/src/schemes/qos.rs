//! qos(P, APP=70%, APP=10ms, ...): a part for each application, as large as its promised hit rate needs.
//!
//! Idea: users ask for hit rates or times, not for sizes. What an application reaches with how much room is measured once beforehand, at a few sizes, and then
//! learnt on: every interval its rate at its present size is written into a table, straight lines between the points say how much it needs, and
//! promises are kept from the cheapest on. What is left goes to those below their best, or to those whose promise cannot be kept, who are flagged.
//!
//! Paper: Patrick, Kandemir and others, soft quality of service for storage caches (POLICIES 1.4).
//!
//! Deviations and readings. Before the start each application is measured alone at 1 block, half of the cache and all of it, as in the paper; a host that cannot do that (a
//! stream, a live cache) begins with the hopeful line from 0 % at 1 block to 100 % at the whole cache (`profile=none`). The rate of an application is that since
//! it began (`rate=interval`: since the last division). An application that is not named was promised nothing: it gets one block before others get what is left. A promised mean time
//! becomes a rate by `hit_time` and `miss_time`; one below `hit_time` counts as 100 %. The printed procedure does not sort and starves all flagged applications but one:
//! see the file of the allocator. Rates are looked at when an interval is over, not when somebody comes:
//! the first few references of an application would put 0 % into its table. An application that makes no reference for 30 intervals has left; its table is kept. Signs in
//! names that a spec cannot hold are written `_`: `pid_4711`.
//!
//! Cost: that of P and a virtual call; a division costs O(n log n) for n applications. Memory: as `equal`, and up to 24 KB an application for its table.
//!
//! When not to use it: hit rates are kept apart, not the best in sum: `ucp` is for that. Curves with cliffs are badly drawn by lines through three points: an
//! application in front of its cliff takes room that does not help it until the table has learnt better.

use std::collections::HashMap;

use super::applications::{Applications, Divider};
use crate::allocate::curve::Curve;
use crate::allocate::targets::{self, Claim, Grant};
use crate::policy::{App, Info, Needs, Profiling, Reference};
use crate::spec::{Args, Argument, Interval, Param, ParamKind, PolicySpec, SpecError, Value};

/// The scheme.
pub type Qos = Applications<Promises>;

/// Divides by promised hit rates.
pub struct Promises {
    capacity: u32,
    by_interval: bool,
    /// Hit rate in percent that was promised, by application.
    goals: HashMap<u32, f64>,
    profiles: Vec<Vec<(u32, f64)>>,
    parts: Vec<Account>,
}

/// What is known of one application.
struct Account {
    goal: f64,
    curve: Curve,
    best: f64,
    /// Hits in percent when they were last looked at.
    rate: f64,
    hits: u64,
    references: u64,
}

impl Divider for Promises {
    const INFO: Info = Info {
        name: "qos",
        aliases: &[],
        family: "application",
        summary: "a part for each application, as large as the hit rate or time that it was promised needs",
        params: &[
            super::PART_POLICY,
            super::PREFETCH,
            Param {
                key: "interval",
                kind: ParamKind::Interval,
                default: "2s",
                doc: "how often the room is divided anew: a time, or a number of references (paper: 2s)",
            },
            Param {
                key: "profile",
                kind: ParamKind::Word(&["alone", "none"]),
                default: "alone",
                doc: "what is known beforehand: the rates of each application alone at 1 block, half and all of the cache (paper), or nothing",
            },
            Param {
                key: "rate",
                kind: ParamKind::Word(&["start", "interval"]),
                default: "start",
                doc: "the rate of an application counts since it began (paper) or since the last division",
            },
            Param {
                key: "hit_time",
                kind: ParamKind::Time,
                default: "200us",
                doc: "time of a hit, by which a promised time becomes a hit rate (paper: 0.2 ms)",
            },
            Param { key: "miss_time", kind: ParamKind::Time, default: "10ms", doc: "time of a miss (paper: 10 ms)" },
            Param {
                key: "APP",
                kind: ParamKind::Goals,
                default: "",
                doc: "what applications were promised, by their names: a hit rate (lu=70%) or a mean time (tpch=5ms)",
            },
        ],
        offline: false,
        needs: Needs::EVERYTHING,
    };

    const SERVING: &'static [(&'static str, &'static str)] = &[("profile", "none"), super::PREFETCH_OFF];

    fn interval(args: &Args) -> Option<Interval> {
        Some(args.interval("interval"))
    }

    fn profiling(args: &Args, capacity: u32) -> Option<Profiling> {
        let mut sizes = vec![1, (capacity / 2).max(1), capacity];
        sizes.dedup();
        let policy: PolicySpec = args.policy("policy").clone();
        (args.word("profile") == "alone").then_some(Profiling { policy, sizes })
    }

    fn new(args: &Args, capacity: u32, apps: &[App]) -> Result<Self, SpecError> {
        Ok(Promises {
            capacity,
            by_interval: args.word("rate") == "interval",
            goals: goals(args, apps)?,
            profiles: apps.iter().map(|app| app.profile.clone()).collect(),
            parts: Vec::new(),
        })
    }

    fn arrive(&mut self, app: u32) {
        let known = self.profiles.get(app as usize).filter(|profile| !profile.is_empty());
        let curve = Curve::through(known.cloned().unwrap_or_else(|| vec![(1, 0.0), (self.capacity.max(2), 100.0)]));
        let best = if known.is_some() { curve.best() } else { 0.0 };
        let goal = self.goals.get(&app).copied().unwrap_or(0.0);
        self.parts.push(Account { goal, curve, best, rate: 0.0, hits: 0, references: 0 });
    }

    #[inline(always)]
    fn note(&mut self, part: usize, _reference: &Reference, hit: bool) {
        let account = &mut self.parts[part];
        account.references += 1;
        account.hits += u64::from(hit);
    }

    fn divide(&mut self, capacity: u32, live: &[usize], rooms: &[u32], is_due: bool) -> Vec<Grant> {
        for &part in live.iter().filter(|_| is_due) {
            self.parts[part].sample(rooms[part], self.by_interval);
        }
        let claims: Vec<Claim> = live.iter().map(|&part| self.parts[part].claim()).collect();
        targets::divide(capacity, &claims)
    }

    fn promised(&self, part: usize) -> Option<f64> {
        Some(self.parts[part].goal).filter(|&goal| goal > 0.0)
    }
}

impl Account {
    /// Notes the rate with `room` blocks, if there was a reference since it was last begun to count.
    fn sample(&mut self, room: u32, by_interval: bool) {
        if self.references == 0 || room == 0 {
            return;
        }
        self.rate = 100.0 * self.hits as f64 / self.references as f64;
        self.best = self.best.max(self.rate);
        self.curve.record(room, self.rate);
        if by_interval {
            (self.hits, self.references) = (0, 0);
        }
    }

    fn claim(&self) -> Claim {
        // Who was promised nothing needs a block, whatever its curve begins with.
        let need = if self.goal > 0.0 { self.curve.need(self.goal) } else { Some(1) };
        Claim { need, rate: self.rate, best: self.best }
    }
}

/// The promised hit rates in percent, by application.
fn goals(args: &Args, apps: &[App]) -> Result<HashMap<u32, f64>, SpecError> {
    let (hit, miss) = (args.time("hit_time") as f64, args.time("miss_time") as f64);
    if hit >= miss {
        let [hit, miss] = ["hit_time", "miss_time"].map(|key| Value::Time(args.time(key)));
        return Err(SpecError::new(format!(
            "a hit takes {hit} and a miss {miss}: expected a miss_time above the hit_time"
        )));
    }
    let rate = |goal: &Argument| match goal {
        Argument::Value(Value::Percent(rate)) => *rate,
        Argument::Value(Value::Time(time)) => targets::rate_for_time(*time as f64, hit, miss),
        _ => unreachable!("the parameter admits no other goal"),
    };
    let goals = args.apps("APP").iter();
    goals.map(|(name, goal)| Ok((super::app_named("qos", name, apps)?, rate(goal)))).collect()
}
