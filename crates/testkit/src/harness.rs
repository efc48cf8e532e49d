//! Drives a policy and its reference model side by side and tells the first difference.

use std::collections::BTreeMap;
use std::sync::Arc;

use hotset_core::policy::{
    Args, Capabilities, Future, Outcome, Policy, PolicySpec, Ranked, Reference, Run, Setup, Slot, Told,
};
use hotset_core::registry::{self, Boxed, Visitor};
use hotset_core::spec::SpecError;

use crate::host::{Host, Numbering};
use crate::model::{Given, Model, ModelStep};
use crate::models;
use crate::world::World;

/// Something that happens to a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A reference to a key.
    Access(u32),
    /// The block became invalid.
    Remove(u32),
    /// The capacity changed.
    Resize(u32),
}

/// The cache under test.
#[derive(Clone, Debug)]
pub struct Case {
    /// Canonical name of the policy.
    pub policy: &'static str,
    /// Its arguments.
    pub args: Args,
    /// Blocks that may be resident.
    pub capacity: u32,
    /// Seed of the random numbers.
    pub seed: u64,
    /// How the host numbers blocks.
    pub numbering: Numbering,
    /// Where blocks lie and who refers to them.
    pub world: World,
    /// Whether the order of its resident blocks is compared, too, if it has one.
    pub ordered: bool,
}

impl Case {
    /// A policy with its defaults, for a run of half a minute in which every tenth of a second has a reference, in a
    /// host that numbers blocks once for all.
    pub fn new(policy: &str, capacity: u32) -> Case {
        let entry = registry::find(policy).unwrap_or_else(|| panic!("{policy} is not registered"));
        let run = Run { nanoseconds: Some(30_000_000_000), references: 300 };
        let args = entry.defaults(block_bytes(entry.info.name)).over(Some(run));
        Case {
            policy: entry.info.name,
            args,
            capacity,
            seed: 42,
            numbering: Numbering::Fixed,
            world: World::default(),
            ordered: false,
        }
    }

    /// A policy with the arguments of a spec.
    pub fn of(spec: &str, capacity: u32) -> Case {
        let spec = PolicySpec::parse(spec).unwrap_or_else(|error| panic!("{error}"));
        let case = Case::new(spec.info().name, capacity);
        Case { args: spec.args(case.args.block_bytes()).over(case.args.run()), ..case }
    }

    /// Builds the policy by `build`, for so many slots.
    pub(crate) fn build<T>(
        &self,
        slots: u32,
        future: Option<&Future>,
        build: impl FnOnce(&Setup) -> Result<T, SpecError>,
    ) -> T {
        let (addresses, apps) = (self.world.addresses(slots), self.world.app_table());
        let setup = Setup {
            future,
            addresses: Some(&addresses),
            apps: &apps,
            weighs: self.world.weighs(),
            costs: self.world.has_store,
            ..Setup::new(&self.args, self.capacity, slots, self.seed)
        };
        build(&setup).unwrap_or_else(|error| panic!("{}: {error}", self.policy))
    }

    /// Sets an argument, written as in a spec.
    pub fn with(mut self, key: &str, value: &str) -> Case {
        let spec =
            PolicySpec::parse(&format!("{}({key}={value})", self.policy)).unwrap_or_else(|error| panic!("{error}"));
        self.args.take(key, spec.args(None));
        self
    }

    /// Gives one parameter its default again.
    pub fn without(self, key: &str) -> Case {
        let entry = registry::find(self.policy).expect("a registered policy");
        let mut args = entry.defaults(self.args.block_bytes()).over(self.args.run());
        for param in entry.info.params.iter().filter(|param| param.key != key) {
            args.take(param.key, self.args.clone());
        }
        Case { args, ..self }
    }

    /// Puts the blocks into this world.
    pub fn in_world(self, world: World) -> Case {
        Case { world, ..self }
    }

