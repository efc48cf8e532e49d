//! A whole trace, renumbered and held in memory: a grid of cells replays it again and again.

pub mod future;
pub(crate) mod numbering;
pub(crate) mod prepare;

use std::sync::Arc;

use hotset_core::classify::Class;
use hotset_core::policy::{Column, Run};

use crate::bits::Bits;
use crate::expand::Expanded;
use crate::expand::requests::Requests;
use crate::window::{ClassFacts, Event, WINDOW, Window};

/// A renumbered trace in one view: one dense block number per reference, sparse columns, and the events between
/// references.
pub struct References {
    pub(crate) ids: Column,
    columns: SideColumns,
    /// The blocks of events.
    event_ids: Vec<u32>,
    /// For each block, its file in the high 32 bits and its number in the file in the low ones; in views that classify,
    /// a number for what it is a block of in the high ones.
    pub(crate) addresses: Arc<[u64]>,
    /// The classes of the view; none in the plain one.
    pub(crate) classes: Vec<ClassFacts>,
    /// By the high half of addresses, bytes of a block there; empty where all blocks are alike.
    pub(crate) block_bytes: Vec<u64>,
    /// The requests that the references were cut from, if they were kept for other views.
    pub(crate) requests: Option<Box<Requests>>,
    /// Names of applications, by number.
    pub(crate) apps: Vec<String>,
    /// Types of files, by number; none in views that classify.
    pub(crate) groups: Vec<u32>,
}

/// Facts of references in addition to their blocks.
#[derive(Default)]
pub(crate) struct SideColumns {
    /// Position in the trace of the first reference described.
    begin: u64,
    len: u64,
    writes: Option<Bits>,
    continues: Option<Bits>,
    uncounted: Option<Bits>,
    repeats: Option<Bits>,
    apps: Vec<(u64, u32)>,
    times: Vec<(u64, u64)>,
    sizes: Vec<u32>,
    classes: Vec<(u64, Class)>,
    pub events: Vec<Event>,
    /// The addresses of events, before blocks are numbered.
    pub event_keys: Vec<u64>,
}

impl SideColumns {
    /// Columns for the references from position `begin` on.
    pub fn starting_at(begin: u64) -> SideColumns {
        SideColumns { begin, ..SideColumns::default() }
    }

    /// Takes over what `expanded` says of its references.
    pub fn append(&mut self, expanded: &Expanded) {
        let first = self.len;
        self.len += expanded.keys.len() as u64;
        append_bits(&mut self.writes, first, &expanded.writes);
        append_bits(&mut self.continues, first, &expanded.continues);
        append_bits(&mut self.uncounted, first, &expanded.uncounted);
        append_bits(&mut self.repeats, first, &expanded.repeats);
        append_runs(&mut self.apps, self.begin + first, &expanded.apps);
        append_runs(&mut self.times, self.begin + first, &expanded.times);
        self.sizes.extend(&expanded.sizes);
        append_runs(&mut self.classes, self.begin + first, &expanded.classes);
        let keys = self.event_keys.len();
        self.event_keys.extend(&expanded.event_keys);
        self.events.extend(expanded.events.iter().map(|event| Event {
            at: self.begin + first + event.at,
            keys: keys + event.keys.start..keys + event.keys.end,
            ..event.clone()
        }));
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> u64 {
        let bits = |bits: &Option<Bits>| bits.as_ref().map_or(0, |bits| bits.words().len() as u64 * 8);
        bits(&self.writes)
            + bits(&self.continues)
            + bits(&self.uncounted)
            + bits(&self.repeats)
            + (self.apps.len() + self.times.len() + self.classes.len()) as u64 * 16
            + self.sizes.capacity() as u64 * 4
            + (self.events.len() * size_of::<Event>() + self.event_keys.len() * 8) as u64
    }

    /// The window of references from position `first` on, which is a multiple of 64 away from the beginning of the
    /// columns. The events behind the last reference belong to the last window.
    pub fn window<'a, K>(
        &'a self,
        first: u64,
        keys: &'a [K],
        events: &'a [Event],
        event_keys: &'a [K],
    ) -> Window<'a, K> {
        let words = |bits: &'a Option<Bits>| {
            let words = bits.as_ref()?.words().get(((first - self.begin) / 64) as usize..)?;
            Some(&words[..keys.len().div_ceil(64)])
        };
        let end = first + keys.len() as u64;
        let is_last = end == self.begin + self.len;
        let past = if is_last { events.len() } else { events.partition_point(|event| event.at < end) };
        Window {
            first,
            keys,
            writes: words(&self.writes),
            continues: words(&self.continues),
            uncounted: words(&self.uncounted),
            repeats: words(&self.repeats),
            apps: runs_of(&self.apps, first, end),
            times: runs_of(&self.times, first, end),
            sizes: self.sizes.get((first - self.begin) as usize..(end - self.begin) as usize).unwrap_or_default(),
            groups: &[],
            classes: runs_of(&self.classes, first, end),
            events: &events[events.partition_point(|event| event.at < first)..past],
            event_keys,
        }
    }

    /// Makes every bit column as long as the trace.
    pub fn finish(&mut self) {
        for bits in
            [&mut self.writes, &mut self.continues, &mut self.uncounted, &mut self.repeats].into_iter().flatten()
        {
            bits.reach(self.len);
        }
    }
}

