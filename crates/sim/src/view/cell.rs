//! One cell over a trace in a view with classes: counts by class, requests as long as their part allows, deletions.

use hotset_core::classify::Class;
use hotset_core::policy::{Effects, Outcome, Policy, Reference, Slot};

use super::show::{Event, Marks, Shown, What};
use crate::cell::{ClassTally, Tally};
use crate::counters::Counters;

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
    extra_reads: u64,
}

impl Effects for Host {
    #[inline(always)]
    fn evict(&mut self, slot: Slot) {
        let class = std::mem::replace(&mut self.dirty[slot as usize], CLEAN);
        if class != CLEAN {
            self.classes[usize::from(class)].write_backs += 1;
        }
    }

    fn fetch(&mut self, _slot: Slot) {
        self.extra_reads += 1;
    }

    #[inline(always)]
    fn forget(&mut self, _slot: Slot) {}
}

/// The request that is being counted.
#[derive(Default)]
struct Open {
    missed: bool,
    /// Blocks since its last piece began.
    blocks: u32,
    piece_missed: bool,
}

impl<P: Policy> ClassCell<P> {
    pub fn new(policy: P, shown: &Shown) -> Self {
        let tally = |name: &String| ClassTally { name: name.clone(), ..ClassTally::default() };
        let host = Host {
            dirty: vec![CLEAN; shown.addresses.len()],
            classes: shown.rules.classes().iter().map(tally).collect(),
            extra_reads: 0,
        };
        ClassCell { policy, host }
    }

    /// Replays the whole trace; `progress` is told of references now and then.
    pub fn run(mut self, shown: &Shown, progress: impl Fn(usize)) -> Tally {
        let Some(last) = shown.ids.len().checked_sub(1) else { return self.tally(Vec::new()) };
        let mut apps: Vec<Counters> = Vec::new();
        let (mut events, mut runs) = (shown.events.iter().peekable(), &shown.apps[..]);
        let mut open = Open::default();
        let rooms: Vec<u32> = (0..shown.block_bytes.len()).map(|class| self.policy.room(class as Class)).collect();
        for (index, &slot) in shown.ids.iter().enumerate() {
            self.policy.prefetch(shown.ids[(index + LOOKAHEAD).min(last)]);
            if index % PROGRESS == PROGRESS - 1 {
                progress(PROGRESS);
            }
            let mut elsewhere = None;
            while let Some(event) = events.next_if(|event| event.at <= index as u64) {
                match event.what {
                    What::Remove => self.remove(shown, event),
                    What::Elsewhere(class) => elsewhere = Some((class, event)),
                }
            }
            let (class, marks) = (shown.classes[index], shown.marks[index]);
            let reference = self.describe(shown, index, &mut runs);
            let hit = elsewhere.is_some_and(|(class, event)| self.hit_elsewhere(shown, class, event, slot, reference))
                || self.access(slot, reference, marks);
            let tally = &mut self.host.classes[usize::from(class)];
            let counted = count(marks, hit, &mut open);
            tally.counters.add(&counted);
            if !marks.write {
                tally.blocks_read += u64::from(!hit);
                tally.read_accesses += u64::from(open.misses_piece(hit, rooms[usize::from(class)]));
            }
            if shown.apps.len() > 1 {
                let app = reference.app as usize;
                if app >= apps.len() {
                    apps.resize(app + 1, Counters::default());
                }
                apps[app].add(&counted);
            }
        }
        progress(shown.ids.len() % PROGRESS);
        for (tally, &bytes) in self.host.classes.iter_mut().zip(&shown.block_bytes) {
            tally.block_bytes = bytes;
        }
        self.tally(apps)
    }

    fn tally(self, apps: Vec<Counters>) -> Tally {
        let mut total = Counters::default();
        self.host.classes.iter().for_each(|class| total.add(&class.counters));
        let write_backs = self.host.classes.iter().map(|class| class.write_backs).sum();
        Tally { total, apps, write_backs, extra_reads: self.host.extra_reads, classes: self.host.classes }
    }

    /// What the policy is told of the reference at `index`. `runs` are the runs of applications from the current one on.
    #[inline(always)]
    fn describe(&self, shown: &Shown, index: usize, runs: &mut &[(u64, u32)]) -> Reference {
        while runs.get(1).is_some_and(|&(begin, _)| begin <= index as u64) {
            *runs = &runs[1..];
        }
        let address = if P::INFO.needs.address { shown.addresses[shown.ids[index] as usize] } else { 0 };
        Reference {
            time: index as u64,
            file: (address >> 32) as u32,
            block: address as u32,
            app: runs.first().map_or(0, |&(_, app)| app),
            write: shown.marks[index].write,
            class: shown.classes[index],
        }
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, marks: Marks) -> bool {
        let outcome = self.policy.access(slot, reference, &mut self.host);
        match (marks.write, outcome) {
            (true, Outcome::Bypassed) => self.host.classes[usize::from(reference.class)].write_backs += 1,
            (true, Outcome::Hit | Outcome::Admitted) => self.host.dirty[slot as usize] = reference.class,
            (false, _) => {}
        }
        outcome == Outcome::Hit
    }

    /// True if the block is not where it belongs now, but all its bytes are in blocks of the class that the file had before.
    fn hit_elsewhere(&mut self, shown: &Shown, class: Class, event: &Event, slot: Slot, reference: Reference) -> bool {
        let blocks = &shown.event_blocks[event.blocks.clone()];
        if self.policy.contains(slot) || !blocks.iter().all(|&block| self.policy.contains(block)) {
            return false;
        }
        let marks = Marks { write: reference.write, continues: false };
        for &block in blocks {
            self.access(block, Reference { class, ..reference }, marks);
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
    /// True if the reference is the first miss of its piece. A request is cut into pieces of at most `room` blocks.
    #[inline(always)]
    fn misses_piece(&mut self, hit: bool, room: u32) -> bool {
        if self.blocks == room {
            (self.blocks, self.piece_missed) = (0, false);
        }
        self.blocks += 1;
        let first = !hit && !self.piece_missed;
        self.piece_missed |= !hit;
        first
    }
}

/// What one reference adds to the counts.
#[inline(always)]
fn count(marks: Marks, hit: bool, open: &mut Open) -> Counters {
    let mut counters = Counters { references: 1, hits: hit.into(), ..Counters::default() };
    if !marks.continues {
        *open = Open::default();
        counters.requests = 1;
        counters.read_requests = (!marks.write).into();
        counters.write_requests = marks.write.into();
    }
    if !hit && !open.missed {
        open.missed = true;
        counters.request_misses = 1;
        counters.read_request_misses = (!marks.write).into();
    }
    counters
}
