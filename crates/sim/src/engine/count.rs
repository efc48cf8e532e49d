//! Counting a window once it is known which of its references hit: in all, by application and by class.

use hotset_core::counters::Counters;

use super::tally::{ByteTally, ClassTally, Tally, Transfers};
use crate::bits;
use crate::window::{ClassFacts, Repeats, Window};

/// Counts so far.
#[derive(Default)]
pub(crate) struct Count {
    by_app: bool,
    total: Counters,
    repeats: Repeats,
    bytes: ByteTally,
    apps: Vec<Counters>,
    classes: Vec<ClassTally>,
    /// The request that goes on across the boundary of windows was counted as missed: in all, and by class.
    has_missed: [bool; 2],
    open: Open,
}

/// The piece of a request that is being counted.
#[derive(Default)]
struct Open {
    blocks: u32,
    has_missed: bool,
}

impl Count {
    pub fn new(classes: &[ClassFacts], by_app: bool) -> Count {
        let class = |class: &ClassFacts| ClassTally {
            name: class.name.clone(),
            block_bytes: class.block_bytes,
            ..ClassTally::default()
        };
        Count { by_app, classes: classes.iter().map(class).collect(), ..Count::default() }
    }

    /// Counts a window of which these references hit. A request is read in pieces of at most `piece(class)` blocks.
    pub fn add<K>(&mut self, window: &Window<K>, hits: &[u64], piece: impl Fn(u8) -> u32) {
        let repeats = window.count_repeats(hits);
        self.repeats.references += repeats.references;
        self.repeats.hits += repeats.hits;
        self.count_bytes(window, hits);
        if self.by_app {
            for (app, start, end) in window.parts_of(window.apps) {
                let counters = window.count(start, end, hits, &mut self.has_missed[0]);
                self.total.add(&counters);
                let app = app as usize;
                if app >= self.apps.len() {
                    self.apps.resize(app + 1, Counters::default());
                }
                self.apps[app].add(&counters);
            }
        } else {
            let len = window.keys.len() as u64;
            self.total.add(&window.count(0, len, hits, &mut self.has_missed[0]));
        }
        for (class, start, end) in window.parts_of(window.classes) {
            let counters = window.count(start, end, hits, &mut self.has_missed[1]);
            let accesses = self.count_pieces(window, start..end, hits, piece(class));
            let tally = &mut self.classes[usize::from(class)];
            tally.counters.add(&counters);
            tally.blocks_read += counters.read_references - counters.read_hits;
            tally.read_accesses += accesses;
        }
    }

    /// Bytes of objects, where they were kept.
    fn count_bytes<K>(&mut self, window: &Window<K>, hits: &[u64]) {
        for (index, &bytes) in (0..).zip(window.sizes) {
            if !window.uncounted.is_some_and(|words| bits::get(words, index)) {
                self.bytes.all += u64::from(bytes);
                self.bytes.hit += if bits::get(hits, index) { u64::from(bytes) } else { 0 };
            }
        }
    }

    /// Pieces of at most `longest` blocks with a read that misses.
    fn count_pieces<K>(&mut self, window: &Window<K>, range: std::ops::Range<u64>, hits: &[u64], longest: u32) -> u64 {
        let is = |column: Option<&[u64]>, index| column.is_some_and(|words| bits::get(words, index));
        let mut accesses = 0;
        for index in range {
            if self.open.blocks == longest || !is(window.continues, index) {
                self.open = Open::default();
            }
            self.open.blocks += 1;
            if !bits::get(hits, index) && !std::mem::replace(&mut self.open.has_missed, true) {
                accesses += u64::from(!is(window.writes, index) && !is(window.uncounted, index));
            }
        }
        accesses
    }

    /// The counts, with what went to storage besides misses: in all, and blocks written by class.
    pub fn tally(&self, transfers: &Transfers, class_writes: &[u64]) -> Tally {
        let mut classes = self.classes.clone();
        classes.iter_mut().zip(class_writes).for_each(|(class, &writes)| class.write_backs = writes);
        Tally {
            total: self.total,
            repeats: self.repeats,
            bytes: self.bytes,
            apps: self.apps.clone(),
            write_backs: transfers.write_backs,
            extra_reads: transfers.extra_reads,
            extra: transfers.extra,
            classes,
            ..Tally::default()
        }
    }
}