    /// True if the policy weighs blocks.
    fn weighs(&self) -> bool {
        let requirements = registry::find(self.policy).map(|entry| entry.requirements(&self.args, self.capacity));
        requirements.is_some_and(|requirements| requirements.is_ok_and(|requirements| requirements.weighs))
    }

    /// The facts of each reference of a trace.
    pub(crate) fn references(&self, trace: &[u32]) -> Vec<Reference> {
        let weighs = self.weighs();
        let told = |(time, &key): (usize, &u32)| self.world.reference_for(key, time as u64, self.capacity, weighs);
        trace.iter().enumerate().map(told).collect()
    }

    /// Uses this numbering.
    pub fn numbered(self, numbering: Numbering) -> Case {
        Case { numbering, ..self }
    }

    /// Compares the order of the resident blocks, too.
    pub fn in_order(self) -> Case {
        Case { ordered: true, ..self }
    }

    /// True if the policy can say where its blocks stand.
    pub fn keeps_order(&self) -> bool {
        struct KeepsOrder<'a>(&'a Case);
        impl Visitor for KeepsOrder<'_> {
            type Output = bool;
            fn visit<P: Policy + Capabilities + 'static>(self) -> bool {
                keep_order(&mut self.0.build(1, Some(&future(Vec::new())), P::new))
            }
        }
        registry::visit(self.policy, KeepsOrder(self)).expect("a registered policy")
    }

    /// Runs all events against the policy and its model and compares everything after each. Gives the hits, or the
    /// first difference as a sentence.
    pub fn check(&self, events: &[Event]) -> Result<u64, String> {
        self.check_from(0, events)
    }

    /// Like [`Case::check`], but does not inspect the states before event number `first`: hits and victims are compared
    /// all the same.
    pub fn check_from(&self, first: usize, events: &[Event]) -> Result<u64, String> {
        struct Run<'a>(&'a Case, usize, &'a [Event]);
        impl Visitor for Run<'_> {
            type Output = Result<u64, String>;
            fn visit<P: Policy + Capabilities + 'static>(self) -> Self::Output {
                match self.0.world.weighs() {
                    true => self.run::<Boxed<P>>(),
                    false => self.run::<P>(),
                }
            }
        }
        impl Run<'_> {
            fn run<P: Policy + Capabilities>(self) -> Result<u64, String> {
                let Run(case, first, events) = self;
                let mut harness = Harness::<P>::new(case, events);
                for (number, &event) in events.iter().enumerate() {
                    let mut outcome = harness.step(event);
                    if number >= first {
                        outcome = outcome.and_then(|()| harness.inspect());
                    }
                    outcome.map_err(|what| {
                        format!("{} at capacity {}, event {number} ({event:?}): {what}", case.policy, harness.capacity)
                    })?;
                }
                Ok(harness.hits)
            }
        }
        registry::visit(self.policy, Run(self, first, events)).expect("a registered policy")
    }
}

/// A policy beside its model.
pub struct Harness<P> {
    policy: P,
    model: Box<dyn Model>,
    host: Host,
    args: Args,
    world: World,
    capacity: u32,
    slots: u32,
    /// The policy keeps its blocks in an order that the case asks for.
    keeps_order: bool,
    /// The policy weighs blocks.
    weighs: bool,
    /// What each key weighed last.
    weights: BTreeMap<u32, u32>,
    time: u64,
    hits: u64,
}

