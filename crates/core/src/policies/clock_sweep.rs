//! clock-sweep: the shared buffers of PostgreSQL, a clock with counts up to 5 and small rings for scans.
//!
//! Idea: each buffer counts its uses up to a small limit. A hand passes over the buffers; one whose count is above 0 is
//! spared and its count lowered, the first at 0 is taken. So a page that is used again and again survives several
//! rounds. A scan of a large table reads through a small ring of buffers, which it uses again for its own next pages,
//! so that it does not turn all of memory over.
//!
//! Paper: none. PostgreSQL's documentation: the notes on the buffer manager that are distributed with it
//! (`src/backend/storage/buffer/README`: the sweep, the ring of 256 KB, the limit of the count), and the manual on
//! `pg_buffercache`, whose `usagecount` shows it.
//!
//! Provenance: written from what is generally known of PostgreSQL's documentation, which was not at hand, and not from
//! its source. `benches/shared_buffers.py` reads pages through a PostgreSQL 15.18 with 16 MiB of buffers: the miss
//! ratio of this policy is 0.7 points from the server's on references after Zipf (LRU: 1.4), 3.8 on a hot set beside
//! scans (LRU: 7.8; with `scan=1`, 0) and 20 on a loop that the server reads page by page, not as a scan (LRU: 0; with
//! `ring=0`, 0).
//!
//! Deviations: PostgreSQL knows from its plan what is a scan, and how large the table is; here a run of references to
//! blocks of one file in order is taken for a scan when it has gone through `scan` of the cache, a quarter, for as many
//! files as were referenced last, 256. A use by a scan counts once, as a scan looks at a page once and not at each
//! piece of it. A ring of 32 blocks is one of 256 KB where blocks have 8 KB (`block=8K`). Rings for bulk writes and
//! for VACUUM are not distinguished in a trace. No buffer is pinned while another is looked for.
//!
//! Cost: a hit reads a word and writes a byte; a miss looks at as many buffers as were used since, amortised O(1) over
//! hits, at most five rounds. Memory: 13 bytes a block (4 a slot, 9 a buffer), 40 KB for scans.
//!
//! When not to use it: it is here to be compared with, as what runs today. Loops longer than memory are never hit.

use crate::parts::recent_table::RecentTable;
use crate::policy::{Discard, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Setup, Slot};
use crate::spec::SpecError;

/// No buffer, or no slot.
const NONE: u32 = u32::MAX;

/// Files whose references are watched for scans.
const FILES: u32 = 256;

/// The clock sweep of PostgreSQL.
#[derive(Debug)]
pub struct ClockSweep {
    capacity: u32,
    /// Greatest count.
    most: u8,
    /// By slot: its buffer, or [`NONE`].
    buffer_of: Vec<u32>,
    /// The circle; below `begun` in use or free.
    buffers: Vec<Buffer>,
    hand: u32,
    /// Buffers that were ever used.
    begun: u32,
    /// Of these, those that are free; the last to become so is used first.
    free: Vec<u32>,
    scans: Scans,
}

#[derive(Clone, Copy, Debug)]
struct Buffer {
    slot: Slot,
    uses: u8,
}

const EMPTY: Buffer = Buffer { slot: NONE, uses: 0 };

/// The scans that read blocks in order, and their buffers.
#[derive(Debug)]
struct Scans {
    /// Blocks in order that make a scan.
    length: u32,
    /// Buffers of a ring.
    ring: u32,
    files: RecentTable<Run>,
    /// The ring of each entry of the table.
    buffers: Vec<u32>,
}

/// Blocks of a file that were referenced in order.
#[derive(Debug)]
struct Run {
    last: u32,
    blocks: u32,
    /// The place of the ring that comes next.
    next: u32,
}

impl Policy for ClockSweep {
    const INFO: Info = Info {
        name: "clock-sweep",
        aliases: &["postgresql"],
        family: "recency",
        summary: "the shared buffers of PostgreSQL: a clock with counts up to 5, small rings for scans",
        params: &[
            Param {
                key: "most",
                kind: ParamKind::Count { min: 1, max: 255 },
                default: "5",
                doc: "uses that are counted at most",
            },
            Param {
                key: "ring",
                kind: ParamKind::Count { min: 0, max: 2048 },
                default: "32",
                doc: "buffers through which a scan reads: 256 KB of blocks of 8 KB; 0 is all of them",
            },
            Param {
                key: "scan",
                kind: ParamKind::Share,
                default: "25%",
                doc: "blocks of a file in order from which on they are a scan, at least 1",
            },
        ],
        needs: Needs { address: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let ring = setup.args.count("ring") as u32;
        let mut sweep = ClockSweep {
            capacity: setup.capacity,
            most: setup.args.count("most") as u8,
            buffer_of: Vec::new(),
            buffers: Vec::new(),
            hand: 0,
            begun: 0,
            free: Vec::new(),
            scans: Scans {
                length: setup.args.share("scan", setup.capacity)?.max(1),
                ring,
                files: RecentTable::new(FILES),
                buffers: vec![NONE; (FILES * ring) as usize],
            },
        };
        sweep.grow(setup.slots);
        Ok(sweep)
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let ring = self.scans.note(reference.file, reference.block);
        let at = self.buffer_of[slot as usize];
        if at != NONE {
            let uses = &mut self.buffers[at as usize].uses;
            *uses = if ring.is_some() { (*uses).max(1) } else { uses.saturating_add(1).min(self.most) };
            return Outcome::Hit;
        }
        let at = match ring {
            Some(place) => self.buffer_in(place, fx),
            None => self.buffer(fx),
        };
        self.buffers[at as usize] = Buffer { slot, uses: 1 };
        self.buffer_of[slot as usize] = at;
        Outcome::Admitted
    }

    fn prefetch(&self, _slot: Slot) {}

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        let at = self.buffer_of.get(slot as usize).copied().unwrap_or(NONE);
        if at != NONE {
            self.clear(at);
            self.free.push(at);
            fx.forget(slot);
        }
    }

