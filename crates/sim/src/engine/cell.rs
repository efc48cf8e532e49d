//! One cell of a grid: one policy at one size over one trace, window by window.

use std::ops::Range;

use hotset_core::classify::Class;
use hotset_core::policy::{Capabilities, Object, Outcome, Policy, Reference, Slot};

use super::capacity::Capacity;
use super::count::Count;
use super::directory::Directory;
use super::host::{Counting, Host};
use super::tally::{Ended, Tally};
use crate::bits;
use crate::references::Trace;
use crate::window::{Event, WINDOW, What, Window, value_at};

/// How far ahead of the current reference its slot is fetched.
pub(super) const LOOKAHEAD: usize = 16;

/// A running cell whose policy is known only at run time: one virtual call a window.
pub(crate) trait Cell<K>: Send {
    /// Replays a window.
    fn run(&mut self, window: &Window<K>);
    /// What each plan that it runs has come to.
    fn end(self: Box<Self>) -> Vec<Ended>;
}

/// The runs of references that have something in common, from the current ones on.
struct Runs<'a> {
    apps: &'a [(u64, u32)],
    times: &'a [(u64, u64)],
    classes: &'a [(u64, Class)],
}

/// A cell with its policy and directory known.
pub(crate) struct PolicyCell<P, D, C = ()> {
    pub policy: P,
    pub host: Host<D, C>,
    /// Slots of the policy.
    slots: u32,
    hits: Vec<u64>,
    count: Count,
}

impl<P: Policy + Capabilities, D: Directory, C: Capacity> PolicyCell<P, D, C> {
    /// A cell over `trace`. The policy has `slots` slots.
    pub fn new(policy: P, directory: D, slots: u32, trace: &Trace, capacity: C) -> Self {
        PolicyCell {
            policy,
            host: Host::new(directory, capacity, trace.classes),
            slots,
            hits: vec![0; WINDOW / 64],
            count: Count::new(trace.classes, trace.has_apps),
        }
    }

