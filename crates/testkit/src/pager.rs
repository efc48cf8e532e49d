//! Runs a policy as a pager hosts it: called for blocks that are not resident alone, with a bit a block for all other references; or, for
//! comparison, called for every reference.

use hotset_core::policy::{Effects, Extra, Outcome, Policy, Setup, Slot};
use hotset_core::registry::{self, Visitor};

use crate::harness::{Case, Event};
use crate::replay::Counts;

/// What a policy is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Every reference.
    All,
    /// References to blocks that are not resident.
    Faults,
}

/// Replays events over keys, which are the slots. The policy must be one that can run and needs no order of hits.
pub fn replay_as(calls: Calls, case: &Case, events: &[Event]) -> Counts {
    registry::visit(case.policy, Run(calls, case, events)).expect("a registered policy")
}

struct Run<'a>(Calls, &'a Case, &'a [Event]);

impl Visitor for Run<'_> {
    type Output = Counts;

    fn visit<P: Policy + 'static>(self) -> Counts {
        let Run(calls, case, events) = self;
        let key = |event: &Event| match *event {
            Event::Access(key) | Event::Remove(key) => key + 1,
            Event::Resize(_) => 0,
        };
        let slots = events.iter().map(key).max().unwrap_or(0);
        let addresses = case.world.addresses(slots);
        let apps = case.world.app_table();
        let setup = Setup {
            capacity: case.capacity,
            slots,
            seed: case.seed,
            args: &case.args,
            future: None,
            addresses: Some(&addresses),
            apps: &apps,
        };
        let mut policy = P::new(&setup).unwrap_or_else(|error| panic!("{}: {error}", P::INFO.name));
        let mut pages = Pages { bits: vec![None; slots as usize], entering: Slot::MAX, evicted: Vec::new() };
        let (mut counts, mut time) = (Counts::default(), 0);
        for &event in events {
            match event {
                Event::Access(key) => {
                    let was_resident = pages.bits[key as usize].is_some();
                    counts.hits += u64::from(was_resident);
                    if calls == Calls::All || !was_resident {
                        pages.entering = key;
                        let outcome = policy.access(key, case.world.reference(key, time), &mut pages);
                        assert_eq!(outcome == Outcome::Hit, was_resident, "{}", case.policy);
                        assert_ne!(outcome, Outcome::Bypassed, "{}: what is referenced is resident", case.policy);
                    }
                    pages.bits[key as usize] = Some(was_resident && calls == Calls::Faults);
                }
                Event::Remove(key) => {
                    policy.remove(key, &mut pages);
                    pages.bits[key as usize] = None;
                }
                Event::Resize(capacity) => policy.resize(capacity, &mut pages),
            }
            time += u64::from(matches!(event, Event::Access(_)));
            policy.validate();
        }
        Counts { evicted: pages.evicted, ..counts }
    }
}

/// The access bits of resident pages.
struct Pages {
    /// By slot; `None` if it is not resident.
    bits: Vec<Option<bool>>,
    /// What is being referenced.
    entering: Slot,
    evicted: Vec<Slot>,
}

impl Effects for Pages {
    fn evict(&mut self, slot: Slot) {
        assert!(self.bits[slot as usize].take().is_some(), "slot {slot} leaves and was not resident");
        self.evicted.push(slot);
    }

    fn forget(&mut self, _slot: Slot) {}

    fn fetch(&mut self, slot: Slot, _why: Extra) {
        unreachable!("slot {slot} is read, which nobody has asked for")
    }

    fn take_accessed(&mut self, slot: Slot) -> bool {
        match &mut self.bits[slot as usize] {
            Some(bit) => std::mem::take(bit),
            None if slot == self.entering => false,
            None => panic!("slot {slot} is not resident and has no bit"),
        }
    }
}
