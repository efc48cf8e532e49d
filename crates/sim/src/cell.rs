//! One cell of a grid: one policy at one size over one trace.

use std::ops::Range;

use hotset_core::policy::{Effects, Extra, Note, Object, Outcome, Policy, Reference, Repartition, Slot};

use crate::bits;
use crate::directory::Directory;
use crate::machine::Times;
use crate::window::{WINDOW, Window};
use hotset_core::counters::Counters;

/// How far ahead of the current reference its slot is fetched.
const LOOKAHEAD: usize = 16;

/// A running cell whose policy is known only at run time: one virtual call a window.
pub(crate) trait Cell<K>: Send {
    /// Replays a window.
    fn run(&mut self, window: &Window<K>);
    /// What was counted so far.
    fn tally(&self) -> Tally;
}

/// The counts of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Over all references.
    pub total: Counters,
    /// Reads of the block in hand, to which the application referred just before: references like any other, of which
    /// a program reads the block once.
    pub repeats: Repeats,
    /// By application number; empty when the trace has one application.
    pub apps: Vec<Counters>,
    /// Blocks written to storage: evicted dirty, or written past the cache.
    pub write_backs: u64,
    /// Blocks read from storage though nobody asked for them then.
    pub extra_reads: u64,
    /// Why blocks were read though nobody asked for them, and blocks that slid out of runs of virtual queues.
    pub extra: ExtraTally,
    /// How a scheme divided its room, whenever that changed something.
    pub decisions: Vec<Repartition>,
    /// By class; empty when the policy does not tell classes apart.
    pub classes: Vec<ClassTally>,
    /// What it cost, if it was replayed on a clock with a disk.
    pub times: Option<Times>,
}

/// References to the block in hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// References that read the block to which the same application referred just before, reading or writing.
    pub references: u64,
    /// Of these, those that hit.
    pub hits: u64,
}

impl Repeats {
    /// Counts one.
    pub(crate) fn note(&mut self, hit: bool) {
        self.references += 1;
        self.hits += u64::from(hit);
    }
}

/// Transfers of blocks that nobody asked for then, by their reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtraTally {
    /// Blocks read because their positions were mapped.
    pub allocation_reads: u64,
    /// Blocks read because they slid into a run of mapped positions.
    pub fragment_reads: u64,
    /// Blocks that slid out of a run that is not at the head.
    pub push_outs: u64,
    /// Blocks read ahead of a sequential reader.
    pub prefetch_reads: u64,
}

impl ExtraTally {
    pub(crate) fn count(&mut self, why: Extra) {
        match why {
            Extra::Allocation => self.allocation_reads += 1,
            Extra::Fragment => self.fragment_reads += 1,
            Extra::Refetch => {}
        }
    }

    /// True where a scheme maps positions, and something came of it.
    pub(crate) fn maps(&self) -> bool {
        self.allocation_reads + self.fragment_reads + self.push_outs > 0
    }
}

/// The counts of one class of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassTally {
    /// The class.
    pub name: String,
    /// Over its references.
    pub counters: Counters,
    /// Bytes of its blocks.
    pub block_bytes: u64,
    /// Accesses to storage by reads: one for a request that misses, one for each missing piece of a request longer
    /// than its part.
    pub read_accesses: u64,
    /// Blocks read from storage: those that reads missed. A block that is written first is not read.
    pub blocks_read: u64,
    /// Blocks written to storage.
    pub write_backs: u64,
}

/// The host of a policy in the simulator: it counts what leaves.
struct Host<D> {
    directory: D,
    /// One bit a slot: the block was written since it entered.
    dirty: Vec<u64>,
    transfers: Transfers,
    decisions: Vec<Repartition>,
}

/// What went to storage and came from it besides misses.
#[derive(Clone, Copy, Default)]
pub(crate) struct Transfers {
    pub write_backs: u64,
    pub extra_reads: u64,
    pub extra: ExtraTally,
}

impl<D: Directory> Host<D> {
    fn clean(&mut self, slot: Slot) -> bool {
        let (word, bit) = (slot as usize / 64, 1 << (slot % 64));
        let was_dirty = self.dirty.get(word).is_some_and(|dirty| dirty & bit != 0);
        if was_dirty {
            self.dirty[word] &= !bit;
        }
        was_dirty
    }

    fn mark_dirty(&mut self, slot: Slot) {
        let word = slot as usize / 64;
        if word >= self.dirty.len() {
            self.dirty.resize((self.directory.slots() as usize / 64).max(word) + 1, 0);
        }
        self.dirty[word] |= 1 << (slot % 64);
    }
}

/// The host as a policy sees it. Without a write so far nothing can be dirty, and evictions cost nothing.
struct Counting<'a, D, const WRITES: bool>(&'a mut Host<D>);

impl<D: Directory, const WRITES: bool> Effects for Counting<'_, D, WRITES> {
    #[inline(always)]
    fn evict(&mut self, slot: Slot) {
        if WRITES {
            self.0.transfers.write_backs += u64::from(self.0.clean(slot));
        }
    }

    #[inline(always)]
    fn fetch(&mut self, _slot: Slot, why: Extra) {
        self.0.transfers.extra_reads += 1;
        self.0.transfers.extra.count(why);
    }

    #[inline(always)]
    fn forget(&mut self, slot: Slot) {
        self.0.directory.forget(slot);
    }

    fn note(&mut self, told: &Note) {
        match *told {
            Note::Unforced(_) => self.0.transfers.extra.push_outs += 1,
            Note::Division(decision) => note(&mut self.0.decisions, decision),
            Note::Worth(_) | Note::HitRates(_) => {}
        }
    }
}

