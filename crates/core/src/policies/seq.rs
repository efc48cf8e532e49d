//! SEQ: LRU, except that long sequences of misses are replaced from their middle.
//!
//! Idea: a program that runs through more memory than it has misses at one block after the other, and LRU then evicts just what comes
//! next. SEQ recognises such sequences by their addresses and takes its victims from the long ones, some way behind where they are: so
//! the part read first stays for the next round. Without long sequences it is LRU, or CLOCK.
//!
//! Paper: Glass, Cao, "Adaptive page replacement based on memory reference behavior", SIGMETRICS 1997. CLOCK as the other order: Lee,
//! "APR", SNU 2020.
//!
//! Provenance: not checked against its paper, whose text was not at hand, nor against another program: the model checks the code, not the
//! reading.
//!
//! Deviations and readings: sequences run within one file. A miss first extends a sequence, upwards rather than downwards, then cuts the
//! sequence in which it lies: that one keeps what it has between the miss and its own end, and nothing else. So sequences never overlap. A miss
//! that extends none starts one; if the table is full the sequence that missed longest ago is dropped. All that happens before the
//! victim is chosen. A sequence without a block far enough behind its end is passed over, so the next best gives the victim. Hits, and
//! blocks that leave, change no sequence.
//!
//! Cost: a hit is that of the fall-back order. A miss is found among the sequences by binary search, and mostly drops one and starts one, which
//! moves the entries behind it: O(table), a few hundred nanoseconds. That is what the algorithm asks of every miss, so it decides
//! several times slower than LRU where many references miss. Memory: 20 bytes a slot, 12 to 24 bytes a block of capacity in the log.
//!
//! When not to use it: where addresses mean nothing, and where the sequences that are read are not read again.

use crate::parts::large;
use crate::parts::links::{Links, List, NONE};
use crate::parts::prefetch::prefetch;
use crate::parts::queue::{ABSENT, Places, Queue};
use crate::policy::{Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Setup, Slot};
use crate::spec::SpecError;

/// The SEQ policy.
#[derive(Debug)]
pub struct Seq {
    capacity: u32,
    clock: bool,
    places: Places,
    /// The fall-back order.
    queue: Queue,
    sequences: Sequences,
}

impl Policy for Seq {
    const INFO: Info = Info {
        name: "seq",
        aliases: &[],
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
                doc: "which order gives the victim when no sequence does",
            },
        ],
        offline: false,
        needs: Needs { address: true, ..Needs::NOTHING },
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let [length, distance, nth, table] = ["l", "m", "n", "table"].map(|key| setup.args.count(key) as u32);
        let mut seq = Seq {
            capacity: setup.capacity,
            clock: setup.args.word("fallback") == "clock",
            places: Places::new(setup.slots),
            queue: Queue::new(0, 0),
            sequences: Sequences::new(length, distance, nth, table, setup.slots),
        };
        seq.fit();
        Ok(seq)
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
        self.sequences.miss(slot, reference.file, reference.block);
        if self.queue.len() == self.capacity {
            self.evict(fx);
        }
        self.queue.push(&mut self.places, slot);
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
        prefetch(&self.sequences.blocks, slot as usize);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.contains(slot) {
            self.queue.take(&mut self.places, slot);
            self.sequences.leave(slot);
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
        self.sequences.grow(slots);
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
        self.sequences.validate();
        let member = |slot: &Slot| self.sequences.blocks[*slot as usize].sequence != NONE;
        assert!((0..self.places.slots()).filter(member).all(|slot| self.contains(slot)), "a member is not resident");
    }
}

impl Seq {
    fn fit(&mut self) {
        let bound = self.capacity.min(self.places.slots());
        self.queue.grow(&mut self.places, bound);
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let Some(victim) = self.sequences.victim().or_else(|| self.fall_back()) else { return };
        self.queue.take(&mut self.places, victim);
        self.sequences.leave(victim);
        fx.discard(victim);
    }

    /// The victim of LRU or CLOCK.
    #[inline(always)]
    fn fall_back(&mut self) -> Option<Slot> {
        let mut oldest = self.queue.oldest(&self.places)?;
        while self.places.is_marked(oldest) {
            self.queue.renew(&mut self.places, oldest);
            oldest = self.queue.oldest(&self.places)?;
        }
        Some(oldest)
    }
}

