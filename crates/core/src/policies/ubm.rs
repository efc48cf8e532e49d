//! UBM: tell files that are read in sequence or in a loop from the others, and give the space to those that gain most
//! by it.
//!
//! Idea: how a file was referenced tells how it will be. A run of consecutive blocks is sequential and need not be
//! kept; a run that starts over is a loop, of which any part gives its share of hits; the rest is kept by LRU. The
//! cache is divided among the three by marginal gain: the change in hits by a block more or less
//! (`families/partitions.rs`).
//!
//! Paper: Kim, Choi, Kim, Noh, Min, Cho, Kim, "A low-overhead high-performance unified buffer management scheme that
//! exploits sequential and looping references", OSDI 2000.
//!
//! Provenance: not checked against the paper, whose text was not at hand, nor against another program: the model checks
//! the code, not the reading.
//!
//! Deviations and readings: a file's run is known by its first and its last block: the next block extends it, the last
//! one again changes nothing, the first one again, once the run is `run` blocks long, begins a lap. The period is the
//! number of references since the run or the lap before began, averaged with the period before, halves down. Any other
//! block ends the run and starts a new one; blocks are "other" until a run is long enough. A file whose run ended out
//! of order must show a longer one before it counts as sequential again, or else every piece read of a file that is
//! accessed at random would be thrown out; `broken=ignore` leaves that away. A block is in the partition that its last
//! reference put it in; when a loop ends, or its file falls out of the table, its blocks go to the LRU end of the
//! LRU list. The paper fits a curve to the hits of the other blocks; here their gain is measured at the foot of the
//! list. That loops end by themselves is our own rule.
//!
//! Cost: O(1) amortised, O(log `files`) when a block joins or leaves a loop. Every reference looks up the entry of its
//! file and makes it the most recent one, which is why it is four times slower than LRU where files are many.
//! Memory: 12 bytes a slot, 24 to 48 bytes a block, about 90 bytes for each of `files`.
//!
//! When not to use it: where files are read again once or twice, soon: their blocks left at once at the first reading;
//! traces that do not tell files apart (all blocks then form one run or none).

use crate::families::partitions::{AccessPattern, Partitions};
use crate::parts::recent_table::{Index, RecentTable};
use crate::policy::{Discard, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Setup, Slot};
use crate::spec::SpecError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    Other,
    Sequential,
    Looping,
}

/// The known facts of a file.
#[derive(Clone, Copy, Debug)]
struct Run {
    pattern: Pattern,
    first: u32,
    last: u32,
    /// Blocks from which on a run of this file is sequential.
    needed: u32,
    /// Time when the run or its last lap began.
    began: u64,
}

impl Run {
    fn at(reference: Reference, needed: u32) -> Run {
        let Reference { time, block, .. } = reference;
        Run { pattern: Pattern::Other, first: block, last: block, needed, began: time }
    }

    /// Blocks less one: a run may be as long as there are numbers.
    fn reach(&self) -> u32 {
        self.last - self.first
    }
}

/// The UBM policy.
#[derive(Debug)]
pub struct Ubm {
    /// Blocks from which on a run is sequential.
    run: u32,
    /// A run that ends out of order makes the next ones of its file need to be longer.
    raise: bool,
    files: RecentTable<Run>,
    partitions: Partitions,
}

impl Policy for Ubm {
    const INFO: Info = Info {
        name: "ubm",
        family: "loop",
        summary: "divides the cache among sequential, looping and other files by what a block gains in each",
        params: &[
            Param {
                key: "files",
                kind: ParamKind::Count { min: 1, max: 1 << 20 },
                default: "4096",
                doc: "files whose runs are known, those referenced last",
            },
            Param {
                key: "run",
                kind: ParamKind::Count { min: 2, max: u32::MAX as u64 },
                default: "2",
                doc: "consecutive blocks from which on a file counts as sequential",
            },
            Param {
                key: "broken",
                kind: ParamKind::Word(&["raise", "ignore"]),
                default: "raise",
                doc: "after a run that ended out of order the next ones of the file must be longer than it was, or need not",
            },
        ],
        needs: Needs { address: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let files = setup.args.count("files") as u32;
        Ok(Ubm {
            run: setup.args.count("run") as u32,
            raise: setup.args.word("broken") == "raise",
            files: RecentTable::new(files),
            partitions: Partitions::new(setup, files),
        })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let resident = self.partitions.look_up(slot, reference.time);
        let class = self.classify(reference);
        if resident {
            self.partitions.renew(slot, class);
            return Outcome::Hit;
        }
        if self.partitions.is_full() {
            self.evict(fx);
        }
        self.partitions.insert(slot, class);
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.partitions.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.partitions.contains(slot) {
            self.partitions.take(slot);
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        while self.len() > capacity {
            self.evict(fx);
        }
        self.partitions.set_capacity(capacity);
    }

    fn grow(&mut self, slots: u32) {
        self.partitions.grow(slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.partitions.contains(slot)
    }

    fn len(&self) -> u32 {
        self.partitions.len()
    }

    fn validate(&self) {
        self.files.validate();
        self.partitions.validate();
    }
}

impl Ubm {
    /// Notes the reference in its file's run and says what class it makes its block.
    #[inline(always)]
    fn classify(&mut self, reference: Reference) -> AccessPattern {
        let Some(index) = self.files.find(u64::from(reference.file)) else {
            let (index, displaced) = self.files.insert(u64::from(reference.file), Run::at(reference, self.run));
            if displaced.is_some_and(|run| run.pattern == Pattern::Looping) {
                self.partitions.release(index);
            }
            return AccessPattern::Other;
        };
        let run = self.files.value_mut(index);
        if reference.block == run.last {
            // Said already.
        } else if run.last.checked_add(1) == Some(reference.block) {
            run.last = reference.block;
            if run.pattern == Pattern::Other && run.reach() >= run.needed - 1 {
                run.pattern = Pattern::Sequential;
            }
        } else if run.pattern != Pattern::Other && reference.block == run.first {
            self.begin_lap(index, reference);
        } else {
            let longer = if self.raise { run.reach().saturating_add(2) } else { 0 };
            let next = Run::at(reference, run.needed.max(longer));
            let before = std::mem::replace(run, next);
            if before.pattern == Pattern::Looping {
                self.partitions.release(index);
            }
        }
        match self.files.value(index).pattern {
            Pattern::Other => AccessPattern::Other,
            Pattern::Sequential => AccessPattern::Sequential,
            Pattern::Looping => AccessPattern::Looping(index),
        }
    }

    /// The run starts over.
    fn begin_lap(&mut self, index: Index, reference: Reference) {
        let run = self.files.value_mut(index);
        let lap = (reference.time - run.began).min(u64::from(u32::MAX)) as u32;
        let period = match run.pattern {
            Pattern::Looping => self.partitions.period(index).midpoint(lap),
            _ => lap,
        };
        (run.pattern, run.last, run.began) = (Pattern::Looping, reference.block, reference.time);
        self.partitions.set_period(index, period);
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        if let Some(victim) = self.partitions.pop_victim() {
            fx.discard(victim);
        }
    }
}
