//! One cell over a trace in a view with classes: counts by class, requests as long as the scheme allows, deletions.

use std::ops::Range;

use hotset_core::classify::Class;
use hotset_core::policy::{Effects, Extra, Note, Object, Outcome, Policy, Reference, Repartition, Slot};

use super::show::{Event, Shown, Span, What};
use crate::cell::{ClassTally, ExtraTally, Repeats, Tally, note};
use hotset_core::counters::Counters;

/// How far ahead of the current reference its slot is fetched.
const LOOKAHEAD: usize = 16;

/// The class of a block that was not written since it came in.
const CLEAN: u8 = u8::MAX;

/// A cell with its policy known.
pub(crate) struct ClassCell<P> {
    policy: P,
    host: Host,
}

/// The host of the policy: it counts what leaves.
struct Host {
    /// By block: the class in which it was written, or [`CLEAN`].
    dirty: Vec<u8>,
    classes: Vec<ClassTally>,
    /// What the span at hand does is counted.
    is_counted: bool,
    extra_reads: u64,
    extra: ExtraTally,
    decisions: Vec<Repartition>,
}

impl Effects for Host {
    #[inline(always)]
    fn evict(&mut self, slot: Slot) {
        let class = std::mem::replace(&mut self.dirty[slot as usize], CLEAN);
        if class != CLEAN && self.is_counted {
            self.classes[usize::from(class)].write_backs += 1;
        }
    }

    fn fetch(&mut self, _slot: Slot, why: Extra) {
        if self.is_counted {
            self.extra_reads += 1;
            self.extra.count(why);
        }
    }

    #[inline(always)]
    fn forget(&mut self, _slot: Slot) {}

    fn note(&mut self, told: &Note) {
        match *told {
            Note::Unforced(_) => self.extra.push_outs += u64::from(self.is_counted),
            Note::Division(decision) => note(&mut self.decisions, decision),
            Note::Worth(_) | Note::HitRates(_) => {}
        }
    }
}

/// The request that is being counted.
#[derive(Default)]
struct Open {
    missed: bool,
    /// Blocks since its last piece began.
    blocks: u32,
    piece_missed: bool,
}

/// What the references of one span add to the counts.
#[derive(Default)]
struct Sum {
    hits: u64,
    /// The first reference hit.
    first_hit: bool,
    /// Pieces with a miss.
    missed_pieces: u64,
}

impl<P: Policy> ClassCell<P> {
    pub fn new(policy: P, shown: &Shown) -> Self {
        let tally = |name: &String| ClassTally { name: name.clone(), ..ClassTally::default() };
        let host = Host {
            dirty: vec![CLEAN; shown.addresses.len()],
            classes: shown.rules.classes().iter().map(tally).collect(),
            is_counted: true,
            extra_reads: 0,
            extra: ExtraTally::default(),
            decisions: Vec::new(),
        };
        ClassCell { policy, host }
    }

    /// Replays the whole trace; `progress` is told of references now and then.
    pub fn run(mut self, shown: &Shown, progress: impl Fn(usize)) -> Tally {
        let mut apps: Vec<Counters> = Vec::new();
        let mut repeats = Repeats::default();
        let count_apps = shown.spans.iter().any(|span| span.app != shown.spans[0].app);
        let mut events = &shown.events[..];
        let mut open = Open::default();
        let (mut begin, mut told) = (0, 0);
        for span in &shown.spans {
            let range = begin..span.end as usize;
            begin = range.end;
            if !span.continues {
                open = Open::default();
            }
            let had_missed = open.missed;
            self.host.is_counted = span.is_counted;
            let sum = self.replay(shown, span, range.clone(), &mut events, &mut open);
            if begin - told >= PROGRESS {
                progress(begin - told);
                told = begin;
            }
            if !span.is_counted {
                continue;
            }
            let counted = count(span, range.len() as u64, sum.hits, open.missed && !had_missed);
            if span.repeats {
                repeats.note(sum.first_hit);
            }
            let tally = &mut self.host.classes[usize::from(span.class)];
            tally.counters.add(&counted);
            if !span.write {
                tally.blocks_read += counted.misses();
                tally.read_accesses += sum.missed_pieces;
            }
            if count_apps {
                let app = span.app as usize;
                if app >= apps.len() {
                    apps.resize(app + 1, Counters::default());
                }
                apps[app].add(&counted);
            }
        }
        progress(begin - told);
        for (tally, &bytes) in self.host.classes.iter_mut().zip(&shown.block_bytes) {
            tally.block_bytes = bytes;
        }
        self.tally(apps, repeats)
    }

