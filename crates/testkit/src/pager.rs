//! Runs a policy as a pager hosts it: called for blocks that are not resident alone, with a bit a block for all other
//! references; or, for comparison, called for every reference.

use std::collections::BTreeMap;
use std::sync::Arc;

use hotset_core::policy::{Effects, Extra, Future, NextUses, Note, Outcome, PolicySpec, Reference, Setting, Slot};
use hotset_core::registry;

use crate::harness::{Case, Event, future};
use crate::replay::ReplayCounts;

/// The reasons for which a policy is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Every reference.
    All,
    /// References to blocks that are not resident.
    Faults,
}

/// A policy with the arguments of a spec and the defaults of paging.
pub fn paging(spec: &str, frames: u32) -> Case {
    let spec = PolicySpec::parse(spec).unwrap_or_else(|error| panic!("{error}"));
    Case::of(&spec.set_in(Setting::Paging).to_string(), frames)
}

/// Replays events over keys, which are the slots. The policy must be one that needs no order of hits. Pages are all of
/// one size, whatever the case's world says.
pub fn replay_as(calls: Calls, case: &Case, events: &[Event]) -> ReplayCounts {
    let page = |key, time| Reference { weight: 1, bytes: 0, ..case.world.reference(key, time) };
    replay_told(calls, case, events, &page)
}

/// The same with the facts of each reference, by key and time, instead of those of the case's world.
pub fn replay_told(calls: Calls, case: &Case, events: &[Event], tell: &dyn Fn(u32, u64) -> Reference) -> ReplayCounts {
    let key = |event: &Event| match *event {
        Event::Access(key) | Event::Remove(key) => key + 1,
        Event::Resize(_) => 0,
    };
    let slots = events.iter().map(key).max().unwrap_or(0);
    let touched = |event: &Event| if let Event::Access(key) = *event { Some(key) } else { None };
    let trace: Vec<u32> = events.iter().filter_map(touched).collect();
    let entry = registry::find(case.policy).expect("a registered policy");
    let future = entry.info.offline.then(|| match calls {
        Calls::All => future(trace),
        Calls::Faults => Future::Asked(Arc::new(Uses::of(&trace))),
    });
    let mut policy = case.build(slots, future.as_ref(), |setup| entry.build(setup));
    let mut pages = Pages { bits: vec![None; slots as usize], entering: Slot::MAX, evicted: Vec::new() };
    let (mut counts, mut time) = (ReplayCounts::default(), 0);
    for &event in events {
        match event {
            Event::Access(key) => {
                let was_resident = pages.bits[key as usize].is_some();
                counts.hits += u64::from(was_resident);
                if calls == Calls::All || !was_resident {
                    pages.entering = key;
                    let outcome = policy.access(key, tell(key, time), &mut pages);
                    assert_eq!(outcome == Outcome::Hit, was_resident, "{}", case.policy);
                    assert_ne!(outcome, Outcome::Bypassed, "{}: a referenced page is resident", case.policy);
                }
                pages.bits[key as usize] = Some(was_resident && calls == Calls::Faults);
                time += 1;
            }
            Event::Remove(key) => {
                policy.remove(key, &mut pages);
                pages.bits[key as usize] = None;
            }
            Event::Resize(capacity) => policy.resize(capacity, &mut pages),
        }
    }
    policy.validate();
    ReplayCounts { evicted: pages.evicted, ..counts }
}

/// When each key is referenced.
struct Uses(BTreeMap<u32, Vec<u64>>);

impl Uses {
    fn of(trace: &[u32]) -> Uses {
        let mut uses: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        trace.iter().zip(0..).for_each(|(&key, time)| uses.entry(key).or_default().push(time));
        Uses(uses)
    }
}

impl NextUses for Uses {
    fn after(&self, slot: Slot, time: u64) -> Option<u64> {
        let times = self.0.get(&slot)?;
        times.get(times.partition_point(|&at| at <= time)).copied()
    }
}

/// The access bits of resident pages.
struct Pages {
    /// By slot; `None` if it is not resident.
    bits: Vec<Option<bool>>,
    /// The page that is being referenced.
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
        unreachable!("slot {slot} is read without a request")
    }

    fn take_accessed(&mut self, slot: Slot) -> bool {
        match &mut self.bits[slot as usize] {
            Some(bit) => std::mem::take(bit),
            None if slot == self.entering => false,
            None => panic!("slot {slot} is not resident and has no bit"),
        }
    }

    fn storage_busy(&self) -> Option<u64> {
        None
    }

    fn note(&mut self, _note: &Note) {}
}
