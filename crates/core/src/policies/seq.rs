//! SEQ: LRU, except that long sequences of misses are replaced from their middle.
//!
//! Idea: a program that runs through more memory than it has misses at one block after the other, and LRU then evicts
//! just what comes next. SEQ recognises such sequences by their addresses and takes its victims from the long ones,
//! some way behind where they are: so the part read first stays for the next round. Without long sequences it is LRU,
//! or CLOCK.
//!
//! Paper: Glass, Cao, "Adaptive page replacement based on memory reference behavior", SIGMETRICS 1997. CLOCK as the
//! other order: Lee, "APR", SNU 2020.
//!
//! Provenance: not checked against its paper, whose text was not at hand, nor against another program: the model checks
//! the code, not the reading.
//!
//! Deviations and readings: sequences run within one file. A miss first extends a sequence, upwards rather than
//! downwards, then cuts the sequence in which it lies: that one keeps what it has between the miss and its own end, and
//! nothing else. So sequences never overlap. A miss that extends none starts one; if the table is full the sequence
//! that missed longest ago is dropped. All that happens before the victim is chosen. A sequence without a block far
//! enough behind its end is passed over, so the next best gives the victim. Hits, and blocks that leave, change no
//! sequence. With `sequences=overlapping`, the default on traces of memory, a miss that goes on with one sequence cuts
//! no other, of several that it goes on with the one that the table lists first is extended, and if the best sequence
//! has no victim the fall-back has.
//!
//! Cost: a hit is that of the fall-back order. A miss is found among the sequences by binary search, and mostly drops
//! one and starts one, which moves the entries behind it: O(table), a few hundred nanoseconds. That is what the
//! algorithm asks of every miss, so it decides several times slower than LRU where many references miss. Memory: 20
//! bytes a slot, 12 to 24 bytes a block of capacity in the log.
//!
//! When not to use it: where addresses mean nothing, and where the sequences that are read are not read again.

mod apart;
mod overlapping;

use apart::Apart;
use overlapping::Overlapping;