/// Appends a decision that changes something.
pub(crate) fn note(decisions: &mut Vec<Repartition>, decision: &Repartition) {
    if decisions.last().is_none_or(|last| last.parts != decision.parts) {
        decisions.push(decision.clone());
    }
}

/// The runs of references that have something in common, from the current ones on.
struct Runs<'a> {
    apps: &'a [(u64, u32)],
    times: &'a [(u64, u64)],
}

/// What the run that `position` is in has in common. Leaves the runs before it behind; 0 if there are no runs.
#[inline(always)]
pub(crate) fn value_at<T: Copy + Default>(runs: &mut &[(u64, T)], position: u64) -> T {
    while runs.get(1).is_some_and(|&(begin, _)| begin <= position) {
        *runs = &runs[1..];
    }
    runs.first().map_or_else(T::default, |&(_, value)| value)
}

/// A cell with its policy and directory known.
pub(crate) struct PolicyCell<P, D> {
    policy: P,
    host: Host<D>,
    /// Slots the policy has room for.
    slots: u32,
    hits: Vec<u64>,
    open_missed: bool,
    by_app: bool,
    tally: Tally,
}

impl<P: Policy, D: Directory> PolicyCell<P, D> {
    pub fn new(policy: P, directory: D, slots: u32, by_app: bool) -> Self {
        PolicyCell {
            policy,
            host: Host { directory, dirty: Vec::new(), transfers: Transfers::default(), decisions: Vec::new() },
            slots,
            hits: vec![0; WINDOW / 64],
            open_missed: false,
            by_app,
            tally: Tally::default(),
        }
    }

    /// Replays these references of the window and notes which of them hit. `runs` are those from the first of them on.
    fn replay<const WRITES: bool>(&mut self, window: &Window<D::Key>, range: Range<usize>, runs: &mut Runs) {
        let keys = window.keys;
        let (Some(last), begin, end) = (keys.len().checked_sub(1), range.start, range.end) else { return };
        // The hits of this word before the range.
        let mut word = self.hits[begin / 64] & !(u64::MAX << (begin % 64));
        for (index, &key) in range.zip(&keys[begin..end]) {
            if let Some(ahead) = D::slot_ahead(keys[(index + LOOKAHEAD).min(last)]) {
                self.policy.prefetch(ahead);
            }
            let slot = self.host.directory.slot(key);
            if slot >= self.slots {
                self.grow(slot);
            }
            let reference = self.describe(window, index, runs);
            let outcome = self.policy.access(slot, reference, &mut Counting::<D, WRITES>(&mut self.host));
            word |= u64::from(outcome == Outcome::Hit) << (index % 64);
            if index % 64 == 63 || index + 1 == end {
                self.hits[index / 64] = word;
                word = 0;
            }
            if WRITES && window.writes.is_some_and(|words| bits::get(words, index as u64)) {
                match outcome {
                    Outcome::Bypassed => self.host.transfers.write_backs += 1,
                    Outcome::Hit | Outcome::Admitted => self.host.mark_dirty(slot),
                }
            }
        }
    }

    /// What the policy needs to know of the reference at `index`. `runs` are those from the current ones on.
    #[inline(always)]
    fn describe(&self, window: &Window<D::Key>, index: usize, runs: &mut Runs) -> Reference {
        let mut reference = Reference { time: window.first + index as u64, ..Reference::default() };
        if P::INFO.needs.address {
            let address = self.host.directory.address(window.keys[index]);
            (reference.file, reference.block) = ((address >> 32) as u32, address as u32);
        }
        if P::INFO.needs.object {
            let address = self.host.directory.address(window.keys[index]);
            reference.object = Some(Object::of_file((address >> 32) as u32));
        }
        if P::INFO.needs.app {
            reference.app = value_at(&mut runs.apps, reference.time);
        }
        if P::INFO.needs.clock {
            reference.clock = value_at(&mut runs.times, reference.time);
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

    fn count(&mut self, window: &Window<D::Key>) {
        let len = window.keys.len() as u64;
        let repeats = window.count_repeats(&self.hits);
        self.tally.repeats.references += repeats.references;
        self.tally.repeats.hits += repeats.hits;
        if !self.by_app {
            self.tally.total.add(&window.count(0, len, &self.hits, &mut self.open_missed));
            return;
        }
        for (index, &(begin, app)) in window.apps.iter().enumerate() {
            let start = begin.saturating_sub(window.first);
            let end = window.apps.get(index + 1).map_or(len, |&(next, _)| next - window.first);
            let counters = window.count(start, end, &self.hits, &mut self.open_missed);
            self.tally.total.add(&counters);
            let app = app as usize;
            if app >= self.tally.apps.len() {
                self.tally.apps.resize(app + 1, Counters::default());
            }
            self.tally.apps[app].add(&counters);
        }
    }
}

impl<P: Policy, D: Directory> Cell<D::Key> for PolicyCell<P, D> {
    fn run(&mut self, window: &Window<D::Key>) {
        let mut runs = Runs { apps: window.apps, times: window.times };
        for (range, is_counted) in window.runs() {
            let before = self.host.transfers;
            if window.writes.is_some() || !self.host.dirty.is_empty() {
                self.replay::<true>(window, range, &mut runs);
            } else {
                self.replay::<false>(window, range, &mut runs);
            }
            if !is_counted {
                self.host.transfers = before;
            }
        }
        self.count(window);
    }

    fn tally(&self) -> Tally {
        let Transfers { write_backs, extra_reads, extra } = self.host.transfers;
        Tally { write_backs, extra_reads, extra, decisions: self.host.decisions.clone(), ..self.tally.clone() }
    }
}
