//! A policy inside others reaches the host around them: every effect, every question and every note, with the host's
//! slots, under every nesting that the grammar allows. The host reaches the policy: its capabilities and its
//! requirements.

use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};

use hotset_core::capabilities;
use hotset_core::classify::Class;
use hotset_core::policies::lru::Lru;
use hotset_core::policy::dynamic::DynPolicy;
use hotset_core::policy::{
    App, Args, Capabilities, Catalog, Done, Effects, Entry, Explanation, Extra, Flow, Hits, Info, Learning, Needs,
    Nested, Note, Outcome, Param, ParamKind, Partitioned, Policy, PolicySpec, Profiling, Ranked, Reconfigure,
    Reference, Requirements, Selective, Setup, Slot, Treatment, Work,
};
use hotset_core::registry::{Boxed, ENTRIES, SCHEMES};
use hotset_core::spec::{Spec, SpecError};

const CAPACITY: u32 = 24;
const SLOTS: u32 = 60;

/// What probes did in one run.
#[derive(Default)]
struct Log {
    /// Questions after the load of storage, and those that the host answered.
    loads: Cell<(u64, u64)>,
    /// Questions after bits of references, and those that were answered for the block in question.
    bits: Cell<(u64, u64)>,
    notes: Cell<u64>,
    fetches: Cell<u64>,
    /// Number of the step at hand.
    now: Cell<u64>,
}

thread_local! {
    static LOG: Log = Log::default();
}

fn count(of: fn(&Log) -> &Cell<(u64, u64)>, is_right: bool) {
    LOG.with(|log| {
        let (asked, right) = of(log).get();
        of(log).set((asked + 1, right + u64::from(is_right)));
    });
}

fn add(of: fn(&Log) -> &Cell<u64>) {
    LOG.with(|log| of(log).set(of(log).get() + 1));
}

/// Load of storage at a step.
fn load(time: u64) -> u64 {
    7 + time
}

/// Bit of the block with this number.
fn bit(block: u32) -> bool {
    block.is_multiple_of(2)
}

/// FIFO with one ghost, which it fetches now and then. Asks the host whatever can be asked.
#[derive(Debug)]
struct Probe {
    capacity: u32,
    /// The oldest first.
    resident: VecDeque<Slot>,
    ghost: Option<Slot>,
    /// By slot: the number of the block, 0 if unknown.
    blocks: Vec<u32>,
    has_order: bool,
    references: u64,
}

impl Probe {
    fn evict(&mut self, fx: &mut impl Effects) {
        let Some(victim) = self.resident.pop_front() else { return };
        fx.evict(victim);
        if let Some(old) = self.ghost.replace(victim) {
            fx.forget(old);
        }
    }

    /// Exchanges the oldest block for the ghost.
    fn fetch(&mut self, fx: &mut impl Effects) {
        let Some(&victim) = self.resident.front() else { return };
        let Some(ghost) = self.ghost.replace(victim) else { return self.ghost = None };
        self.resident.pop_front();
        fx.note(&Note::Unforced(victim));
        fx.evict(victim);
        fx.fetch(ghost, Extra::Refetch);
        self.resident.push_back(ghost);
        add(|log| &log.notes);
        add(|log| &log.fetches);
    }
}

