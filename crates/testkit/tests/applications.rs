//! Caches divided among applications: their laws, and the decisions that a host receives.

use std::collections::BTreeMap;

use hotset_core::policy::{
    App, Args, Effects, Extra, Note, Outcome, Policy, PolicySpec, Reference, Repartition, Setup, Slot,
};
use hotset_core::schemes::{equal::Equal, qos::Qos, ucp::Ucp};
use hotset_testkit::harness::Case;
use hotset_testkit::replay::replay;
use hotset_testkit::traces::samples;
use hotset_testkit::world::World;

/// Applications that stay away longer than thirty intervals lose their room, and get some when they come back.
#[test]
fn who_stays_away_loses_its_room() {
    let mut cache = Cache::<Qos>::new("qos(interval=1)", 8, &[]);
    cache.refer(0, 0);
    cache.refer(1, 1);
    assert_eq!(cache.rooms().len(), 2);
    (0..30).for_each(|_| cache.refer(1, 2));
    assert_eq!(cache.rooms(), BTreeMap::from([(1, 8)]));
    cache.refer(0, 0);
    assert!(cache.rooms()[&0] > 0);
    cache.scheme.validate();
}

#[test]
fn one_application_has_the_whole_cache() {
    let alone = World { apps: 1, ..World::default() };
    for trace in samples() {
        for policy in ["equal", "ucp", "qos", "shared", "best"] {
            for inner in ["lru", "arc", "s3-fifo"] {
                let whole = replay(&Case::new(inner, 9).in_world(alone), &trace);
                let case = Case::new(policy, 9).with("policy", inner).in_world(alone);
                assert_eq!(replay(&case, &trace), whole, "{policy}({inner})");
            }
        }
    }
}

/// No promise changes these.
#[test]
fn decisions_are_told_and_never_exceed_the_cache() {
    let names: Vec<String> = (0..5).map(|app| format!("app {app}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for spec in ["qos(interval=50,app_0=40%,app_1=90%,app_2=1ms)", "qos(interval=50)", "qos(interval=50,app_3=100%)"] {
        for capacity in [1, 4, 5, 40] {
            let mut cache = Cache::<Qos>::new(spec, capacity, &names);
            for time in 0..2000u32 {
                cache.refer((time.wrapping_mul(2_654_435_761) >> 20) % 5, (time * 7 + time / 90) % 60);
            }
            cache.scheme.validate();
            assert!(cache.decisions.len() >= 40);
            for decision in &cache.decisions {
                let sum: u32 = decision.parts.iter().map(|part| part.blocks).sum();
                assert_eq!(sum, capacity, "{decision:?}");
                let fed = decision.parts.iter().filter(|part| part.blocks > 0).count();
                assert_eq!(fed, decision.parts.len().min(capacity as usize), "{decision:?}");
            }
            let flagged = cache.decisions.iter().flat_map(|decision| &decision.parts).filter(|part| part.is_infeasible);
            assert_eq!(flagged.count() > 0, spec.contains('%') || capacity < 5, "{spec} {capacity}");
        }
    }
}

/// One application loops over more than its share, the other over less: utility sees it, equal shares do not.
#[test]
fn utility_gives_room_where_it_helps() {
    let (mut ucp, mut equal) =
        (Cache::<Ucp>::new("ucp(interval=1000)", 100, &[]), Cache::<Equal>::new("equal", 100, &[]));
    for time in 0..20_000u32 {
        // Application 0 scans, application 1 loops over 80 blocks.
        let (app, block) = if time % 2 == 0 { (0, 1000 + time / 2) } else { (1, time / 2 % 80) };
        ucp.refer(app, block);
        equal.refer(app, block);
    }
    assert_eq!(equal.hits, 0);
    assert!(ucp.hits > 8_500, "{}", ucp.hits);
    assert!(ucp.rooms()[&1] >= 80);
}

#[test]
fn an_unknown_application_is_named_with_those_that_there_are() {
    let args = args("qos(lux=70%)");
    let apps = ["lu", "pid 4711"].map(App::from);
    let setup = Setup { apps: &apps, ..Setup::new(&args, 5, 0, 1) };
    let error = Qos::new(&setup).err().expect("refused").to_string();
    assert!(error.contains("\"lux\"") && error.contains("known are lu, pid_4711"), "{error}");
    let error =
        Equal::new(&Setup::new(&PolicySpec::parse("equal(opt)").unwrap().args(None), 5, 0, 1)).err().expect("refused");
    assert!(error.to_string().contains("equal cannot be put around opt"), "{error}");
}

fn args(spec: &str) -> Args {
    PolicySpec::parse(spec).unwrap_or_else(|error| panic!("{error}")).args(None)
}

/// A scheme and what its host heard.
struct Cache<P> {
    scheme: P,
    decisions: Vec<Repartition>,
    slots: u32,
    time: u64,
    hits: u64,
}

struct Heard<'a>(&'a mut Vec<Repartition>);

impl Effects for Heard<'_> {
    fn evict(&mut self, _slot: Slot) {}
    fn forget(&mut self, _slot: Slot) {}
    fn fetch(&mut self, slot: Slot, _why: Extra) {
        panic!("{slot} was read ahead");
    }
    fn note(&mut self, note: &Note) {
        if let Note::Division(decision) = *note {
            self.0.push(decision.clone());
        }
    }

    #[inline(always)]
    fn take_accessed(&mut self, _slot: Slot) -> bool {
        false
    }

    fn storage_busy(&self) -> Option<u64> {
        None
    }
}

impl<P: Policy> Cache<P> {
    fn new(spec: &str, capacity: u32, names: &[&str]) -> Cache<P> {
        let args = args(spec);
        let apps: Vec<App> = names.iter().map(|&name| name.into()).collect();
        let scheme = P::new(&Setup { apps: &apps, ..Setup::new(&args, capacity, 0, 1) })
            .unwrap_or_else(|error| panic!("{error}"));
        Cache { scheme, decisions: Vec::new(), slots: 0, time: 0, hits: 0 }
    }

    fn refer(&mut self, app: u32, slot: Slot) {
        if slot >= self.slots {
            self.slots = slot + 1;
            self.scheme.grow(self.slots);
        }
        let reference = Reference { time: self.time, app, block: slot, ..Reference::default() };
        self.time += 1;
        let outcome = self.scheme.access(slot, reference, &mut Heard(&mut self.decisions));
        self.hits += u64::from(outcome == Outcome::Hit);
    }

    fn rooms(&self) -> BTreeMap<u32, u32> {
        let last = self.decisions.last().expect("somebody came");
        last.parts.iter().map(|part| (part.app, part.blocks)).collect()
    }
}