    /// Replays these references of the window and what happens between them.
    fn replay<'a>(
        &mut self,
        window: &Window<'a, D::Key>,
        range: Range<usize>,
        runs: &mut Runs,
        events: &mut &'a [Event],
    ) {
        let mut begin = range.start;
        while let Some((index, event)) = window.next_event(events, range.end) {
            self.stretch(window, begin..index, runs);
            begin = index;
            match event.what {
                What::Remove | What::RemoveFrom => self.remove(window, event),
                What::Elsewhere(class) => begin += usize::from(self.hit_elsewhere(window, index, class, event, runs)),
            }
        }
        self.stretch(window, begin..range.end, runs);
    }

    fn stretch(&mut self, window: &Window<D::Key>, range: Range<usize>, runs: &mut Runs) {
        if window.writes.is_some() || self.host.has_written() {
            self.refer::<true>(window, range, runs);
        } else {
            self.refer::<false>(window, range, runs);
        }
    }

    /// Replays these references of the window, between which nothing happens, and notes which of them hit. `runs` are
    /// those from the first of them on.
    fn refer<const WRITES: bool>(&mut self, window: &Window<D::Key>, range: Range<usize>, runs: &mut Runs) {
        let keys = window.keys;
        let (Some(last), begin, end) = (keys.len().checked_sub(1), range.start, range.end) else { return };
        if begin >= end {
            return;
        }
        // The hits of this word before the range.
        let mut word = self.hits[begin / 64] & !(u64::MAX << (begin % 64));
        for (index, &key) in range.zip(&keys[begin..end]) {
            if let Some(ahead) = D::slot_ahead(keys[(index + LOOKAHEAD).min(last)]) {
                self.policy.prefetch(ahead);
            }
            let reference = self.describe(window, index, runs);
            let bytes = window.sizes.get(index).copied().unwrap_or_default();
            let (slot, outcome) = C::refer::<P, D, WRITES>(self, key, bytes, reference);
            word |= u64::from(outcome == Outcome::Hit) << (index % 64);
            if index % 64 == 63 || index + 1 == end {
                self.hits[index / 64] = word;
                word = 0;
            }
            if WRITES && window.writes.is_some_and(|words| bits::get(words, index as u64)) {
                let class = value_at(&mut runs.classes, reference.time);
                match slot {
                    Some(slot) => self.host.write(slot, class, outcome),
                    None => self.host.count_write_back(class),
                }
            }
        }
    }

    /// The slot of a block, within the policy's capacity.
    #[inline(always)]
    pub fn slot(&mut self, key: D::Key) -> Slot {
        let slot = self.host.directory.slot(key);
        if slot >= self.slots {
            self.grow(slot);
        }
        slot
    }

    /// The facts that the policy needs of the reference at `index`. `runs` are those from the current ones on.
    #[inline(always)]
    fn describe(&self, window: &Window<D::Key>, index: usize, runs: &mut Runs) -> Reference {
        let mut reference = Reference { time: window.first + index as u64, ..Reference::default() };
        if P::INFO.needs.address {
            let address = self.host.directory.address(window.keys[index]);
            (reference.file, reference.block) = ((address >> 32) as u32, address as u32);
        }
        if P::INFO.needs.group {
            reference.group = window.group(self.host.directory.address(window.keys[index]));
        }
        if P::INFO.needs.object {
            let address = self.host.directory.address(window.keys[index]);
            reference.object = Some(Object::of_file((address >> 32) as u32));
        }
        if P::INFO.needs.app || P::INFO.needs.app_if_known {
            reference.app = value_at(&mut runs.apps, reference.time);
        }
        if P::INFO.needs.clock {
            reference.clock = value_at(&mut runs.times, reference.time);
        }
        if P::INFO.needs.class {
            reference.class = value_at(&mut runs.classes, reference.time);
        }
        if P::INFO.needs.write {
            reference.write = window.writes.is_some_and(|words| bits::get(words, index as u64));
        }
        reference
    }

    #[cold]
    fn grow(&mut self, slot: Slot) {
        self.slots = slot.saturating_add(slot / 2).saturating_add(64);
        self.policy.grow(self.slots);
    }

    /// Blocks become worth nothing.
    #[cold]
    fn remove(&mut self, window: &Window<D::Key>, event: &Event) {
        for slot in self.host.directory.slots_of(window, event) {
            self.policy.remove(slot, &mut Counting::<D, C, true>(&mut self.host));
            self.host.invalidate(slot);
        }
    }

    /// True if the block of the reference at `index` is not where it belongs now, but all its bytes are in blocks of
    /// the class that the file had before, which are referenced instead.
    #[cold]
    fn hit_elsewhere(
        &mut self,
        window: &Window<D::Key>,
        index: usize,
        class: Class,
        event: &Event,
        runs: &mut Runs,
    ) -> bool {
        let Some(blocks) = self.elsewhere(window, index, event) else { return false };
        let reference = Reference { class, ..self.describe(window, index, runs) };
        let is_write = window.writes.is_some_and(|words| bits::get(words, index as u64));
        for slot in blocks {
            let outcome = self.policy.access(slot, reference, &mut Counting::<D, C, true>(&mut self.host));
            if is_write {
                self.host.write(slot, class, outcome);
            }
        }
        let word = &mut self.hits[index / 64];
        *word = *word & !(u64::MAX << (index % 64)) | 1 << (index % 64);
        true
    }

    /// The resident blocks that hold the bytes of the reference at `index`, which is not resident itself.
    fn elsewhere(&self, window: &Window<D::Key>, index: usize, event: &Event) -> Option<Vec<Slot>> {
        let holds = |slot| self.policy.contains(slot);
        match self.host.slots_if_all(&window.keys[index..=index], holds) {
            Some(_) => None,
            None => self.host.slots_if_all(&window.event_keys[event.keys.clone()], holds),
        }
    }
}

impl<P: Policy + Capabilities, D: Directory, C: Capacity> Cell<D::Key> for PolicyCell<P, D, C> {
    fn run(&mut self, window: &Window<D::Key>) {
        let mut runs = Runs { apps: window.apps, times: window.times, classes: window.classes };
        let mut events = window.events;
        for (range, is_counted) in window.runs() {
            let before = (!is_counted).then(|| (self.host.transfers, self.host.class_writes.clone()));
            self.replay(window, range, &mut runs, &mut events);
            if let Some(before) = before {
                (self.host.transfers, self.host.class_writes) = before;
            }
        }
        // Events behind the last reference.
        events.iter().for_each(|event| self.remove(window, event));
        let parts = self.policy.partitioned();
        self.count.add(window, &self.hits, |class| parts.map_or(u32::MAX, |parts| parts.piece(class)));
    }

    fn end(self: Box<Self>) -> Vec<Ended> {
        let tally = self.count.tally(&self.host.transfers, &self.host.class_writes);
        let tally = Tally { decisions: self.host.decisions, ..tally };
        vec![Ended {
            tally,
            explanations: self.policy.learning().map_or_else(Vec::new, |policy| policy.explain()),
            ..Ended::default()
        }]
    }
}