impl<P: Policy + Capabilities> Harness<P> {
    /// Builds both, empty. The policy's model must be in the table.
    pub fn new(case: &Case, events: &[Event]) -> Harness<P> {
        let trace: Vec<u32> = events.iter().filter_map(accessed).collect();
        let references = case.references(&trace);
        let given = Given {
            capacity: case.capacity as usize,
            args: &case.args,
            seed: case.seed,
            trace: &trace,
            references: &references,
        };
        let model = models::model(P::INFO.name, &given).unwrap_or_else(|| panic!("{} has no model", P::INFO.name));
        let slots = match case.numbering {
            Numbering::Fixed => 1 + events.iter().filter_map(mentioned).max().unwrap_or(0),
            Numbering::Recycled => identities::<P>(&case.args, case.capacity).min(first_keys(events)),
        };
        let future = P::INFO.offline.then(|| future(trace));
        let mut policy = case.build(slots, future.as_ref(), P::new);
        let keeps_order = case.ordered && keep_order(&mut policy);
        let weighs = case.weighs();
        let host = Host::new(case.numbering, slots);
        Harness {
            policy,
            model,
            host,
            args: case.args.clone(),
            world: case.world,
            capacity: case.capacity,
            slots,
            keeps_order,
            weighs,
            weights: BTreeMap::new(),
            time: 0,
            hits: 0,
        }
    }

    /// Lets `event` happen to both and compares what they did.
    pub fn step(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Access(key) => self.access(key),
            Event::Remove(key) => self.remove(key),
            Event::Resize(capacity) => self.resize(capacity),
        }
    }

    fn access(&mut self, key: u32) -> Result<(), String> {
        let slot = self.host.claim(key).ok_or_else(|| {
            format!("the policy still knows {} blocks, more than its `identities` says", self.host.known().count())
        })?;
        self.policy.prefetch(slot);
        let reference = self.world.reference_for(key, self.time, self.capacity, self.weighs);
        self.weights.insert(key, reference.weight);
        self.host.clock = reference.clock;
        let outcome = self.policy.access(slot, reference, &mut self.host);
        self.time += 1;
        if outcome == Outcome::Admitted {
            self.host.admit(key);
        }
        let seen = ModelStep {
            hit: outcome == Outcome::Hit,
            evicted: self.host.take_evicted()?,
            fetched: self.host.take_fetched(),
            bypassed: outcome == Outcome::Bypassed,
        };
        self.hits += u64::from(seen.hit);
        let expected = self.model.access(key, reference);
        if seen == expected { Ok(()) } else { Err(format!("the policy says {seen:?}, its model {expected:?}")) }
    }

    fn remove(&mut self, key: u32) -> Result<(), String> {
        let before = self.model.resident();
        self.model.remove(key);
        // Blocks that a virtual queue moves up may slide out of a mapped run; other policies keep all others.
        let after = self.model.resident();
        let expected: Vec<u32> = before.into_iter().filter(|&other| other != key && !after.contains(&other)).collect();
        // A host that numbers once for all may ask for a block that the policy has never seen or has forgotten.
        let slot = self.host.slot(key).or((self.slots_are_keys() && key < self.slots).then_some(key));
        let Some(slot) = slot else { return Ok(()) };
        self.host.invalidate(key);
        self.policy.remove(slot, &mut self.host);
        self.host.take_fetched();
        let mut evicted = self.host.take_evicted()?;
        evicted.sort_unstable();
        match self.host.slot(key) {
            _ if evicted != expected => Err(format!("a removal evicted {evicted:?}, its model {expected:?}")),
            Some(_) => Err("the policy did not forget a removed block".to_owned()),
            None => Ok(()),
        }
    }

    fn resize(&mut self, capacity: u32) -> Result<(), String> {
        let slots = identities::<P>(&self.args, capacity);
        if !self.slots_are_keys() && slots > self.slots {
            self.policy.grow(slots);
            self.host.grow(self.slots, slots);
            self.slots = slots;
        }
        self.policy.resize(capacity, &mut self.host);
        self.host.take_fetched();
        self.capacity = capacity;
        let seen = self.host.take_evicted()?;
        let expected = self.model.resize(capacity as usize);
        if seen == expected {
            Ok(())
        } else {
            Err(format!("on the resize the policy evicted {seen:?}, its model {expected:?}"))
        }
    }

    fn slots_are_keys(&self) -> bool {
        self.host.numbering() == Numbering::Fixed
    }

    /// Compares the contents of policy, host and model, and lets the policy recount itself.
    pub fn inspect(&mut self) -> Result<(), String> {
        self.policy.validate();
        let expected = self.model.resident();
        if *self.host.resident() != expected {
            return Err(format!("the host holds {:?}, the model {expected:?}", self.host.resident()));
        }
        // A cache that is divided by bytes has blocks of other sizes than the run's.
        let is_overfull = self.args.block_bytes().is_none() && self.policy.len() > self.capacity;
        let weighed: u32 = expected.iter().map(|key| self.weights[key]).sum();
        if self.policy.len() != weighed || is_overfull {
            return Err(format!("the policy counts {} blocks, the model {weighed}", self.policy.len()));
        }
        let differs = |&(key, slot): &(u32, Slot)| self.policy.contains(slot) != expected.contains(&key);
        let different = self.host.known().find(differs);
        match different {
            Some((key, slot)) => Err(format!("contains({key}) is {}", self.policy.contains(slot))),
            None if self.keeps_order => self.compare_orders(),
            None => Ok(()),
        }
    }

    /// Every resident block stands where the model says, and nothing behind the last.
    fn compare_orders(&mut self) -> Result<(), String> {
        let policy = self.policy.ranked().expect("it keeps its order");
        let order = self.model.order().ok_or("the policy keeps an order, and its model has none")?;
        for (position, &key) in order.iter().enumerate() {
            let (slot, position) = (self.host.slot(key), position as u32);
            let seen = (policy.at(position), slot.and_then(|slot| policy.position(slot)));
            if seen != (slot, Some(position)) {
                return Err(format!("the model has {key}, in slot {slot:?}, at {position}, the policy says {seen:?}"));
            }
        }
        match policy.at(order.len() as u32) {
            Some(slot) => Err(format!("slot {slot} stands behind the last of {} blocks", order.len())),
            None => Ok(()),
        }
    }
}