/// Appends runs that begin so far behind `first`. Neighbours with the same value are one run.
fn append_runs<T: Copy + PartialEq>(runs: &mut Vec<(u64, T)>, first: u64, more: &[(u64, T)]) {
    for &(index, value) in more {
        if runs.last().is_none_or(|&(_, last)| last != value) {
            runs.push((first + index, value));
        }
    }
}

/// The runs that positions `first..end` are in.
fn runs_of<T>(runs: &[(u64, T)], first: u64, end: u64) -> &[(u64, T)] {
    let from = runs.partition_point(|&(begin, _)| begin <= first).saturating_sub(1);
    let to = runs.partition_point(|&(begin, _)| begin < end);
    &runs[from..to]
}

/// Appends the marks of `more` behind reference `first`. A column comes into being with its first mark.
fn append_bits(column: &mut Option<Bits>, first: u64, more: &Bits) {
    if more.words().is_empty() {
        return;
    }
    let bits = column.get_or_insert_default();
    for (word, &marks) in more.words().iter().enumerate() {
        let mut left = marks;
        while left != 0 {
            let start = left.trailing_zeros();
            let run = (left >> start).trailing_ones();
            let at = first + word as u64 * 64 + u64::from(start);
            bits.mark(at, at + u64::from(run));
            left &= u64::MAX.checked_shl(start + run).unwrap_or(0);
        }
    }
}

/// What cells must know of a trace beforehand.
#[derive(Clone, Copy)]
pub(crate) struct Trace<'a> {
    /// The classes of its view; none in the plain one.
    pub classes: &'a [ClassFacts],
    pub has_apps: bool,
    pub has_times: bool,
}

impl References {
    pub(crate) fn new(ids: Column, mut columns: SideColumns, addresses: Vec<u64>) -> References {
        columns.finish();
        References { columns, ..References::plain(ids, addresses.into()) }
    }

    /// Sets the blocks of events, once blocks are numbered: those of `events` are in `ids`.
    pub(crate) fn with_events(mut self, events: Vec<Event>, ids: Vec<u32>) -> References {
        (self.columns.events, self.columns.event_keys, self.event_ids) = (events, Vec::new(), ids);
        self
    }

    fn plain(ids: Column, addresses: Arc<[u64]>) -> References {
        let columns = SideColumns { len: (*ids).as_ref().len() as u64, ..SideColumns::default() };
        References {
            ids,
            columns,
            event_ids: Vec::new(),
            addresses,
            classes: Vec::new(),
            block_bytes: Vec::new(),
            requests: None,
            groups: Vec::new(),
            apps: Vec::new(),
        }
    }