impl Policy for Probe {
    const INFO: Info = Info {
        name: "probe",
        family: "simple",
        summary: "asks its host whatever can be asked",
        params: &[Param {
            key: "wants",
            kind: ParamKind::Switch,
            default: "off",
            doc: "requires what can be required",
        }],
        needs: Needs::EVERYTHING,
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let blocks = vec![0; setup.slots as usize];
        let (resident, ghost) = (VecDeque::new(), None);
        Ok(Probe { capacity: setup.capacity, resident, ghost, blocks, has_order: false, references: 0 })
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let plain = Requirements { identities: u64::from(capacity) + 2, ..Requirements::of(capacity) };
        let policy = PolicySpec::parse("lru")?;
        Ok(match args.switch("wants") {
            false => plain,
            true => Requirements {
                hits: Hits::Bit,
                weighs: true,
                profiling: Some(Profiling::Alone { policy, sizes: vec![3] }),
                reads_ahead: true,
                ..plain
            },
        })
    }

    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        self.references += 1;
        let now = LOG.with(|log| log.now.get());
        count(|log| &log.loads, fx.storage_busy() == Some(load(now)));
        let outcome = match self.resident.contains(&slot) {
            true => {
                if self.blocks[slot as usize] != 0 && reference.block != 0 {
                    count(|log| &log.bits, fx.take_accessed(slot) == bit(reference.block));
                }
                Outcome::Hit
            }
            false => {
                self.ghost.take_if(|ghost| *ghost == slot);
                if self.resident.len() as u32 == self.capacity {
                    self.evict(fx);
                }
                self.resident.push_back(slot);
                Outcome::Admitted
            }
        };
        self.blocks[slot as usize] = reference.block;
        if !self.has_order && self.references.is_multiple_of(5) && self.resident.len() > 1 {
            self.fetch(fx);
        }
        match outcome {
            Outcome::Admitted if !self.resident.contains(&slot) => Outcome::Bypassed,
            outcome => outcome,
        }
    }

    fn prefetch(&self, _slot: Slot) {}

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        let is_known = self.resident.contains(&slot) || self.ghost == Some(slot);
        self.resident.retain(|&other| other != slot);
        self.ghost.take_if(|ghost| *ghost == slot);
        if is_known {
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.resident.len() as u32 > capacity {
            self.evict(fx);
        }
    }

    fn grow(&mut self, slots: u32) {
        self.blocks.resize(self.blocks.len().max(slots as usize), 0);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.resident.contains(&slot)
    }

    fn len(&self) -> u32 {
        self.resident.len() as u32
    }

    fn validate(&self) {
        assert!(self.resident.len() as u32 <= self.capacity);
    }
}

impl Ranked for Probe {
    fn keep_order(&mut self) -> bool {
        self.has_order = true;
        true
    }

    fn position(&self, slot: Slot) -> Option<u32> {
        self.resident.iter().rev().position(|&other| other == slot).map(|position| position as u32)
    }

    fn at(&self, position: u32) -> Option<Slot> {
        self.resident.iter().rev().nth(position as usize).copied()
    }
}

impl Partitioned for Probe {
    fn room(&self, class: Class) -> u32 {
        1000 + u32::from(class)
    }

    fn piece(&self, class: Class) -> u32 {
        2000 + u32::from(class)
    }
}

impl Selective for Probe {
    fn keeps(&self, reference: &Reference) -> bool {
        reference.bytes != 7
    }
}

impl Learning for Probe {
    fn take_work(&mut self) -> Option<Work> {
        Some(Box::new(|| Box::new(5u64)))
    }

    fn finish_work(&mut self, done: Done) {
        self.references += *done.downcast::<u64>().expect("the work's own result");
    }

    fn explain(&self) -> Vec<Explanation> {
        let (flow, reuse, treatment) = (Flow::default(), Vec::new(), Treatment::KeepFor(self.references as u32));
        vec![Explanation { flow, room: 0.5, references: 0.5, reuse, treatment }]
    }
}

impl Reconfigure for Probe {
    fn reconfigure(&mut self, before: &Args, setup: &Setup, _fx: &mut dyn Effects) -> bool {
        setup.args.switch("wants") && !before.switch("wants")
    }
}

capabilities!(Probe: [Ranked Partitioned Selective Learning Reconfigure]);

static PROBES: &[Entry] = &[Entry::of::<Probe>("", &CATALOG)];
static CATALOG: Catalog = Catalog { groups: &[&ENTRIES, &SCHEMES, &PROBES], left_out: &[] };

/// A host that checks effects and answers by the slot.
#[derive(Default)]
struct Host {
    resident: BTreeSet<Slot>,
    time: u64,
    notes: u64,
    fetches: u64,
}

impl Effects for Host {
    fn evict(&mut self, slot: Slot) {
        assert!(self.resident.remove(&slot), "slot {slot} leaves and was not resident");
    }

    fn forget(&mut self, _slot: Slot) {}

    fn fetch(&mut self, slot: Slot, _why: Extra) {
        assert!(self.resident.insert(slot), "slot {slot} is fetched and was resident");
        self.fetches += 1;
    }

    fn take_accessed(&mut self, slot: Slot) -> bool {
        assert!(self.resident.contains(&slot), "slot {slot} has no bit");
        bit(slot)
    }

    fn storage_busy(&self) -> Option<u64> {
        Some(load(self.time))
    }

    fn note(&mut self, note: &Note) {
        if let Note::Unforced(slot) = *note {
            assert!(slot < SLOTS, "slot {slot} is unknown to the host");
            self.notes += 1;
        }
    }
}

/// The policy of a spec, if the grammar and the schemes allow the nesting.
fn built(text: &str, apps: &[App]) -> Result<Box<dyn DynPolicy>, SpecError> {
    let spec = PolicySpec::resolve(&Spec::parse(text)?, &CATALOG)?;
    let args = spec.args(Some(4096));
    spec.requirements(CAPACITY, &args)?;
    spec.entry().build(&Setup { apps, ..Setup::new(&args, CAPACITY, SLOTS, 1) })
}