/// What the sequences know of a slot.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// The sequence of which the block is a resident member, or [`NONE`].
    sequence: u32,
    /// Number in its file.
    block: u32,
    /// Its neighbours among the resident members, or [`NONE`].
    older: Slot,
    younger: Slot,
}

const NOWHERE: Block = Block { sequence: NONE, block: 0, older: NONE, younger: NONE };

/// Misses at consecutive blocks `low..=high` of a file.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    file: u32,
    low: u32,
    high: u32,
    /// It grows upwards; without meaning as long as it has one block.
    up: bool,
    /// Misses so far; enough of them is as good as more.
    misses: u32,
    /// Where the time of the next miss goes.
    turn: u32,
    /// Ends of the list of its resident members, or [`NONE`].
    oldest: Slot,
    youngest: Slot,
    /// The youngest member that is far enough behind the end, or [`NONE`]; all older ones are, too.
    victim: Slot,
}

const UNUSED: Sequence =
    Sequence { file: 0, low: 0, high: 0, up: true, misses: 0, turn: 0, oldest: NONE, youngest: NONE, victim: NONE };

impl Sequence {
    fn start(&self) -> u64 {
        address(self.file, self.low)
    }

    fn is_single(&self) -> bool {
        self.low == self.high
    }

    /// Where it grows.
    fn end(&self) -> u32 {
        if self.up { self.high } else { self.low }
    }
}

/// Files and blocks in one order.
#[inline(always)]
fn address(file: u32, block: u32) -> u64 {
    u64::from(file) << 32 | u64::from(block)
}

/// The table of sequences.
#[derive(Debug)]
struct Sequences {
    length: u32,
    distance: u32,
    nth: u32,
    /// By slot.
    blocks: Vec<Block>,
    /// By number.
    table: Vec<Sequence>,
    /// The numbers of those in use, by file and lowest block...
    order: Vec<u32>,
    /// ...and these, which are what is searched.
    starts: Vec<u64>,
    /// The same, by time of the last miss.
    recency: List,
    links: Links,
    free: Vec<u32>,
    /// By number, `nth` each: the times of the last misses, from 1, in a ring.
    times: Vec<u64>,
    /// By number: the time of the miss number `nth` from the last, 0 if the sequence has no victim to give.
    offers: Vec<u64>,
    /// Offers that are not 0.
    offering: u32,
    /// The number of the best offer, [`NONE`] if it must be looked for.
    best: u32,
    now: u64,
}

impl Sequences {
    fn new(length: u32, distance: u32, nth: u32, table: u32, slots: u32) -> Sequences {
        Sequences {
            length,
            distance,
            nth,
            blocks: large::filled(NOWHERE, slots as usize),
            table: vec![UNUSED; table as usize],
            order: Vec::with_capacity(table as usize),
            starts: Vec::with_capacity(table as usize),
            recency: List::default(),
            links: Links::new(table),
            free: (0..table).rev().collect(),
            times: vec![0; table as usize * nth as usize],
            offers: vec![0; table as usize],
            offering: 0,
            best: NONE,
            now: 0,
        }
    }

    fn grow(&mut self, slots: u32) {
        self.blocks.resize((slots as usize).max(self.blocks.len()), NOWHERE);
    }

    fn of(&mut self, number: u32) -> &mut Sequence {
        &mut self.table[number as usize]
    }

    /// Where in `order` the sequences begin that start behind this block.
    fn place(&self, file: u32, block: u32) -> usize {
        self.starts.partition_point(|&start| start <= address(file, block))
    }