    /// Replays the references of a span. `events` are those from here on.
    #[inline(always)]
    fn replay(
        &mut self,
        shown: &Shown,
        span: &Span,
        range: Range<usize>,
        events: &mut &[Event],
        open: &mut Open,
    ) -> Sum {
        let mut sum = Sum::default();
        let piece = self.policy.piece(span.class);
        let last = shown.ids.len() - 1;
        let first = range.start;
        for index in range {
            self.policy.prefetch(shown.ids[(index + LOOKAHEAD).min(last)]);
            let slot = shown.ids[index];
            let reference = self.describe(shown, index, span);
            let due = events.first().is_some_and(|event| event.at <= index as u64);
            let hit = (due && self.happen(shown, index, events, reference)) || self.access(slot, reference);
            sum.hits += u64::from(hit);
            sum.first_hit |= hit && index == first;
            sum.missed_pieces += u64::from(open.misses_piece(hit, piece));
        }
        sum
    }

    /// What happens before the reference at `index`; true if its bytes are found elsewhere, and that is all there is to
    /// it.
    #[cold]
    fn happen(&mut self, shown: &Shown, index: usize, events: &mut &[Event], reference: Reference) -> bool {
        let due = events.partition_point(|event| event.at <= index as u64);
        let (now, later) = events.split_at(due);
        *events = later;
        let mut elsewhere = None;
        for event in now {
            match event.what {
                What::Remove => self.remove(shown, event),
                What::Elsewhere(class) => elsewhere = Some((class, event)),
            }
        }
        elsewhere.is_some_and(|(class, event)| self.hit_elsewhere(shown, class, event, shown.ids[index], reference))
    }

    fn tally(self, apps: Vec<Counters>, repeats: Repeats) -> Tally {
        let mut total = Counters::default();
        self.host.classes.iter().for_each(|class| total.add(&class.counters));
        let write_backs = self.host.classes.iter().map(|class| class.write_backs).sum();
        let Host { extra_reads, extra, decisions, classes, .. } = self.host;
        Tally { total, repeats, apps, write_backs, extra_reads, extra, decisions, classes, times: None }
    }

    /// What the policy is told of the reference at `index`.
    #[inline(always)]
    fn describe(&self, shown: &Shown, index: usize, span: &Span) -> Reference {
        let is_told = P::INFO.needs.address || P::INFO.needs.object;
        let address = if is_told { shown.addresses[shown.ids[index] as usize] } else { 0 };
        Reference {
            time: index as u64,
            file: (address >> 32) as u32,
            block: address as u32,
            clock: span.clock,
            app: span.app,
            write: span.write,
            class: span.class,
            object: Some(Object::of_file((address >> 32) as u32)),
            ahead: false,
        }
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference) -> bool {
        let outcome = self.policy.access(slot, reference, &mut self.host);
        match (reference.write, outcome) {
            (true, Outcome::Bypassed) => {
                self.host.classes[usize::from(reference.class)].write_backs += u64::from(self.host.is_counted);
            }
            (true, Outcome::Hit | Outcome::Admitted) => self.host.dirty[slot as usize] = reference.class,
            (false, _) => {}
        }
        outcome == Outcome::Hit
    }

    /// True if the block is not where it belongs now, but all its bytes are in blocks of the class that the file had
    /// before.
    fn hit_elsewhere(&mut self, shown: &Shown, class: Class, event: &Event, slot: Slot, reference: Reference) -> bool {
        let blocks = &shown.event_blocks[event.blocks.clone()];
        if self.policy.contains(slot) || !blocks.iter().all(|&block| self.policy.contains(block)) {
            return false;
        }
        for &block in blocks {
            self.access(block, Reference { class, ..reference });
        }
        true
    }

    fn remove(&mut self, shown: &Shown, event: &Event) {
        for &block in &shown.event_blocks[event.blocks.clone()] {
            self.policy.remove(block, &mut self.host);
            self.host.dirty[block as usize] = CLEAN;
        }
    }
}

/// References between two reports of progress.
const PROGRESS: usize = 1 << 16;

impl Open {
    /// True if the reference is the first miss of its piece. A request is cut into pieces of at most `longest` blocks.
    #[inline(always)]
    fn misses_piece(&mut self, hit: bool, longest: u32) -> bool {
        if self.blocks == longest {
            (self.blocks, self.piece_missed) = (0, false);
        }
        self.blocks += 1;
        let first = !hit && !self.piece_missed;
        self.piece_missed |= !hit;
        self.missed |= !hit;
        first
    }
}

/// What a span of so many references adds to the counts; `newly_missed` if its request had no miss before.
#[inline(always)]
fn count(span: &Span, references: u64, hits: u64, newly_missed: bool) -> Counters {
    let begins = |it: bool| u64::from(it && !span.continues);
    Counters {
        references,
        hits,
        read_references: if span.write { 0 } else { references },
        read_hits: if span.write { 0 } else { hits },
        requests: begins(true),
        request_misses: newly_missed.into(),
        read_requests: begins(!span.write),
        read_request_misses: (newly_missed && !span.write).into(),
        write_requests: begins(span.write),
    }
}