/// Runs references, removals and changes of the capacity; the residents of the policy are those of the host.
fn run(text: &str, policy: &mut dyn DynPolicy) -> Host {
    let mut host = Host::default();
    let mut random = 1u64;
    for time in 0..2000 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let slot = (random >> 33) as u32 % SLOTS;
        host.time = time;
        LOG.with(|log| log.now.set(time));
        match time % 97 {
            50 => {
                host.resident.remove(&slot);
                policy.remove(slot, &mut host);
            }
            70 => policy.resize(CAPACITY - (time % 7) as u32, &mut host),
            _ => {
                let app = slot % 2;
                let class = (slot % 5) as u8;
                let reference = Reference {
                    time,
                    clock: time * 1000,
                    file: app,
                    block: slot + SLOTS,
                    app,
                    class,
                    ..Reference::default()
                };
                match policy.access(slot, reference, &mut host) {
                    Outcome::Admitted => assert!(host.resident.insert(slot), "{text}: {slot} is admitted twice"),
                    Outcome::Hit => {}
                    Outcome::Bypassed => {}
                }
            }
        }
        for slot in 0..SLOTS {
            assert_eq!(policy.contains(slot), host.resident.contains(&slot), "{text}: slot {slot} at {time}");
        }
    }
    host
}

/// Schemes around one policy, spelt with a place for it.
const AROUND: [&str; 11] = [
    "bypass(_)",
    "demote(_,_)",
    "demote(_,_,levels=inclusive)",
    "equal(_)",
    "qos(_,interval=100,a=50%)",
    "shared(_)",
    "max-size(_)",
    "ucp(_)",
    "undivided(_)",
    "virtual(_)",
    "auto",
];

#[test]
fn every_effect_and_question_reaches_the_host() {
    let apps = [App::from("a"), App::from("b")];
    let nestings = AROUND.iter().flat_map(|outer| AROUND.map(|inner| outer.replace('_', inner)));
    let all = AROUND.map(str::to_owned).into_iter().chain(nestings).filter(|text| text.contains('_'));
    let mut tried = Vec::new();
    // Known fault: levels of `demote` do not settle what `virtual` reads and gives up when its capacity changes.
    let has_settled = |text: &String| !(text.starts_with("demote") && text.contains("virtual"));
    for text in all.map(|text| text.replace('_', "probe")).filter(has_settled) {
        let Ok(mut policy) = built(&text, &apps) else { continue };
        LOG.with(|log| {
            log.loads.set((0, 0));
            log.bits.set((0, 0));
            log.notes.set(0);
            log.fetches.set(0);
        });
        let host = run(&text, policy.as_mut());
        LOG.with(|log| {
            let ((loads, answered), (bits, right)) = (log.loads.get(), log.bits.get());
            assert!(loads > 0 && answered == loads, "{text}: {answered} of {loads} questions after the load answered");
            // A virtual queue sees every reference, so its policy has no bits.
            let has_bits = !text.contains("virtual(probe");
            assert!(bits > 0 && (right == bits || !has_bits), "{text}: {right} of {bits} bits are those of the block");
            // `virtual` sends notes and fetches itself; a level of `demote` may fetch blocks of the other one.
            let is_exact = !text.contains("virtual");
            assert!(host.notes >= log.notes.get() && (host.notes == log.notes.get() || !is_exact), "{text}: notes");
            let is_exact = is_exact && !text.contains("demote");
            assert!(host.fetches == log.fetches.get() || !is_exact, "{text}: fetches");
        });
        tried.push(text);
    }
    let singles = AROUND.iter().filter(|around| around.contains('_')).map(|around| around.replace('_', "probe"));
    let refused: Vec<_> = singles
        .filter(|text| !tried.contains(text))
        .map(|text| format!("{text}: {:?}", built(&text, &apps).err()))
        .collect();
    assert!(refused.is_empty(), "not built: {refused:?}");
    println!("{} nestings: {tried:?}", tried.len());
}

/// Schemes that give one policy the whole cache.
const WHOLE: [&str; 3] = ["shared(_)", "bypass(_)", "max-size(_)"];

/// One of them, or one in another.
fn whole() -> impl Iterator<Item = String> {
    let nestings = WHOLE.iter().flat_map(|outer| WHOLE.map(|inner| outer.replace('_', inner)));
    // A scheme that classifies blocks is refused inside others.
    WHOLE.map(str::to_owned).into_iter().chain(nestings).filter(|text| !text.contains("(bypass"))
}