use crate::parts::queue::{ABSENT, Places, Queue};
use crate::policy::{
    Args, Discard, Effects, Hits, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

/// The SEQ policy.
#[derive(Debug)]
pub struct Seq {
    capacity: u32,
    clock: bool,
    places: Places,
    /// The fall-back order.
    queue: Queue,
    /// A new block counts as used; CLOCK alone looks at it.
    initial: bool,
    sequences: Sequences,
}

/// The table of sequences, by one of two readings.
#[derive(Debug)]
enum Sequences {
    Apart(Apart),
    Overlapping(Overlapping),
}

impl Policy for Seq {
    const INFO: Info = Info {
        name: "seq",
        family: "loop",
        summary: "LRU that takes its victims from the middle of long sequences of misses",
        params: &[
            Param {
                key: "l",
                kind: ParamKind::Count { min: 1, max: u32::MAX as u64 },
                default: "20",
                doc: "blocks that a sequence must exceed to give victims (paper: 20)",
            },
            Param {
                key: "m",
                kind: ParamKind::Count { min: 1, max: u32::MAX as u64 },
                default: "20",
                doc: "least distance of a victim from the end of its sequence, in blocks (paper: 20)",
            },
            Param {
                key: "n",
                kind: ParamKind::Count { min: 1, max: 1024 },
                default: "5",
                doc: "the sequence whose miss number n from the last is the latest gives the victim (paper: 5)",
            },
            Param {
                key: "table",
                kind: ParamKind::Count { min: 1, max: 1024 },
                default: "200",
                doc: "most sequences watched at once (paper: 200)",
            },
            Param {
                key: "fallback",
                kind: ParamKind::Word(&["lru", "clock"]),
                default: "lru",
                doc: "which order gives the victim when no sequence does; clock on traces of memory",
            },
            Param {
                key: "initial",
                kind: ParamKind::Count { min: 0, max: 1 },
                default: "0",
                doc: "bit of a new block, where the order is CLOCK; 1 on traces of memory",
            },
            Param {
                key: "sequences",
                kind: ParamKind::Word(&["apart", "overlapping"]),
                default: "apart",
                doc: "effect of a miss that continues one sequence and lies inside another: the other is cut, or unchanged (the default on traces of memory)",
            },
        ],
        needs: Needs { address: true, ..Needs::NOTHING },
        paging: &[("fallback", "clock"), ("initial", "1"), ("sequences", "overlapping")],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let [length, distance, nth, table] = ["l", "m", "n", "table"].map(|key| setup.args.count(key) as u32);
        let clock = has_bit(setup.args);
        let sequences = match setup.args.word("sequences") {
            "apart" => Sequences::Apart(Apart::new(length, distance, nth, table, setup.slots)),
            _ => Sequences::Overlapping(Overlapping::new(length, distance, nth, table)),
        };
        let mut seq = Seq {
            capacity: setup.capacity,
            clock,
            places: Places::new(setup.slots),
            queue: Queue::new(0, 0),
            initial: clock && setup.args.count("initial") == 1,
            sequences,
        };
        seq.fit();
        Ok(seq)
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements { hits: if has_bit(args) { Hits::Bit } else { Hits::Order }, ..Requirements::of(capacity) })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        if self.contains(slot) {
            if self.clock {
                self.places.mark(slot);
            } else {
                self.queue.renew(&mut self.places, slot);
            }
            return Outcome::Hit;
        }
        match &mut self.sequences {
            Sequences::Apart(sequences) => sequences.miss(slot, reference.file, reference.block),
            Sequences::Overlapping(sequences) => sequences.miss(reference.file, reference.block),
        }
        if self.queue.len() == self.capacity {
            self.evict(fx);
        }
        self.queue.push(&mut self.places, slot);
        if self.initial {
            self.places.mark(slot);
        }
        if let Sequences::Overlapping(sequences) = &mut self.sequences {
            sequences.enter(slot, reference.file, reference.block);
        }
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
        if let Sequences::Apart(sequences) = &self.sequences {
            sequences.prefetch(slot);
        }
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.contains(slot) {
            self.leave(slot);
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.queue.len() > capacity {
            self.evict(fx);
        }
        self.fit();
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        if let Sequences::Apart(sequences) = &mut self.sequences {
            sequences.grow(slots);
        }
        self.fit();
    }

    #[inline(always)]
    fn contains(&self, slot: Slot) -> bool {
        self.places.tag(slot) != ABSENT
    }

    fn len(&self) -> u32 {
        self.queue.len()
    }

    fn validate(&self) {
        self.queue.validate(&self.places);
        assert!(self.queue.len() <= self.capacity);
        match &self.sequences {
            Sequences::Apart(sequences) => {
                sequences.validate();
                let mut members = (0..self.places.slots()).filter(|&slot| sequences.has_member(slot));
                assert!(members.all(|slot| self.contains(slot)), "a member is not resident");
            }
            Sequences::Overlapping(sequences) => {
                sequences.validate();
                assert!(sequences.residents().all(|slot| self.contains(slot)), "what lies somewhere is not resident");
                assert_eq!(sequences.residents().count(), self.queue.len() as usize);
            }
        }
    }
}

impl Seq {
    fn fit(&mut self) {
        let bound = self.capacity.min(self.places.slots());
        self.queue.grow(&mut self.places, bound);
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let offered = match &mut self.sequences {
            Sequences::Apart(sequences) => sequences.victim(),
            Sequences::Overlapping(sequences) => sequences.victim(),
        };
        let Some(victim) = offered.or_else(|| self.fall_back(fx)) else { return };
        self.leave(victim);
        fx.discard(victim);
    }

    #[inline(always)]
    fn leave(&mut self, slot: Slot) {
        self.queue.take(&mut self.places, slot);
        match &mut self.sequences {
            Sequences::Apart(sequences) => sequences.leave(slot),
            Sequences::Overlapping(sequences) => sequences.leave(slot),
        }
    }

    /// The victim of LRU or CLOCK.
    #[inline(always)]
    fn fall_back(&mut self, fx: &mut impl Effects) -> Option<Slot> {
        let mut oldest = self.queue.oldest(&self.places)?;
        while self.places.is_marked(oldest) | fx.take_accessed(oldest) {
            self.queue.renew(&mut self.places, oldest);
            oldest = self.queue.oldest(&self.places)?;
        }
        Some(oldest)
    }
}

/// True if a use is noted in a bit.
fn has_bit(args: &Args) -> bool {
    args.word("fallback") == "clock"
}