    /// References of a trace of plain reads of one file, given by block numbers in order of first appearance.
    pub fn from_ids(ids: Vec<u32>) -> References {
        let distinct = ids.iter().max().map_or(0, |&max| u64::from(max) + 1);
        References::plain(Arc::new(ids), (0..distinct).collect())
    }

    /// Block numbers, one a reference, in order of first appearance.
    pub fn ids(&self) -> &[u32] {
        (*self.ids).as_ref()
    }

    /// References in the trace.
    pub fn len(&self) -> u64 {
        self.columns.len
    }

    /// True if nothing is referenced.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Distinct blocks: the footprint.
    pub fn distinct(&self) -> u32 {
        self.addresses.len() as u32
    }

    /// Bytes of the object of each reference, if they were kept.
    pub(crate) fn sizes(&self) -> &[u32] {
        &self.columns.sizes
    }

    /// The same with sizes of objects, one a reference.
    #[cfg(test)]
    pub(crate) fn with_sizes(mut self, sizes: Vec<u32>) -> References {
        self.columns.sizes = sizes;
        self
    }

    /// Bytes of an object on average over references; `None` if no sizes were kept, or all are 0.
    pub(crate) fn mean_bytes(&self) -> Option<f64> {
        let bytes: u64 = self.columns.sizes.iter().map(|&size| u64::from(size)).sum();
        (bytes > 0).then(|| bytes as f64 / self.columns.sizes.len() as f64)
    }

    /// True if some reference writes.
    pub fn has_writes(&self) -> bool {
        self.columns.writes.is_some()
    }

    /// True if some reference is not counted.
    pub fn has_uncounted(&self) -> bool {
        self.columns.uncounted.is_some()
    }

    /// True if more than one application references blocks.
    pub fn has_apps(&self) -> bool {
        self.columns.apps.len() > 1
    }

    /// True if times of references were kept.
    pub fn has_times(&self) -> bool {
        !self.columns.times.is_empty()
    }

    /// What cells must know of it.
    pub(crate) fn facts(&self) -> Trace<'_> {
        Trace { classes: &self.classes, has_apps: self.has_apps(), has_times: self.has_times() }
    }

    /// How long it is.
    pub(crate) fn run(&self) -> Run {
        let time = |run: Option<&(u64, u64)>| run.map_or(0, |&(_, time)| time);
        let nanoseconds = time(self.columns.times.last()).saturating_sub(time(self.columns.times.first()));
        Run { nanoseconds: Some(nanoseconds).filter(|&nanoseconds| nanoseconds > 0), references: self.len() }
    }

    pub(crate) fn windows(&self) -> impl Iterator<Item = Window<'_, u32>> {
        let chunks = self.ids().chunks(WINDOW).enumerate();
        chunks.map(move |(index, ids)| self.window_of((index * WINDOW) as u64, ids))
    }

    /// The whole trace as one window.
    pub(crate) fn window(&self) -> Window<'_, u32> {
        self.window_of(0, self.ids())
    }

    pub(crate) fn window_of<'a>(&'a self, first: u64, ids: &'a [u32]) -> Window<'a, u32> {
        Window { groups: &self.groups, ..self.columns.window(first, ids, self.events(), &self.event_ids) }
    }

    /// The windows of a trace whose blocks are named by their addresses, and what happens by them.
    pub(crate) fn windows_by_address(&self, mut visit: impl FnMut(&Window<u64>)) {
        let mut keys = Vec::new();
        for window in self.windows() {
            keys.clear();
            keys.extend(window.keys.iter().map(|&id| self.addresses[id as usize]));
            visit(&window.with_keys(&keys, &self.columns.event_keys));
        }
    }

    /// What happens between references.
    pub(crate) fn events(&self) -> &[Event] {
        &self.columns.events
    }
}
