//! LRU at several sizes in one pass: a cell for many plans, with all that a cell of one counts.

use std::ops::Range;

use hotset_core::policy::Slot;

use super::cell::{Cell, LOOKAHEAD};
use super::count::Count;
use super::directory::Directory;
use super::lru_sizes::LruSizes;
use super::tally::{Ended, Transfers};
use crate::bits;
use crate::references::Trace;
use crate::window::{Event, WINDOW, Window};

/// Sizes that a cell can have: a word has a bit for each.
pub(crate) const MOST: usize = 64;

/// Blocks of the largest cache: a log of blocks has twice as many places.
pub(crate) const LARGEST: u32 = 1 << 30;

/// Which references of a window hit in caches of which each holds all that the smaller ones hold.
pub(super) struct Hits {
    /// By cache, from the smallest on, set where the reference hits.
    hits: Vec<Vec<u64>>,
    /// By how many caches miss, the references of the word at hand; the smallest caches miss.
    missing: Vec<u64>,
}

impl Hits {
    pub fn new(caches: usize) -> Hits {
        Hits { hits: vec![vec![0; WINDOW / 64]; caches], missing: vec![0; caches + 1] }
    }

    /// The reference at `index` misses in so many caches. Indices come in order.
    #[inline(always)]
    pub fn reference(&mut self, index: usize, missing: usize) {
        self.missing[missing] |= 1 << (index % 64);
        if index % 64 == 63 {
            self.note(index / 64);
        }
    }

    /// The window has ended after so many references.
    pub fn finish(&mut self, references: usize) {
        if !references.is_multiple_of(64) {
            self.note(references / 64);
        }
    }

    /// The hits of each cache, a bit a reference.
    pub fn by_cache(&self) -> &[Vec<u64>] {
        &self.hits
    }

    /// Notes for each cache the hits of a word: those of the smaller ones, and some more.
    fn note(&mut self, word: usize) {
        let mut hits = 0;
        for (of_cache, more) in self.hits.iter_mut().zip(&mut self.missing) {
            hits |= std::mem::take(more);
            of_cache[word] = hits;
        }
        if let Some(in_none) = self.missing.last_mut() {
            *in_none = 0;
        }
    }
}

/// LRU at each of some sizes.
pub(crate) struct OnePassCell<D> {
    lru_sizes: LruSizes,
    directory: D,
    /// The number of slots.
    slots: u32,
    /// From the smallest cache on, the place of its plan.
    plans: Vec<usize>,
    counts: Vec<Count>,
    hits: Hits,
    /// By cache, blocks that left dirty.
    write_backs: Vec<u64>,
    /// By slot, the caches in which the block is dirty. Empty before the first write.
    dirty: Vec<u64>,
}

impl<D: Directory> OnePassCell<D> {
    /// Cells over `trace` in the plain view, of these sizes, in any order: at most [`MOST`].
    pub fn new(sizes: &[u32], directory: D, slots: u32, trace: &Trace) -> Self {
        let mut plans: Vec<usize> = (0..sizes.len()).collect();
        plans.sort_by_key(|&plan| sizes[plan]);
        let ascending: Vec<u32> = plans.iter().map(|&plan| sizes[plan]).collect();
        OnePassCell {
            lru_sizes: LruSizes::new(&ascending, slots),
            directory,
            slots,
            counts: plans.iter().map(|_| Count::new(&[], trace.has_apps)).collect(),
            hits: Hits::new(plans.len()),
            write_backs: vec![0; plans.len()],
            dirty: Vec::new(),
            plans,
        }
    }

    /// Replays these references of the window and what happens between them.
    fn replay<'a>(&mut self, window: &Window<'a, D::Key>, range: Range<usize>, events: &mut &'a [Event]) {
        let mut begin = range.start;
        while let Some((index, event)) = window.next_event(events, range.end) {
            self.stretch(window, begin..index);
            begin = index;
            self.remove(window, event);
        }
        self.stretch(window, begin..range.end);
    }

    fn stretch(&mut self, window: &Window<D::Key>, range: Range<usize>) {
        if window.writes.is_some() || !self.dirty.is_empty() {
            self.refer::<true>(window, range);
        } else {
            self.refer::<false>(window, range);
        }
    }

    /// Replays these references of the window, between which nothing happens, and notes where they hit.
    fn refer<const WRITES: bool>(&mut self, window: &Window<D::Key>, range: Range<usize>) {
        let Some(last) = window.keys.len().checked_sub(1) else { return };
        for index in range {
            if let Some(ahead) = D::slot_ahead(window.keys[(index + LOOKAHEAD).min(last)]) {
                self.lru_sizes.prefetch(ahead);
            }
            let slot = self.directory.slot(window.keys[index]);
            if slot >= self.slots {
                self.grow(slot);
            }
            let missing = self.refer_one::<WRITES>(slot);
            self.hits.reference(index, missing);
            if WRITES && window.writes.is_some_and(|words| bits::get(words, index as u64)) {
                self.dirty.resize(self.dirty.len().max(self.slots as usize), 0);
                self.dirty[slot as usize] = u64::MAX;
            }
        }
    }

    #[inline(always)]
    fn refer_one<const WRITES: bool>(&mut self, slot: Slot) -> usize {
        let OnePassCell { lru_sizes, directory, dirty, write_backs, .. } = self;
        let largest = write_backs.len() - 1;
        lru_sizes.refer(slot, |cache, leaving| {
            if WRITES && let Some(dirty) = dirty.get_mut(leaving as usize) {
                write_backs[cache] += *dirty >> cache & 1;
                *dirty &= !(1 << cache);
            }
            if cache == largest {
                directory.forget(leaving);
            }
        })
    }

    #[cold]
    fn grow(&mut self, slot: Slot) {
        self.slots = slot.saturating_add(slot / 2).saturating_add(64);
        self.lru_sizes.grow(self.slots);
        if !self.dirty.is_empty() {
            self.dirty.resize(self.slots as usize, 0);
        }
    }

    /// Blocks become worth nothing, and are not written.
    #[cold]
    fn remove(&mut self, window: &Window<D::Key>, event: &Event) {
        for slot in self.directory.slots_of(window, event) {
            if slot < self.slots {
                self.lru_sizes.remove(slot);
            }
            if let Some(dirty) = self.dirty.get_mut(slot as usize) {
                *dirty = 0;
            }
            self.directory.forget(slot);
        }
    }
}

impl<D: Directory> Cell<D::Key> for OnePassCell<D> {
    fn run(&mut self, window: &Window<D::Key>) {
        let mut events = window.events;
        for (range, is_counted) in window.runs() {
            let before = (!is_counted).then(|| self.write_backs.clone());
            self.replay(window, range, &mut events);
            if let Some(before) = before {
                self.write_backs = before;
            }
        }
        self.hits.finish(window.keys.len());
        // Events behind the last reference.
        events.iter().for_each(|event| self.remove(window, event));
        for (count, hits) in self.counts.iter_mut().zip(self.hits.by_cache()) {
            count.add(window, hits, |_| 1);
        }
    }

    fn end(self: Box<Self>) -> Vec<Ended> {
        let mut ended = vec![Ended::default(); self.plans.len()];
        for ((&plan, count), &write_backs) in self.plans.iter().zip(&self.counts).zip(&self.write_backs) {
            let transfers = Transfers { write_backs, ..Transfers::default() };
            ended[plan].tally = count.tally(&transfers, &[]);
        }
        ended
    }
}
