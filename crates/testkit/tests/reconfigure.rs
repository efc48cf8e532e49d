//! Arguments that change while a cache is in use: a scheme keeps its learnt state, or the change is refused as a whole.

use std::collections::BTreeMap;

use hotset_core::policy::dynamic::DynPolicy;
use hotset_core::policy::{App, Args, Effects, Extra, Note, PolicySpec, Reference, Setting, Setup, Slot};
use hotset_core::random::Rng;

const CAPACITY: u32 = 48;
const SLOTS: u32 = 400;
const APPS: [&str; 3] = ["a", "b", "c"];

/// Notes rooms and tables by application, and how often blocks left.
#[derive(Default)]
struct Told {
    rooms: BTreeMap<u32, u32>,
    tables: BTreeMap<u32, Vec<(u32, f64)>>,
    evictions: u64,
}

impl Effects for Told {
    fn evict(&mut self, _slot: Slot) {
        self.evictions += 1;
    }

    fn forget(&mut self, _slot: Slot) {}

    fn fetch(&mut self, _slot: Slot, _why: Extra) {}

    fn note(&mut self, note: &Note) {
        match note {
            Note::Division(division) => {
                self.rooms = division.parts.iter().map(|part| (part.app, part.blocks)).collect();
            }
            Note::HitRates(rates) => drop(self.tables.insert(rates.app, rates.points.to_vec())),
            _ => {}
        }
    }

    fn take_accessed(&mut self, _slot: Slot) -> bool {
        false
    }

    fn storage_busy(&self) -> Option<u64> {
        None
    }
}

/// A policy with what it was built from.
struct Subject {
    spec: PolicySpec,
    policy: Box<dyn DynPolicy>,
    told: Told,
    apps: Vec<App>,
}

fn spec(text: &str) -> PolicySpec {
    PolicySpec::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).set_in(Setting::Serving)
}

fn setup<'a>(args: &'a Args, apps: &'a [App]) -> Setup<'a> {
    Setup { apps, ..Setup::new(args, CAPACITY, SLOTS, 1) }
}

impl Subject {
    fn new(text: &str) -> Subject {
        let spec = spec(text);
        let (apps, args) = (APPS.map(App::from).to_vec(), spec.args(None));
        let policy = spec.entry().build(&setup(&args, &apps)).unwrap();
        Subject { spec, policy, told: Told::default(), apps }
    }

    fn reconfigure(&mut self, text: &str) -> bool {
        let changed = spec(text);
        assert_eq!(changed.info().name, self.spec.info().name);
        let (before, args) = (self.spec.args(None), changed.args(None));
        let policy = self.policy.reconfigurable();
        let is_taken =
            policy.is_some_and(|policy| policy.reconfigure(&before, &setup(&args, &self.apps), &mut self.told));
        if is_taken {
            self.spec = changed;
        }
        self.policy.validate();
        is_taken
    }

    /// Whether each of these references hit.
    fn run(&mut self, references: std::ops::Range<u64>) -> Vec<bool> {
        references.map(|time| self.refer(time)).collect()
    }

    /// Three applications, each with separate blocks: a loop of 40, a hot set of 12 beside a scan, and 130 at random.
    fn refer(&mut self, time: u64) -> bool {
        let mut random = Rng::new(time);
        let app = random.below(3);
        let block = match app {
            0 => (time / 3 % 40) as u32,
            1 if random.below(2) == 0 => random.below(12),
            1 => (time / 6 % 130) as u32,
            _ => random.below(130),
        };
        let slot = app * 130 + block;
        let reference =
            Reference { time, clock: time * 1000, file: app, block, app, group: app, ..Reference::default() };
        let hit = self.policy.contains(slot);
        self.policy.access(slot, reference, &mut self.told);
        hit
    }
}