    /// Buffers keep their order, from the hand on.
    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        while self.len() > capacity {
            let at = self.sweep();
            self.empty(at, fx);
            self.free.push(at);
        }
        self.capacity = capacity;
        self.buffers.rotate_left(self.hand as usize);
        self.buffers.retain(|buffer| buffer.slot != NONE);
        self.begun = self.buffers.len() as u32;
        (0..).zip(&self.buffers).for_each(|(at, buffer)| self.buffer_of[buffer.slot as usize] = at);
        self.hand = 0;
        self.free.clear();
        self.scans.buffers.fill(NONE);
        self.grow(self.buffer_of.len() as u32);
    }

    fn grow(&mut self, slots: u32) {
        self.buffer_of.resize((slots as usize).max(self.buffer_of.len()), NONE);
        let bound = self.capacity.min(self.buffer_of.len() as u32) as usize;
        self.buffers.resize(bound.max(self.buffers.len()), EMPTY);
        self.free.reserve(self.buffers.len().saturating_sub(self.free.len()));
    }

    fn contains(&self, slot: Slot) -> bool {
        self.buffer_of.get(slot as usize).is_some_and(|&at| at != NONE)
    }

    fn len(&self) -> u32 {
        self.begun - self.free.len() as u32
    }

    fn validate(&self) {
        self.scans.files.validate();
        let held = self.buffers.iter().filter(|buffer| buffer.slot != NONE).count();
        assert_eq!(held, self.len() as usize);
        assert!(self.len() <= self.capacity && self.begun <= self.capacity);
        for (at, buffer) in (0..).zip(&self.buffers).filter(|(_, buffer)| buffer.slot != NONE) {
            assert_eq!(self.buffer_of[buffer.slot as usize], at);
            assert!(buffer.uses <= self.most && at < self.begun);
        }
    }
}

impl ClockSweep {
    /// A buffer for a block, empty: one that is free, or else one that the sweep finds.
    #[inline(always)]
    fn buffer(&mut self, fx: &mut impl Effects) -> u32 {
        if let Some(at) = self.free.pop() {
            return at;
        }
        if self.begun < self.capacity {
            self.begun += 1;
            return self.begun - 1;
        }
        let at = self.sweep();
        self.empty(at, fx);
        at
    }

    /// The same for a scan: the buffer in this place of its ring, unless others have used it since, so that another
    /// takes its place.
    fn buffer_in(&mut self, place: usize, fx: &mut impl Effects) -> u32 {
        let at = self.scans.buffers[place];
        let own = self.buffers.get(at as usize).filter(|buffer| buffer.slot != NONE && buffer.uses <= 1);
        if own.is_some() {
            self.empty(at, fx);
            return at;
        }
        let at = self.buffer(fx);
        self.scans.buffers[place] = at;
        at
    }

    /// Turns the hand to a buffer that is to be emptied. There is one in use.
    fn sweep(&mut self) -> u32 {
        loop {
            let at = self.hand;
            self.hand = (at + 1) % self.begun;
            let buffer = &mut self.buffers[at as usize];
            match buffer.uses {
                0 if buffer.slot != NONE => return at,
                _ => buffer.uses = buffer.uses.saturating_sub(1),
            }
        }
    }

    /// The block in a buffer leaves.
    fn empty(&mut self, at: u32, fx: &mut impl Effects) {
        fx.discard(self.buffers[at as usize].slot);
        self.clear(at);
    }

    fn clear(&mut self, at: u32) {
        let buffer = std::mem::replace(&mut self.buffers[at as usize], EMPTY);
        self.buffer_of[buffer.slot as usize] = NONE;
    }
}

impl Scans {
    /// Notes a reference. Where it belongs to a scan: the place of the ring through which that reads next.
    #[inline(always)]
    fn note(&mut self, file: u32, block: u32) -> Option<usize> {
        if self.ring == 0 {
            return None;
        }
        let known = self.files.find(u64::from(file));
        let begin = Run { last: block, blocks: 1, next: 0 };
        let index = match known {
            Some(index) => {
                let run = self.files.value_mut(index);
                if block.wrapping_sub(run.last) > 1 {
                    self.release(index);
                    *self.files.value_mut(index) = begin;
                } else {
                    run.blocks = run.blocks.saturating_add(block - run.last);
                    run.last = block;
                }
                index
            }
            None => {
                let (index, _) = self.files.insert(u64::from(file), begin);
                self.release(index);
                index
            }
        };
        let run = self.files.value_mut(index);
        if run.blocks < self.length {
            return None;
        }
        let place = run.next;
        run.next = (place + 1) % self.ring;
        Some(index * self.ring as usize + place as usize)
    }

    /// The ring of an entry holds nothing.
    fn release(&mut self, index: usize) {
        let ring = self.ring as usize;
        self.buffers[index * ring..][..ring].fill(NONE);
    }
}