    /// A miss at this block, which is going to be resident in `slot`.
    fn miss(&mut self, slot: Slot, file: u32, block: u32) {
        self.now += 1;
        let place = self.place(file, block);
        let at = |place: usize| self.order.get(place).map(|&number| (number, &self.table[number as usize]));
        let before = |back: usize| place.checked_sub(back).and_then(at);
        let holds = |&(_, other): &(u32, &Sequence)| other.file == file && other.high >= block;
        let inside = before(1).filter(holds).map(|(number, _)| number);
        let ends_below = |&(_, other): &(u32, &Sequence)| {
            other.file == file && block.checked_sub(1) == Some(other.high) && (other.up || other.is_single())
        };
        let starts_above = |&(_, other): &(u32, &Sequence)| {
            other.file == file && block.checked_add(1) == Some(other.low) && (!other.up || other.is_single())
        };
        let below = before(if inside.is_some() { 2 } else { 1 }).filter(ends_below).map(|(number, _)| number);
        let above = at(place).filter(starts_above).map(|(number, _)| number);
        if let Some(cut) = inside {
            self.cut(cut, block);
        }
        let number = match below.or(above) {
            Some(number) => {
                let Sequence { low, high, .. } = self.table[number as usize];
                self.span(number, low.min(block), high.max(block));
                self.of(number).up = block > high;
                self.recency.take(&mut self.links, number);
                number
            }
            None => self.start(file, block),
        };
        self.join(number, slot, block);
    }

    /// Sets the span of a sequence, whose place in the order stays: sequences do not overlap.
    fn span(&mut self, number: u32, low: u32, high: u32) {
        let before = self.table[number as usize];
        if low != before.low {
            let place = self.place(before.file, before.low) - 1;
            self.starts[place] = address(before.file, low);
        }
        *self.of(number) = Sequence { low, high, ..before };
    }

    fn start(&mut self, file: u32, block: u32) -> u32 {
        if self.free.is_empty() {
            let stalest = self.recency.oldest(&self.links);
            stalest.into_iter().for_each(|number| self.drop(number));
        }
        let number = self.free.pop().expect("a sequence was dropped if the table was full");
        let place = self.place(file, block);
        self.order.insert(place, number);
        self.starts.insert(place, address(file, block));
        *self.of(number) = Sequence { file, low: block, high: block, ..UNUSED };
        number
    }

    /// Makes `slot` the youngest member; its block is the end of the sequence, which is not in the order of recency.
    fn join(&mut self, number: u32, slot: Slot, block: u32) {
        self.recency.push(&mut self.links, number);
        let sequence = &mut self.table[number as usize];
        self.times[number as usize * self.nth as usize + sequence.turn as usize] = self.now;
        sequence.turn = if sequence.turn + 1 < self.nth { sequence.turn + 1 } else { 0 };
        sequence.misses = sequence.misses.saturating_add(1);
        self.blocks[slot as usize] = Block { sequence: number, block, older: sequence.youngest, younger: NONE };
        match sequence.youngest {
            NONE => sequence.oldest = slot,
            youngest => self.blocks[youngest as usize].younger = slot,
        }
        sequence.youngest = slot;
        // The end moved by one block, so at most one more member is far enough behind it.
        let next = match sequence.victim {
            NONE => sequence.oldest,
            victim => self.blocks[victim as usize].younger,
        };
        if next != NONE && sequence.end().abs_diff(self.blocks[next as usize].block) >= self.distance {
            sequence.victim = next;
        }
        self.offer(number);
    }

    /// A miss at `block`, which lies in this sequence: only what is between it and the end stays.
    fn cut(&mut self, number: u32, block: u32) {
        let sequence = self.table[number as usize];
        if block == sequence.end() || sequence.is_single() {
            return self.drop(number);
        }
        let (low, high) = if sequence.up { (block + 1, sequence.high) } else { (sequence.low, block - 1) };
        self.span(number, low, high);
        while let Some(member) = self.oldest(number)
            && !(low..=high).contains(&self.blocks[member as usize].block)
        {
            self.leave(member);
        }
        self.offer(number);
    }

    fn drop(&mut self, number: u32) {
        while let Some(member) = self.oldest(number) {
            self.leave(member);
        }
        let Sequence { file, low, .. } = self.table[number as usize];
        let place = self.place(file, low) - 1;
        self.order.remove(place);
        self.starts.remove(place);
        self.recency.take(&mut self.links, number);
        self.free.push(number);
    }

    fn oldest(&self, number: u32) -> Option<Slot> {
        let oldest = self.table[number as usize].oldest;
        (oldest != NONE).then_some(oldest)
    }