/// Arguments before and after a change that the scheme can take.
const TAKEN: [(&str, &str); 9] = [
    ("qos(interval=60,a=50%)", "qos(interval=60,a=90%,c=10%)"),
    ("qos(interval=60,a=60%,c=10%)", "qos(interval=60,a=9ms,c=4ms)"),
    ("qos(interval=60,least=4,a=50%)", "qos(interval=60,least=9,rate=interval)"),
    ("bypass(qos(interval=60,a=60%,c=10%),config)", "bypass(qos(interval=60,a=10%,c=60%),config)"),
    ("shared(auto(a=50%,curves=inline))", "shared(auto(a=90%,curves=inline))"),
    ("auto(a=50%,curves=inline)", "auto(a=80%,b=40%,curves=inline)"),
    ("auto(curves=inline)", "auto(curves=inline,c=30%,candidates=16)"),
    ("virtual(quantum=60,unit=4)", "virtual(quantum=60,unit=4,alpha=0.5)"),
    ("virtual(quantum=60,unit=4)", "virtual(quantum=60,unit=4,promise=0.4)"),
];

#[test]
fn a_change_that_is_taken_back_at_once_leaves_no_trace() {
    for (before, after) in TAKEN {
        let (mut changed, mut unchanged) = (Subject::new(before), Subject::new(before));
        assert_eq!(changed.run(0..5000), unchanged.run(0..5000), "{before}");
        assert!(changed.reconfigure(after) && changed.reconfigure(before), "{before} does not take {after}");
        assert!(changed.run(5000..9000) == unchanged.run(5000..9000), "{before} by way of {after}");
        assert_eq!(changed.told.evictions, unchanged.told.evictions, "{before} by way of {after}");
    }
}

#[test]
fn a_change_holds_from_then_on() {
    for (before, after) in TAKEN.into_iter().filter(|(_, after)| !after.contains("least")) {
        let (mut changed, mut unchanged) = (Subject::new(before), Subject::new(before));
        changed.run(0..5000);
        unchanged.run(0..5000);
        assert!(changed.reconfigure(after), "{before} does not take {after}");
        assert!(changed.run(5000..9000) != unchanged.run(5000..9000), "{after} is as {before}");
        changed.policy.validate();
    }
}

/// The table of an application has grown before the promise changes, and the room follows the next reference.
#[test]
fn a_promise_that_changes_keeps_tables_and_moves_room_at_once() {
    let mut changed = Subject::new("qos(interval=60,a=5%,c=60%)");
    changed.run(0..6010);
    let (tables, rooms) = (changed.told.tables.clone(), changed.told.rooms.clone());
    assert!(tables[&0].len() > 3, "{:?}", tables[&0]);
    assert!(changed.reconfigure("qos(interval=60,a=95%,c=1%)"));
    changed.run(6010..6011);
    assert_eq!(changed.told.tables, tables);
    assert!(changed.told.rooms[&0] > rooms[&0], "{rooms:?}, then {:?}", changed.told.rooms);

    let mut anew = Subject::new("qos(interval=60,a=95%,c=1%)");
    anew.run(6010..6020);
    assert_ne!(anew.told.tables, tables);
}

#[test]
fn what_only_a_new_cache_can_have_is_refused_and_changes_nothing() {
    for (before, after) in [
        ("qos(interval=60,a=50%)", "qos(interval=60,table=50,a=90%)"),
        ("qos(interval=60,a=50%)", "qos(policy=arc,interval=60,a=50%)"),
        ("bypass(qos(interval=60,a=50%),config)", "bypass(qos(interval=60,a=90%,curve=sampled),config)"),
        ("bypass(lru,config)", "bypass(arc,config)"),
        ("virtual(quantum=60,unit=4)", "virtual(quantum=90,unit=4)"),
        ("auto(curves=inline)", "auto(curves=inline,sample=100)"),
        ("s3-fifo(small=10%)", "s3-fifo(small=20%)"),
    ] {
        let (mut refused, mut unchanged) = (Subject::new(before), Subject::new(before));
        refused.run(0..3000);
        unchanged.run(0..3000);
        assert!(!refused.reconfigure(after), "{before} takes {after}");
        assert_eq!(refused.run(3000..6000), unchanged.run(3000..6000), "{before}, {after} refused");
    }
}