/// Has the policy maintain positions; false if it has no order.
fn keep_order(policy: &mut impl Capabilities) -> bool {
    policy.ranked().is_some_and(Ranked::keep_order)
}

/// Slots that a recycling host starts with. A policy may bound what it knows by the trace only; then the test's own few
/// keys do. They also do for specs that only hosts refuse, as `demote` around a policy that classifies blocks.
fn identities<P: Policy>(args: &Args, capacity: u32) -> u32 {
    let most = P::requirements(args, capacity).map_or(u64::MAX, |requirements| requirements.identities);
    most.min(1 << 10) as u32
}

/// Keys below this are all that is mentioned before the first resize: with slots for no more, the policy has to grow.
fn first_keys(events: &[Event]) -> u32 {
    let before = events.iter().take_while(|event| !matches!(event, Event::Resize(_)));
    before.filter_map(mentioned).max().map_or(1, |last| last + 1)
}

/// Bytes of a block in runs of this policy; `None` where nothing depends on it.
fn block_bytes(policy: &str) -> Option<u64> {
    models::row_of(policy).and_then(|row| row.block_bytes)
}

fn accessed(event: &Event) -> Option<u32> {
    match *event {
        Event::Access(key) => Some(key),
        Event::Remove(_) | Event::Resize(_) => None,
    }
}

fn mentioned(event: &Event) -> Option<u32> {
    match *event {
        Event::Access(key) | Event::Remove(key) => Some(key),
        Event::Resize(_) => None,
    }
}

/// The future of a trace whose slots are its keys.
pub fn future(trace: Vec<u32>) -> Future {
    let mut next_use = vec![Future::NEVER; trace.len()];
    let mut last = BTreeMap::new();
    for (position, &key) in trace.iter().enumerate() {
        if let Some(before) = last.insert(key, position) {
            next_use[before] = position as u32;
        }
    }
    Future::Told(Told { slots: Arc::new(trace), next_use: Arc::new(next_use) })
}