    /// The block in `slot` is not resident any more, or out of its sequence.
    #[inline(always)]
    fn leave(&mut self, slot: Slot) {
        let Block { sequence: number, older, younger, .. } = self.blocks[slot as usize];
        if number == NONE {
            return;
        }
        self.blocks[slot as usize] = NOWHERE;
        let sequence = &mut self.table[number as usize];
        match older {
            NONE => sequence.oldest = younger,
            older => self.blocks[older as usize].younger = younger,
        }
        match younger {
            NONE => sequence.youngest = older,
            younger => self.blocks[younger as usize].older = older,
        }
        if sequence.victim == slot {
            sequence.victim = older;
            self.offer(number);
        }
    }

    /// Notes whether and how urgently the sequence offers a victim.
    fn offer(&mut self, number: u32) {
        let sequence = &self.table[number as usize];
        let long = sequence.high - sequence.low >= self.length && sequence.misses >= self.nth;
        let nth_last = number as usize * self.nth as usize + sequence.turn as usize;
        let offer = if long && sequence.victim != NONE { self.times[nth_last] } else { 0 };
        let before = std::mem::replace(&mut self.offers[number as usize], offer);
        self.offering += u32::from(offer != 0);
        self.offering -= u32::from(before != 0);
        if self.best == number && offer < before {
            self.best = NONE;
        } else if self.best != NONE && offer > self.offers[self.best as usize] {
            self.best = number;
        }
    }

    /// The best offer.
    #[inline(always)]
    fn victim(&mut self) -> Option<Slot> {
        if self.offering == 0 {
            return None;
        }
        if self.best == NONE {
            self.find_best();
        }
        Some(self.table[self.best as usize].victim)
    }

    fn find_best(&mut self) {
        let best = (0..).zip(&self.offers).max_by_key(|&(_, offer)| offer);
        self.best = best.map_or(NONE, |(number, _)| number);
    }

    fn validate(&self) {
        let sequences = || self.order.iter().map(|&number| &self.table[number as usize]);
        let apart = |(one, next): (&Sequence, &Sequence)| (one.file, one.high) < (next.file, next.low);
        assert!(sequences().zip(sequences().skip(1)).all(apart), "sequences overlap or are out of order");
        assert!(sequences().map(Sequence::start).eq(self.starts.iter().copied()), "starts that are searched in vain");
        assert_eq!(self.order.len() + self.free.len(), self.table.len());
        let best = self.offers.get(self.best as usize);
        assert!(best.is_none_or(|best| self.offers.iter().max() == Some(best)), "a better offer than the best");
        assert_eq!(self.recency.len() as usize, self.order.len());
        self.recency.validate(&self.links);
        assert_eq!(self.offers.iter().filter(|&&offer| offer != 0).count(), self.offering as usize);
        let mut members = 0;
        for &number in &self.order {
            members += self.validate_members(number);
        }
        let listed = self.blocks.iter().filter(|block| block.sequence != NONE).count();
        assert_eq!(members, listed, "members that no sequence lists");
    }

    /// Counts the members of a sequence. They lead from its start to its end, and those far enough behind it end with the victim.
    fn validate_members(&self, number: u32) -> usize {
        let sequence = &self.table[number as usize];
        let next = |&slot: &Slot| Some(self.blocks[slot as usize].younger).filter(|&younger| younger != NONE);
        let members: Vec<Slot> = std::iter::successors(self.oldest(number), next).collect();
        let blocks: Vec<u32> = members.iter().map(|&slot| self.blocks[slot as usize].block).collect();
        assert!(members.iter().all(|&slot| self.blocks[slot as usize].sequence == number));
        assert!(blocks.iter().all(|block| (sequence.low..=sequence.high).contains(block)), "a member outside");
        assert!(blocks.is_sorted() && sequence.up || blocks.iter().rev().is_sorted(), "members out of order");
        assert_eq!(members.last().copied().unwrap_or(NONE), sequence.youngest);
        let far = members.iter().zip(&blocks).filter(|(_, block)| sequence.end().abs_diff(**block) >= self.distance);
        assert_eq!(far.map(|(&slot, _)| slot).next_back().unwrap_or(NONE), sequence.victim);
        let long = sequence.high - sequence.low >= self.length;
        assert!(long || self.offers[number as usize] == 0, "a short sequence offers a victim");
        members.len()
    }
}