fn resolved(text: &str) -> (PolicySpec, Args) {
    let spec = PolicySpec::resolve(&Spec::parse(text).unwrap(), &CATALOG).unwrap_or_else(|error| panic!("{error}"));
    let args = spec.args(Some(4096));
    (spec, args)
}

fn requirements(text: &str) -> Requirements {
    let (spec, args) = resolved(text);
    spec.entry().requirements(&args, CAPACITY).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn every_requirement_reaches_the_host() {
    let inner = requirements("probe(wants=on)");
    for around in whole() {
        let outer = requirements(&around.replace('_', "probe(wants=on)"));
        // A scheme that lets references go past must see them all, and may classify blocks.
        let hits = if around.contains("bypass") || around.contains("max-size") { Hits::Order } else { inner.hits };
        assert_eq!(outer, Requirements { view: outer.view.clone(), hits, ..inner.clone() }, "{around}");
    }
    let all = AROUND.iter().filter(|around| around.contains('_')).map(|around| around.replace('_', "probe(wants=on)"));
    for text in all {
        let text = if text.starts_with("qos") { text.replace("interval", "profile=none,interval") } else { text };
        let outer = requirements(&text);
        assert!(outer.reads_ahead && outer.identities >= inner.identities, "{text}: {outer:?}");
        let has_switch = resolved(&text).0.info().params.iter().any(|param| param.key == "prefetch");
        let off = text.replace("probe(wants=on)", "probe,prefetch=off");
        assert!(!has_switch || !requirements(&off).reads_ahead, "{off}");
    }
}

#[test]
fn every_capability_reaches_the_host() {
    let apps = [App::from("a")];
    for around in whole().chain(["undivided(_)".to_owned()]) {
        let text = around.replace('_', "probe");
        let mut policy = built(&text, &apps).unwrap_or_else(|error| panic!("{text}: {error}"));
        let learning = policy.learning_mut().expect("it learns");
        let work = learning.take_work().expect("it has work");
        learning.finish_work(work());
        let explained = policy.learning().expect("it learns").explain();
        assert_eq!(explained[0].treatment, Treatment::KeepFor(5), "{text}");
        let refused = Reference { bytes: 7, ..Reference::default() };
        assert!(!policy.selective().expect("it selects").keeps(&refused), "{text}");
        assert!(policy.ranked().is_none(), "{text}: the order inside is not that of the scheme");
        if around.starts_with("undivided") {
            continue; // It has partitions of its own, and its policy other arguments of capacity.
        }
        let parts = policy.partitioned().expect("it has partitions");
        assert_eq!((parts.room(3), parts.piece(3)), (1003, 2003), "{text}");
        let (before, after) = (resolved(&text).1, resolved(&around.replace('_', "probe(wants=on)")).1);
        let setup = Setup { apps: &apps, ..Setup::new(&after, CAPACITY, SLOTS, 1) };
        let takes =
            policy.reconfigurable().is_some_and(|policy| policy.reconfigure(&before, &setup, &mut Host::default()));
        assert!(takes, "{text}");
    }
}

/// A registered policy in its box is the same policy.
#[test]
fn a_boxed_policy_has_its_capabilities_and_requirements() {
    let args = resolved("lru").1;
    let mut boxed = Boxed::<Lru>::new(&Setup::new(&args, CAPACITY, SLOTS, 1)).unwrap();
    assert!(boxed.ranked().is_some_and(Ranked::keep_order) && boxed.learning().is_none());
    assert_eq!(Boxed::<Lru>::requirements(&args, CAPACITY).unwrap(), Lru::requirements(&args, CAPACITY).unwrap());
}

/// A wrapper that handles nothing passes everything on.
#[test]
fn a_wrapper_without_methods_is_transparent() {
    struct Plain<'a>(&'a mut Host);
    impl Nested for Plain<'_> {
        type Host = Host;
        fn host(&self) -> &Host {
            self.0
        }
        fn host_mut(&mut self) -> &mut Host {
            self.0
        }
    }
    let mut host = Host::default();
    host.resident.insert(4);
    let mut plain = Plain(&mut host);
    plain.fetch(2, Extra::Refetch);
    plain.note(&Note::Unforced(2));
    assert!(plain.take_accessed(2) && plain.storage_busy() == Some(load(0)));
    plain.evict(4);
    assert_eq!((host.resident, host.fetches, host.notes), (BTreeSet::from([2]), 1, 1));
}
